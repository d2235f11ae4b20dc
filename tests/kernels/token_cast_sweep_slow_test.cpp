// Random casts in groups of columns, from values and from codes, and those of single elements.
#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/quant_sweep.h"
#include "tests/reference/stochastic.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using reference::Kind;
using namespace test;

/// Columns of a group, and of all, a multiple of `unit`; at times of more than a block has.
struct Width {
  Width(Choices& c, int64_t unit) {
    group = c.one_of<int64_t>({16, 32, 64, 128, 0});
    k = c.near({16, 32, 64, 128, 512, 1024, 2048}, c.one_in(4) ? 4200 : 700);
    if (group == 0 && c.one_in(6)) k = 16384 + c.one_of<int64_t>({-4, -2, 0, 2, 4, 8, 4096, 4098});
    k = k / unit * unit;
    if (group == 0) group = k;
    step = std::max<int64_t>(group, 1);
  }
  int64_t group, k, step;
};

TEST(CastSweep, PerTokenCast) {
  sweep(22, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16}), format = c.one_of({f8_e4m3, f4_e2m1});
    const auto [group, k, step] = Width(c, format == f4_e2m1 ? 2 : 1);
    const int64_t m = k > 3000 ? c.between(0, 3) : c.between(0, 9);
    const Kinds kind = any_kind(c);
    const float least = any_least(c);
    const kernels::TokenCastArgs args{
        .group = group, .round_sf = kind.kind == Kind::power_of_two, .least = least};
    check_casts(
        c, {dtype, format, m, k, 1, step, kind, least},
        [&](const Tensor& x, const Tensor& q, const Tensor& sf) {
          kernels::per_token_cast(x, q, sf, args);
        },
        [&](const Tensor& x, const Tensor& sf) {
          kernels::per_token_cast_with_sf_only(x, format, sf, args);
        },
        [&](const Tensor& x, const Tensor& sf, const Tensor& q) {
          kernels::per_token_cast_with_precomputed_sf(x, sf, q, args);
        });
  });
}

TEST(CastSweep, PerTokenCastOfCodes) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({f8_e4m3, f4_e2m1}), format = c.one_of({f8_e4m3, f4_e2m1});
    const auto [group, k, step] = Width(c, format == f4_e2m1 || dtype == f4_e2m1 ? 2 : 1);
    const int64_t m = k > 3000      ? c.between(0, 3)
                      : c.one_in(5) ? c.near({32, 128}, 140)
                                    : c.between(0, 9);
    const int64_t x_rows = c.one_of<int64_t>({1, 32, 128}),
                  x_columns = c.one_of<int64_t>({16, 32, 64, 128});
    const Kinds kind = any_kind(c), x_kind = any_kind(c);
    const float least = kernels::least_amax(format, kind.dtype);
    const int64_t groups = ceil_div(k, step);
    const Placed x = placed_codes(c, dtype, m, k);
    Factors x_sf = Factors::any(c, x_kind.dtype, ceil_div(m, x_rows), ceil_div(k, x_columns),
                                x_kind.packed, false);
    const bool wide = c.one_in(3);
    const auto given = x_sf.fill(c, wide ? -126 : -9, wide ? 127 : 8, false);
    x_sf.place.hold();
    std::vector<float> of_element;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        of_element.push_back(given[at(i / x_rows * x_sf.n + j / x_columns)]);
    const auto wanted = reference::cast_in_blocks(values(x.view), at(m), at(k), 1, at(step), format,
                                                  kind.kind, least, of_element);
    both([&](Where where) {
      Placed q(c, format, m, k);
      Factors sf = Factors::any(c, kind.dtype, m, groups, kind.packed, false);
      q.hold(), sf.place.hold();
      const Tensor xs = on(where, x_sf.place.view);
      const kernels::TokenCastArgs args{.group = group,
                                        .round_sf = kind.kind == Kind::power_of_two,
                                        .x_sf = &xs,
                                        .x_rows = x_rows,
                                        .x_columns = x_columns};
      const std::string what = format_text(x, q, sf, args.group, where) +
                               tw::format(" x_sf {} for {} x {}", x_sf.text(), x_rows, x_columns);
      kernels::per_token_cast(on(where, x.view), on(where, q.view), on(where, sf.place.view), args);
      EXPECT_EQ(codes(q.view), normal(format, wanted.q)) << what;
      EXPECT_EQ(sf.factors(), wanted.sf) << what;
      q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what);
      x.expect_unchanged(what), x_sf.place.expect_unchanged(what);
    });
  });
}

