// Random casts in blocks and in groups of rows, and back.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/quant_sweep.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using reference::Kind;
using namespace test;

TEST(CastSweep, PerBlockCast) {
  sweep(18, [](Choices& c) {
    const DType dtype = c.one_of({f32, bf16}), format = c.one_of({f8_e4m3, f4_e2m1});
    const int64_t rows = c.one_of<int64_t>({32, 128}), columns = c.one_of<int64_t>({32, 128});
    int64_t k = c.near({32, 128, 256}, 420);
    if (format == f4_e2m1) k = k / 2 * 2;
    const int64_t m = c.near({32, 128}, 200);
    const Kinds kind = any_kind(c);
    const float least = any_least(c);
    const kernels::BlockCastArgs args{.rows = rows,
                                      .columns = columns,
                                      .round_sf = kind.kind == Kind::power_of_two,
                                      .least = least};
    check_casts(
        c, {dtype, format, m, k, rows, columns, kind, least},
        [&](const Tensor& x, const Tensor& q, const Tensor& sf) {
          kernels::per_block_cast(x, q, sf, args);
        },
        [&](const Tensor& x, const Tensor& sf) {
          kernels::per_block_cast_with_sf_only(x, format, sf, args);
        },
        [&](const Tensor& x, const Tensor& sf, const Tensor& q) {
          kernels::per_block_cast_with_precomputed_sf(x, sf, q, args);
        });
  });
}

TEST(CastSweep, PerChannelCast) {
  sweep(11, [](Choices& c) {
    const int64_t x_columns = c.one_of<int64_t>({0, 0, 32, 128});
    const DType dtype = x_columns > 0 ? f8_e4m3 : c.one_of({f32, bf16});
    const int64_t group = c.one_of<int64_t>({32, 128});
    const int64_t k = c.near({32, 64, 128}, c.one_of<int64_t>({20, 80, 260}));
    const int64_t x_m = c.one_in(3) ? c.near({512, 256}, 520) : c.near({32, 128}, 300);
    const bool gathers = c.one_in(3);
    const int64_t m = gathers ? c.near({32, 128}, 300) : x_m;
    const Kinds kind = any_kind(c, false), x_kind = any_kind(c);
    const Placed x =
        x_columns > 0 ? placed_codes(c, dtype, x_m, k) : placed_values(c, dtype, x_m, k);
    std::vector<double> in = values(x.view);
    Factors x_sf = Factors::any(c, x_kind.dtype, x_m, x_columns > 0 ? ceil_div(k, x_columns) : 0,
                                x_kind.packed, false);
    if (x_columns > 0) {
      const bool wide = c.one_in(3);
      const auto given = x_sf.fill(c, wide ? -126 : -9, wide ? 127 : 8, false);
      for (int64_t i = 0; i < x_m; ++i)
        for (int64_t j = 0; j < k; ++j)
          in[at(i * k + j)] =
              static_cast<float>(in[at(i * k + j)]) * given[at(i * x_sf.n + j / x_columns)];
    }
    x_sf.place.hold();
    const OwnedTensor index(i32, {m});
    if (gathers) {
      std::vector<double> all;
      for (int64_t i = 0; i < m; ++i) {
        const int64_t row = c.one_in(5) ? c.one_of<int64_t>({-1, -7, x_m, INT32_MAX, INT32_MIN})
                                        : c.between(0, std::max<int64_t>(x_m - 1, 0));
        index->data_as<int32_t>()[i] = static_cast<int32_t>(row);
        for (int64_t j = 0; j < k; ++j)
          all.push_back(row >= 0 && row < x_m ? in[at(row * k + j)] : 0);
      }
      in = all;
    }
    const float least = kernels::least_amax(f8_e4m3, f32);
    const auto wanted =
        reference::cast_in_blocks(in, at(m), at(k), at(group), 1, f8_e4m3, kind.kind, least);
    std::vector<uint8_t> turned(wanted.q.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j) turned[at(j * m + i)] = wanted.q[at(i * k + j)];
    both([&](Where where) {
      Placed q(c, f8_e4m3, m, k), t(c, f8_e4m3, k, m);
      Factors sf = Factors::any(c, f32, ceil_div(m, group), k, kind.packed, true),
              again = Factors::any(c, f32, ceil_div(m, group), k, kind.packed, true);
      q.hold(), t.hold(), sf.place.hold(), again.place.hold();
      const Tensor xs = on(where, x_sf.place.view), rows = on(where, index);
      const kernels::ChannelCastArgs args{.group = group,
                                          .round_sf = kind.kind == Kind::power_of_two,
                                          .x_sf = x_columns > 0 ? &xs : nullptr,
                                          .x_columns = x_columns > 0 ? x_columns : 128,
                                          .index = gathers ? &rows : nullptr};
      const std::string what =
          format_text(x, q, sf, group, where) +
          format(" x_sf {} for {}, gathers {}", x_sf.text(), x_columns, gathers);
      kernels::per_channel_cast(on(where, x.view), on(where, q.view), on(where, sf.place.view),
                                args);
      EXPECT_EQ(codes(q.view), any_sign(wanted.q)) << what;
      EXPECT_EQ(sf.factors(), wanted.sf) << what;
      q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what);
      kernels::per_channel_cast_and_transpose(on(where, x.view), on(where, t.view),
                                              on(where, again.place.view), args);
      EXPECT_EQ(codes(t.view), any_sign(turned)) << what << " turned " << t.text();
      EXPECT_EQ(again.factors(), wanted.sf) << what << " turned";
      t.expect_outside_unchanged(what), again.place.expect_outside_unchanged(what);
      x.expect_unchanged(what), x_sf.place.expect_unchanged(what);
    });
  });
}

