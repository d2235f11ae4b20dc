#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/reduce_fused_testing.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::all_reduce_forms;
using test::as_floats;
using test::error_of;
using test::expect_bits;
using test::FusedLayout;
using test::FusedMaps;
using test::Ints;
using test::ints;
using test::on;
using test::random_tensor;
using test::ReduceForm;
using test::untouched;
using test::values;
using test::Where;

/// x has more rows than there are positions; some are large, so that codes saturate.
void check_reduce(const FusedLayout& c, const ReduceForm& f, int64_t h, Where where = Where::cpu) {
  const FusedMaps maps(c);
  const int64_t np = std::max(c.t * c.topk, maps.np);
  const OwnedTensor x = random_tensor(f.x, {np, h}, 1), out = untouched(f.out, {c.t, h}),
                    weights = random_tensor(f32, {c.t, c.topk}, 2, 0, 1),
                    x_sf = random_tensor(f32, {np}, 3), sf = random_tensor(f32, {1}, 4, 300, 400);
  std::vector<double> of_skipped = values(weights);
  reference::Reduction r;
  if (f.weights) r.weights = as_floats(weights);
  for (size_t i = 0; i < of_skipped.size(); ++i) {
    if (maps.wanted.token_topk_to_pos[i] < 0) of_skipped[i] = NAN;
  }
  test::assign(weights, of_skipped);
  if (f.x_sf) r.x_sf = as_floats(x_sf);
  if (f.sf) r.sf = as_floats(sf)[0];
  const auto wanted =
      reference::reduce_fused(values(x), h, maps.wanted.token_topk_to_pos, c.topk, r);
  const Tensor placed_weights = on(where, weights), placed_x_sf = on(where, x_sf),
               placed_sf = on(where, sf);
  kernels::reduce_fused(on(where, x), on(where, maps.token_topk_to_pos), on(where, out),
                        {.topk_weights = f.weights ? &placed_weights : nullptr,
                         .x_sf = f.x_sf ? &placed_x_sf : nullptr,
                         .sf = f.sf ? &placed_sf : nullptr});
  expect_bits(out, wanted,
              format("{}: {} [{}, {}], top {} of {}", name_of(where), to_text(f), c.t, h, c.topk,
                     c.experts));
}

TEST(ReduceFused, IsBitwiseTheReference) {
  for (const FusedLayout& c :
       {FusedLayout{0, 2, 3, 1}, FusedLayout{1, 1, 1, 1}, FusedLayout{9, 2, 9, 1},
        FusedLayout{9, 6, 32, 1}, FusedLayout{9, 8, 4, 1}, FusedLayout{9, 9, 36, 1},
        FusedLayout{3, 33, 40, 1}}) {
    check_reduce(c, {bf16, bf16, true, false, false}, 256);
    check_reduce(c, {f32, f8_e4m3, true, true, true}, 768);
  }
  for (const ReduceForm& f : all_reduce_forms()) check_reduce({5, 6, 9, 1}, f, 256);
  for (const int64_t h : {2048, 2560, 3072, 4096, 6144, 7168, 9984}) {
    check_reduce({5, 6, 9, 1}, {bf16, bf16, true, false, false}, h);
  }
}

TEST(ReduceFused, OnThreads) {
  for (const ReduceForm& f : all_reduce_forms()) check_reduce({3, 6, 9, 1}, f, 256, Where::twin);
  check_reduce({2, 9, 36, 1}, {bf16, bf16, true, false, false}, 2560, Where::twin);
  check_reduce({2, 2, 3, 1}, {f32, f8_e4m3, true, true, true}, 768, Where::twin);
  check_reduce({1, 1, 3, 1}, {f8_e4m3, f8_e4m3, true, true, false}, 9984, Where::twin);
}

/// out of x with one value a row, in rows of 256 equal elements.
std::vector<double> reduced(const std::vector<double>& rows, const Ints& map, int64_t topk,
                            const std::vector<double>& weights, DType out_type, Where where,
                            const std::vector<double>& sf = {}) {
  const auto n = static_cast<int64_t>(rows.size()), t = static_cast<int64_t>(map.size()) / topk;
  const OwnedTensor x(f32, {n, 256}), out(out_type, {t, 256}), by(f32, {t, topk}), scale(f32, {1});
  for (int64_t i = 0; i < n; ++i) {
    test::assign(x->slice(0, i, 1), std::vector<double>(256, rows[static_cast<size_t>(i)]));
  }
  test::assign(by, weights);
  test::assign(scale, sf.empty() ? std::vector<double>{1} : sf);
  const Tensor placed_by = on(where, by), placed_scale = on(where, scale);
  kernels::reduce_fused(on(where, x), on(where, ints(i32, {t, topk}, map)), on(where, out),
                        {.topk_weights = &placed_by, .sf = sf.empty() ? nullptr : &placed_scale});
  std::vector<double> firsts;
  for (int64_t i = 0; i < t; ++i) firsts.push_back(values(out->select(0, i).slice(0, 255, 1))[0]);
  return firsts;
}