TEST(CastSweep, PerTokenCastStochastic) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16}), format = c.one_of({f8_e4m3, f4_e2m1});
    const auto [group, k, step] = Width(c, 4);
    const int64_t m = k > 3000 ? c.between(0, 3) : c.between(0, 6);
    const Kinds kind = any_kind(c);
    const float least = kernels::least_amax(format, kind.dtype);
    const int64_t groups = ceil_div(k, step);
    const Placed x = placed_values(c, dtype, m, k);
    const std::vector<double> list = values(x.view);
    std::vector<uint8_t> wanted;
    std::vector<float> factors;
    std::vector<bool> counts;  // not beside a NaN, which may be any and the hash sees
    for (int64_t i = 0; i < m; ++i) {
      std::vector<float> y;
      for (int64_t first = 0; first < k; first += step) {
        float amax = 0;
        for (int64_t j = first; j < std::min(first + step, k); ++j)
          amax = std::max(amax, std::fabs(static_cast<float>(list[at(i * k + j)])));
        const auto scale = reference::scale_of(amax, format, kind.kind, least);
        factors.push_back(scale.sf);
        for (int64_t j = first; j < std::min(first + step, k); ++j)
          y.push_back(static_cast<float>(list[at(i * k + j)]) * scale.inv);
      }
      for (int64_t j = 0; j < k; j += 4) {
        const std::array<float, 4> quad = {y[at(j)], y[at(j + 1)], y[at(j + 2)], y[at(j + 3)]};
        const bool has_nan = std::ranges::any_of(quad, [](float v) { return std::isnan(v); });
        for (const uint64_t code :
             reference::stochastic_cast(quad, static_cast<uint32_t>(j / 4), format)) {
          wanted.push_back(has_nan ? 0 : static_cast<uint8_t>(code));
          counts.push_back(!has_nan);
        }
      }
    }
    both([&](Where where) {
      Placed q(c, format, m, k);
      Factors sf = Factors::any(c, kind.dtype, m, groups, kind.packed, false);
      q.hold(), sf.place.hold();
      const kernels::TokenCastArgs args{
          .group = group, .round_sf = kind.kind == Kind::power_of_two, .stochastic = true};
      const std::string what = format_text(x, q, sf, args.group, where);
      kernels::per_token_cast(on(where, x.view), on(where, q.view), on(where, sf.place.view), args);
      std::vector<uint8_t> found = codes(q.view);
      for (size_t i = 0; i < found.size(); ++i) found[i] *= counts[i] ? 1 : 0;
      EXPECT_EQ(found, normal(format, wanted)) << what;
      EXPECT_EQ(sf.factors(), factors) << what;
      q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what);
    });
  });
}

TEST(CastSweep, PerTokenCastAndCastBack) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16}), to = c.one_of({f8_e4m3, f4_e2m1});
    const int64_t group = c.one_of<int64_t>({16, 32, 64, 128});
    const int64_t k = c.near({16, 32, 64, 128, 512, 1024, 2048}, c.one_in(4) ? 4200 : 700);
    const int64_t m = k > 3000 ? c.between(0, 3) : c.between(0, 9);
    const Kinds kind = any_kind(c);
    const std::vector<double> list = wild_values(c, dtype, m, k);
    const auto cast = reference::cast_in_blocks(list, at(m), at(k), 1, at(group), to, kind.kind,
                                                kernels::least_amax(to, kind.dtype));
    std::vector<double> codes_;
    for (const uint8_t code : cast.q) codes_.push_back(decode(code, to));
    const auto wanted = reference::cast_back(codes_, at(m), at(k), 1, at(group), cast.sf, dtype);
    both([&](Where where) {
      Placed x(c, dtype, m, k);
      assign(x.view, list);
      x.hold();
      const std::string what = format("{} through {}, group {}, kind {}, {}", x.text(), to, group,
                                      static_cast<int>(kind.kind), name_of(where));
      kernels::per_token_cast_and_cast_back(on(where, x.view), to,
                                            {.group = group,
                                             .round_sf = kind.kind == Kind::power_of_two,
                                             .e4m3_sf = kind.kind == Kind::e4m3});
      expect_same(x.view, wanted, what);
      x.expect_outside_unchanged(what);
    });
  });
}

std::vector<uint8_t> bytes_of(const Tensor& q) {
  std::vector<uint8_t> list;
  for (int64_t i = 0; i < q.dim(0); ++i) {
    const uint8_t* row = q.data_as<uint8_t>() + i * q.stride(0);
    list.insert(list.end(), row, row + q.dim(1));
  }
  return list;
}