TEST(CastSweep, CastBack) {
  sweep(30, [](Choices& c) {
    const DType dtype = c.one_of({f8_e4m3, f4_e2m1}), to = c.one_of({f32, bf16});
    int64_t k = c.near({16, 64, 128, 512, 1024}, 1100);
    if (dtype == f4_e2m1) k = k / 2 * 2;
    const int64_t m = c.near({8, 16, 32}, k > 500 ? 10 : 70);
    const int64_t rows = c.one_in(5) ? c.between(1, 40) : c.one_of<int64_t>({1, 1, 32, 128});
    const int64_t columns =
        c.one_in(5) ? c.between(1, 70)
                    : c.one_of<int64_t>({1, 16, 32, 64, 128, std::max<int64_t>(k, 1), 1 << 30});
    const Kinds kind = any_kind(c);
    const Placed q = placed_codes(c, dtype, m, k);
    Factors sf = Factors::any(c, kind.dtype, ceil_div(m, rows), ceil_div(k, columns), kind.packed,
                              columns == 1);
    const auto given = sf.fill(c, -126, 127, true);
    sf.place.hold();
    const auto wanted =
        reference::cast_back(values(q.view), at(m), at(k), at(rows), at(columns), given, to);
    both([&](Where where) {
      Placed y(c, to, m, k);
      y.hold();
      const std::string what = format_text(q, y, sf, rows * 1000 + columns, where);
      kernels::cast_back(on(where, q.view), on(where, sf.place.view), on(where, y.view),
                         {.rows = rows, .columns = columns});
      expect_same(y.view, wanted, what);
      y.expect_outside_unchanged(what), q.expect_unchanged(what), sf.place.expect_unchanged(what);
    });
  });
}

