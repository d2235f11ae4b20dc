// What sweeps of casts share: factors at any place, and kinds of them.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/quant_testing.h"
#include "tests/kernels/sweep.h"
#include "tests/reference/quant.h"
#include "tilewright/base/integer.h"
#include "tilewright/kernels/quant.h"

namespace tw::test {

/// Factors of m x n blocks at any place, address and strides.
struct Factors {
  static Factors any(Choices& c, DType dtype, int64_t m, int64_t n, bool packed, bool down) {
    const bool turned = !down && c.one_in(2);
    if (!packed) return {m, n, packed, down, Placed(c, dtype, m, n, turned)};
    if (down) return {m, n, packed, down, Placed(c, i32, ceil_div(m, 4), n)};
    return {m, n, packed, down, Placed(c, i32, m, ceil_div(n, 4), turned)};
  }
  uint8_t& exponent(int64_t i, int64_t j) const {
    const Tensor& v = place.view;
    const int64_t word =
        down ? i / 4 * v.stride(0) + j * v.stride(1) : i * v.stride(0) + j / 4 * v.stride(1);
    return v.data_as<uint8_t>()[word * 4 + (down ? i : j) % 4];
  }
  std::vector<float> factors() const {
    std::vector<float> list;
    if (!packed) {
      for (const double f : values(place.view)) list.push_back(static_cast<float>(f));
      return list;
    }
    const int64_t all = down ? ceil_div(m, 4) * 4 : m, wide = down ? n : ceil_div(n, 4) * 4;
    for (int64_t i = 0; i < all; ++i) {
      for (int64_t j = 0; j < wide; ++j) {
        const uint32_t byte = exponent(i, j);
        if (i < m && j < n) {
          list.push_back(std::bit_cast<float>(byte << 23));
        } else {
          EXPECT_EQ(byte, 0U) << "padding of block " << i << ", " << j;
        }
      }
    }
    return list;
  }
  /// Random factors; above 0 and finite where that is wanted.
  std::vector<float> fill(Choices& c, int low, int high, bool edges, bool only_powers = false) {
    std::vector<double> list;
    for (int64_t i = 0; packed && i < (down ? ceil_div(m, 4) * 4 : m); ++i)
      for (int64_t j = 0; j < (down ? n : ceil_div(n, 4) * 4); ++j) exponent(i, j) = 0;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double f = std::ldexp(
            packed || only_powers ? 1.0 : 1 + static_cast<double>(c.between(0, 1 << 20)) * 0x1p-20,
            static_cast<int>(c.between(low, high)));
        if (edges && c.one_in(8)) f = c.one_of<double>({0.0, INFINITY, 0x1p-126, 0x1p127});
        if (packed)
          exponent(i, j) =
              static_cast<uint8_t>(std::bit_cast<uint32_t>(static_cast<float>(f)) >> 23);
        list.push_back(f);
      }
    }
    if (packed) return factors();
    if (place.view.dtype() == f8_e4m3) {
      for (double& f : list) {
        f = decode(encode(f, f8_e4m3), f8_e4m3);
        if (f == 0 && !edges) f = 0x1p-9;
      }
    }
    assign(place.view, list);
    return factors();
  }
  std::string text() const { return place.text(); }

  int64_t m, n;
  bool packed, down;
  Placed place;
};

template <class Q>
std::string format_text(const Placed& x, const Q& q, const Factors& sf, int64_t group,
                        Where where) {
  return format("x {}, q {}, sf {} of [{}, {}], group {}, {}", x.text(), q.text(), sf.text(), sf.m,
                sf.n, group, name_of(where));
}

inline std::vector<uint8_t> normal(DType format, std::vector<uint8_t> q) {
  return format == f8_e4m3 ? any_sign(std::move(q)) : q;
}