TEST(CastSweep, E5m6) {
  sweep(15, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16});
    const int64_t k =
        std::max<int64_t>(c.near({8, 128, 1024, 8192}, c.one_in(4) ? 9000 : 1200) / 8 * 8, 8);
    const int64_t m = k > 3000 ? c.between(0, 3) : c.near({4, 8, 32}, k > 200 ? 9 : 70);
    const Kinds kind = any_kind(c, false);
    const Placed x = placed_values(c, dtype, m, k);
    const auto wanted = reference::cast_to_e5m6(values(x.view), at(m), at(k), kind.kind);
    const int64_t rows = c.one_of<int64_t>({1, 2, 32}),
                  columns = c.one_of<int64_t>({std::max<int64_t>(k, 1), 1, 3, 24, 32, 128});
    both([&](Where where) {
      Placed q(c, u8, m, k / 2 * 3, false, 4);
      Factors sf = Factors::any(c, f32, m, 1, kind.packed, false);
      q.hold(), sf.place.hold();
      const std::string what = format_text(x, q, sf, 0, where);
      kernels::per_token_cast_to_e5m6(on(where, x.view), on(where, q.view),
                                      on(where, sf.place.view), kind.kind == Kind::power_of_two);
      EXPECT_EQ(bytes_of(q.view), wanted.q) << what;
      EXPECT_EQ(sf.factors(), wanted.sf) << what;
      q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what),
          x.expect_unchanged(what);
      // And back, from any codes by any factors.
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < k / 2 * 3; ++j)
          q.view.data_as<uint8_t>()[i * q.view.stride(0) + j] = static_cast<uint8_t>(c.bits());
      q.hold();
      const Kinds back = any_kind(c, false);
      Factors by =
          Factors::any(c, f32, ceil_div(m, rows), ceil_div(k, columns), back.packed, columns == 1);
      const auto given = by.fill(c, -126, 127, true);
      const DType to = c.one_of({f32, bf16});
      Placed y(c, to, m, k);
      y.hold(), by.place.hold();
      const std::string what_back = format_text(q, y, by, rows * 1000 + columns, where) + " back";
      kernels::cast_back_e5m6(on(where, q.view), on(where, by.place.view), on(where, y.view),
                              {.rows = rows, .columns = columns});
      expect_same(y.view,
                  reference::cast_back(reference::e5m6_values(bytes_of(q.view), at(m), at(k)),
                                       at(m), at(k), at(rows), at(columns), given, to),
                  what_back);
      y.expect_outside_unchanged(what_back), q.expect_unchanged(what_back),
          by.place.expect_unchanged(what_back);
    });
  });
}

TEST(CastSweep, Cast) {
  sweep(30, [](Choices& c) {
    const auto any = [&] {
      return c.one_of({f64, f32, tf32, f16, bf16, f8_e4m3, f8_e5m2, f8_e8m0});
    };
    const DType from = any(), to = any();
    const int64_t k = c.near({16, 64, 256, 1024}, 1500), m = c.between(0, 5);
    Placed x(c, from, m, k, c.one_in(3));
    assign(x.view, wild_values(c, from, m, k));
    x.hold();
    std::vector<double> wanted;
    for (const double v : values(x.view)) wanted.push_back(decode(encode(v, to), to));
    both([&](Where where) {
      Placed y(c, to, m, k, c.one_in(3));
      y.hold();
      const std::string what = format("{}: {} to {}", name_of(where), x.text(), y.text());
      kernels::cast(on(where, x.view), on(where, y.view));
      expect_same(y.view, wanted, what);
      y.expect_outside_unchanged(what), x.expect_unchanged(what);
    });
  });
}

TEST(CastSweep, StochasticCast) {
  sweep(30, [](Choices& c) {
    const DType from = c.one_of({f32, bf16}), to = from == f32 && c.one_in(2) ? bf16 : f8_e4m3;
    const int64_t k = c.near({4, 128, 512, 1024}, 3000) / 4 * 4, m = c.between(0, 3);
    Placed x(c, from, m, k, false, 1, true);
    assign(x.view, wild_values(c, from, m, k, from == f32));  // of bf16 the hash sees which NaN
    x.hold();
    const std::vector<double> in = values(x.view);
    std::vector<double> wanted;
    for (size_t i = 0; i < in.size(); i += 4) {
      std::array<float, 4> quad = {};
      for (size_t j = 0; j < 4; ++j) quad[j] = static_cast<float>(in[i + j]);
      for (const uint64_t code : reference::stochastic_cast(quad, static_cast<uint32_t>(i / 4), to))
        wanted.push_back(decode(code, to));
    }
    both([&](Where where) {
      Placed y(c, to, m, k, false, 1, true);
      y.hold();
      const std::string what = format("{}: {} to {}", name_of(where), x.text(), y.text());
      kernels::stochastic_cast(on(where, x.view), on(where, y.view));
      expect_same(y.view, wanted, what);
      y.expect_outside_unchanged(what), x.expect_unchanged(what);
    });
  });
}

}  // namespace
}  // namespace tw