TEST(CastSweep, Lossless) {
  sweep(15, [](Choices& c) {
    kernels::LosslessCastArgs a;
    a.x_rows = c.one_of<int64_t>({1, 1, 1, 2, 3, 32});
    a.x_columns = c.one_of<int64_t>({2, 4, 8, 16, 32, 32, 32, 64});
    a.rows = a.x_rows * c.one_of<int64_t>({1, 1, 2, 3, 4, 32, 128});
    a.columns = a.x_columns * c.one_of<int64_t>({1, 1, 2, 4, 8});
    if (c.one_in(8)) a.columns = 1 << 16;
    if (c.one_in(12)) a.rows = a.x_rows << 20;
    const int64_t k = c.near({8, 16, 32, 128, 256}, 300) / 2 * 2;
    const int64_t m = c.near({8, 32, 128}, 260);
    const Kinds x_kind = any_kind(c, false), kind = any_kind(c, false);
    const Placed x = placed_codes(c, f4_e2m1, m, k);
    Factors x_sf =
        Factors::any(c, f32, ceil_div(m, a.x_rows), ceil_div(k, a.x_columns), x_kind.packed, false);
    const int most = static_cast<int>(c.between(24, 254));
    const auto given = x_sf.fill(c, most - 11 - 127, most - 127, false, true);
    x_sf.place.hold();
    const int64_t down = ceil_div(m, a.rows), across = ceil_div(k, a.columns);
    std::vector<float> wanted(at(down * across));
    for (int64_t i = 0; i < x_sf.m; ++i)
      for (int64_t j = 0; j < x_sf.n; ++j) {
        float& w = wanted[at(i / (a.rows / a.x_rows) * across + j / (a.columns / a.x_columns))];
        w = std::max(w, given[at(i * x_sf.n + j)]);
      }
    for (float& w : wanted) w = std::ldexp(w, -6);
    both([&](Where where) {
      Placed q(c, f8_e4m3, m, k);
      Factors sf = Factors::any(c, f32, down, across, kind.packed, false);
      q.hold(), sf.place.hold();
      const std::string what =
          format_text(x, q, sf, 0, where) + format(" x_sf {} of {} x {} to {} x {}", x_sf.text(),
                                                   a.x_rows, a.x_columns, a.rows, a.columns);
      kernels::per_block_cast_lossless(on(where, x.view), on(where, x_sf.place.view),
                                       on(where, q.view), on(where, sf.place.view), a);
      EXPECT_EQ(sf.factors(), wanted) << what;
      std::vector<uint8_t> all;
      const std::vector<double> in = values(x.view);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < k; ++j) {
          const double v = in[at(i * k + j)] * given[at(i / a.x_rows * x_sf.n + j / a.x_columns)] /
                           wanted[at(i / a.rows * across + j / a.columns)];
          all.push_back(static_cast<uint8_t>(encode(v, f8_e4m3)));
        }
      EXPECT_EQ(codes(q.view), all) << what;
      q.expect_outside_unchanged(what), sf.place.expect_outside_unchanged(what),
          x.expect_unchanged(what), x_sf.place.expect_unchanged(what);
    });
  });
}

TEST(CastSweep, TransposeWeightSf) {
  sweep(30, [](Choices& c) {
    const int64_t g = c.between(0, 3), n = c.near({4, 16}, 36), k = c.near({4, 16}, 36),
                  block = c.one_of<int64_t>({32, 128});
    const OwnedTensor sf(f32, {g, n, k});
    std::vector<uint32_t> exponents(at(g * n * k));
    for (size_t i = 0; i < exponents.size(); ++i) {
      exponents[i] = static_cast<uint32_t>(c.between(0, 255));
      sf->data_as<uint32_t>()[i] = exponents[i] << 23;
    }
    // Of weights [n, k], or transposed.
    const auto wanted = [&](bool turned) {
      const int64_t rows = turned ? k : n, columns = turned ? n : k;
      std::vector<uint32_t> words;
      for (int64_t w = 0; w < g; ++w)
        for (int64_t word = 0; word < ceil_div(columns, 4); ++word)
          for (int64_t row = 0; row < rows * block; ++row) {
            words.push_back(0);
            for (int64_t t = 0; t < 4 && 4 * word + t < columns; ++t) {
              const int64_t i = turned ? 4 * word + t : row / block,
                            j = turned ? row / block : 4 * word + t;
              words.back() |= exponents[at((w * n + i) * k + j)] << 8 * t;
            }
          }
      return words;
    };
    both([&](Where where) {
      const OwnedTensor sf0 = filled_tensor(i32, {g, ceil_div(k, 4), n * block}, 7),
                        sf1 = filled_tensor(i32, {g, ceil_div(n, 4), k * block}, 7);
      const auto words = [](const Tensor& t) {
        return std::vector<uint32_t>(t.data_as<uint32_t>(), t.data_as<uint32_t>() + t.numel());
      };
      const std::string what = format("{}: {} in blocks of {}", name_of(where), sf, block);
      kernels::transpose_weight_sf(on(where, sf), on(where, sf0), on(where, sf1), block);
      EXPECT_EQ(words(sf0), wanted(false)) << what;
      EXPECT_EQ(words(sf1), wanted(true)) << what;
    });
  });
}

}  // namespace
}  // namespace tw