TEST(ReduceFused, TheExamplesOfItsContract) {
  const double third = 1.0F / 3.0F;
  for (const Where where : {Where::cpu, Where::twin}) {
    EXPECT_EQ(reduced({1, 3}, {0, 1, -1, -1}, 2, {-1, third, 1, 1}, f32, where),
              (std::vector<double>{0x1p-25, 0}));
    EXPECT_EQ(reduced({1000}, {0}, 1, {1}, f8_e4m3, where, {1}), std::vector<double>{448});
    EXPECT_EQ(reduced({1000}, {0}, 1, {1}, f8_e4m3, where, {0.25}), std::vector<double>{256});
  }
}

TEST(ReduceFused, SaturatesAndKeepsNaN) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const auto out = reduced({INFINITY, -INFINITY, NAN, 465, -1e30}, {0, 1, 2, 3, 4}, 1,
                             {1, 1, 1, 1, 1}, f8_e4m3, where);
    EXPECT_EQ(out[0], 448);
    EXPECT_EQ(out[1], -448);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_EQ(out[3], 448);
    EXPECT_EQ(out[4], -448);
  }
}

TEST(ReduceFused, SkippedEntriesDoNotChangeTheSignOfZero) {
  // -2^-149 * 2^-149 rounds to -0, which adding a zero would make +0.
  for (const Where where : {Where::cpu, Where::twin}) {
    const auto out = reduced({-0x1p-149}, {0, -1}, 2, {0x1p-149, NAN}, f32, where);
    EXPECT_TRUE(out[0] == 0 && std::signbit(out[0])) << name_of(where);
  }
}

TEST(ReduceFused, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_reduce({2, 6, 9, 1}, {bf16, bf16, true, false, false}, 7168, Where::twin);
  check_reduce({2, 6, 9, 1}, {f8_e4m3, f8_e4m3, true, true, true}, 2560, Where::twin);
}

TEST(ReduceFused, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(bf16, {8, 256}), half(f16, {8, 256}), flat(bf16, {256}), odd(bf16, {8, 100}),
      empty(bf16, {8, 0}), map(i32, {3, 2}), map_64(i64, {3, 2}), list(i32, {3}),
      out(bf16, {3, 256}), codes(f8_e4m3, {3, 256}), wide(f32, {3, 256}), more(bf16, {4, 256}),
      weights(f32, {3, 2}), fewer(f32, {2, 2}), x_sf(f32, {8}), two(f32, {2}), half_sf(bf16, {8});
  const auto error = [&](const Tensor& a, const Tensor& m, const Tensor& o,
                         const kernels::ReduceFusedArgs& args = {}) {
    return error_of([&] { kernels::reduce_fused(a, m, o, args); });
  };
  EXPECT_EQ(error(half, map, out), "reduce_fused: x is f16 [8, 256], it must be f32, bf16 or e4m3");
  EXPECT_EQ(error(flat, map, out), "reduce_fused: x is bf16 [256], it must have 2 dimensions");
  for (const auto& [t, text] : {std::pair(odd.view(), "100"), std::pair(empty.view(), "0")}) {
    EXPECT_EQ(error(t, map, out),
              format("reduce_fused: x is bf16 [8, {}], its rows must be a multiple of 256", text));
  }
  EXPECT_EQ(error(x, map_64, out), "reduce_fused: token_topk_to_pos is i64 [3, 2], it must be i32");
  EXPECT_EQ(error(x, list, out),
            "reduce_fused: token_topk_to_pos is i32 [3], it must have 2 dimensions");
  EXPECT_EQ(error(x, map, wide), "reduce_fused: out is f32 [3, 256], it must be e4m3");
  EXPECT_EQ(error(x, map, more), "reduce_fused: out is bf16 [4, 256], it must be [3, 256] [t, h]");
  EXPECT_EQ(error(x, map, x->slice(0, 5, 3)),
            "reduce_fused: out bf16 [3, 256] shares memory with x bf16 [8, 256]; pass a copy of "
            "one");
  EXPECT_EQ(error(x, map, out, {.topk_weights = &fewer.view()}),
            "reduce_fused: topk_weights is f32 [2, 2], it must be [3, 2] like token_topk_to_pos");
  EXPECT_EQ(error(x, map, out, {.x_sf = &half_sf.view()}),
            "reduce_fused: x_sf is bf16 [8], it must be f32");
  EXPECT_EQ(error(x, map, out, {.x_sf = &two.view()}),
            "reduce_fused: x_sf is f32 [2], it must be [8] [np]");
  EXPECT_EQ(error(x, map, out, {.sf = &two.view()}),
            "reduce_fused: sf is given, which only an out of e4m3 has, this is bf16 [3, 256]");
  EXPECT_EQ(error(x, map, codes, {.sf = &two.view()}),
            "reduce_fused: sf is f32 [2], it must be [1]");
  const Tensor within(out->data(), f32, {3, 2});
  EXPECT_EQ(error(x, map, out, {.topk_weights = &within}),
            "reduce_fused: out bf16 [3, 256] shares memory with topk_weights f32 [3, 2]; pass a "
            "copy of one");
}

}  // namespace
}  // namespace tw