/// A tensor of values.
inline Placed placed_values(Choices& c, DType dtype, int64_t m, int64_t k, bool with_nan = true) {
  Placed x(c, dtype, m, k);
  assign(x.view, wild_values(c, dtype, m, k, with_nan));
  x.hold();
  return x;
}
/// All codes.
inline Placed placed_codes(Choices& c, DType dtype, int64_t m, int64_t k) {
  Placed x(c, dtype, m, k);
  const int64_t mode = c.between(0, 2);
  std::vector<double> list;
  for (int64_t i = 0; i < m * k; ++i) {
    const uint64_t code = c.bits() & ((1U << dtype.bits()) - 1);
    double v = decode(code, dtype);
    if (mode == 0) v = decode(encode(v / 100, dtype), dtype);
    if (mode == 1 && c.one_in(2)) v = c.one_in(2) ? 0.0 : -0.0;
    list.push_back(v);
  }
  assign(x.view, list);
  x.hold();
  return x;
}

struct Kinds {
  reference::Kind kind;
  bool packed;
  DType dtype;
};
inline Kinds any_kind(Choices& c, bool e4m3 = true) {
  switch (c.between(0, e4m3 ? 3 : 2)) {
    case 0:
      return {reference::Kind::exact, false, f32};
    case 1:
      return {reference::Kind::power_of_two, false, f32};
    case 2:
      return {reference::Kind::power_of_two, true, f32};
    default:
      return {reference::Kind::e4m3, false, f8_e4m3};
  }
}

/// What is to be cast, in which blocks.
struct CastCase {
  DType dtype, format;
  int64_t m, k, rows, columns;
  Kinds kind;
  float least;  // as asked for; 0 is the format's own
};

/// A power of two at times, else 0.
inline float any_least(Choices& c) {
  return c.one_in(5) ? std::ldexp(1.F, static_cast<int>(c.between(-100, 20))) : 0;
}

/// Calls cast(x, q, sf), sf_only(x, sf) and by_factors(x, sf, q) beside the loops.
template <class Cast, class SfOnly, class ByFactors>
void check_casts(Choices& c, const CastCase& p, Cast cast, SfOnly sf_only, ByFactors by_factors) {
  const float least = p.least > 0 ? p.least : kernels::least_amax(p.format, p.kind.dtype);
  const Placed x = placed_values(c, p.dtype, p.m, p.k);
  const auto wanted = reference::cast_in_blocks(values(x.view), at(p.m), at(p.k), at(p.rows),
                                                at(p.columns), p.format, p.kind.kind, least);
  both([&](Where where) {
    Placed q(c, p.format, p.m, p.k), again(c, p.format, p.m, p.k);
    const int64_t down = ceil_div(p.m, p.rows), across = ceil_div(p.k, p.columns);
    Factors sf = Factors::any(c, p.kind.dtype, down, across, p.kind.packed, false),
            alone = Factors::any(c, p.kind.dtype, down, across, p.kind.packed, false);
    q.hold(), again.hold(), sf.place.hold(), alone.place.hold();
    const std::string what =
        format_text(x, q, sf, p.columns, where) + format(", rows of a block {}", p.rows);
    cast(on(where, x.view), on(where, q.view), on(where, sf.place.view));
    EXPECT_EQ(codes(q.view), normal(p.format, wanted.q)) << what;
    EXPECT_EQ(sf.factors(), wanted.sf) << what;
    q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what);
    sf_only(on(where, x.view), on(where, alone.place.view));
    EXPECT_EQ(alone.factors(), wanted.sf) << what << " sf only " << alone.text();
    alone.place.expect_outside_unchanged(what);
    const auto given = alone.fill(c, p.kind.packed ? -126 : -140, 127, false);
    by_factors(on(where, x.view), on(where, alone.place.view), on(where, again.view));
    EXPECT_EQ(codes(again.view), normal(p.format, reference::cast_by_factors(
                                                      values(x.view), at(p.m), at(p.k), at(p.rows),
                                                      at(p.columns), p.format, given)))
        << what << " precomputed " << again.text() << alone.text();
    again.expect_outside_unchanged(what);
    x.expect_unchanged(what);
  });
}

}  // namespace tw::test
