#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/moe_layout_testing.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::bits;
using test::error_of;
using test::FusedLayout;
using test::FusedMaps;
using test::ints;
using test::on;
using test::random_bits;
using test::untouched;
using test::up;
using test::Where;

void check_expand(const FusedLayout& c, DType dtype, int64_t h, Where where = Where::cpu) {
  const FusedMaps maps(c);
  const OwnedTensor x = random_bits(dtype, {c.t, h}, 3), out = untouched(dtype, {maps.np, h});
  kernels::expand_to_fused(on(where, x), on(where, maps.token_topk_to_pos),
                           on(where, maps.pos_to_expert), on(where, out));
  EXPECT_EQ(bits(out), reference::expand_to_fused(bits(x), h, maps.wanted.pos_to_token))
      << format("{}: {} [{}, {}], top {} of {}, alignment {}", name_of(where), dtype, c.t, h,
                c.topk, c.experts, c.alignment);
}

/// The same with factors: f32 in rows or columns, or packed in columns.
void check_expand_with_sf(const FusedLayout& c, int64_t h, int64_t group, DType sf_dtype,
                          bool columns, Where where = Where::cpu) {
  const FusedMaps maps(c);
  const int64_t factors = up(h, group) / group, n = sf_dtype == f32 ? factors : up(factors, 4) / 4;
  const OwnedTensor x = random_bits(f8_e4m3, {c.t, h}, 3), sf = random_bits(sf_dtype, {c.t, n}, 4),
                    out = untouched(f8_e4m3, {maps.np, h});
  const int64_t pitch = up(maps.np, 4);
  const OwnedTensor memory = untouched(sf_dtype, columns ? Shape{n, pitch} : Shape{maps.np, n});
  const Tensor out_sf = columns ? memory->slice(1, 0, maps.np).transpose(0, 1) : memory.view();
  kernels::expand_to_fused_with_sf(on(where, x), on(where, sf), group,
                                   on(where, maps.token_topk_to_pos), on(where, maps.pos_to_expert),
                                   on(where, out), on(where, out_sf));
  const std::string what =
      format("{}: [{}, {}], top {} of {}, {} for {} columns, {}", name_of(where), c.t, h, c.topk,
             c.experts, sf_dtype, group, columns ? "columns" : "rows");
  EXPECT_EQ(bits(out), reference::expand_to_fused(bits(x), h, maps.wanted.pos_to_token)) << what;
  EXPECT_EQ(bits(out_sf), reference::expand_to_fused(bits(sf), n, maps.wanted.pos_to_token))
      << what;
}

constexpr FusedLayout kLayouts[] = {{0, 1, 1, 16},      {0, 2, 3, 16, 5}, {1, 8, 4, 16},
                                    {41, 2, 9, 16},     {41, 6, 32, 16},  {41, 8, 4, 16, 24},
                                    {41, 9, 36, 16, 3}, {41, 1, 32, 16},  {5, 33, 40, 4}};

TEST(ExpandToFused, CopiesTokensToTheirPositionsAndClearsTheOthers) {
  for (const FusedLayout& c : kLayouts) {
    for (const int64_t h : {8, 64, 100, 128, 576}) check_expand(c, bf16, h);
  }
  const FusedLayout c{41, 6, 9, 16, 3};
  for (const int64_t h : {2048, 2560, 3072, 4096, 6144, 7168, 1, 9001}) check_expand(c, bf16, h);
  for (const DType dtype : {f32, f16, f8_e4m3, f8_e5m2, i8, u8, i16, u16, i32, u32}) {
    for (const int64_t h : {1, 576}) check_expand(c, dtype, h);
  }
}

TEST(ExpandToFused, OnThreads) {
  for (const FusedLayout& c : kLayouts) check_expand(c, bf16, 576, Where::twin);
  const FusedLayout c{7, 6, 9, 4, 3};
  for (const DType dtype : {bf16, f32, f8_e4m3}) {
    for (const int64_t h : {1, 8, 100, 2560, 33000}) check_expand(c, dtype, h, Where::twin);
  }
}

TEST(ExpandToFused, CopiesScaleFactorsAlong) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const FusedLayout& c : {kLayouts[1], kLayouts[2], FusedLayout{13, 6, 9, 4, 3}}) {
      for (const int64_t group : {32, 128}) {
        for (const int64_t h : {100, 576, 2048}) {
          check_expand_with_sf(c, h, group, f32, false, where);
          check_expand_with_sf(c, h, group, f32, true, where);
          check_expand_with_sf(c, h, group, i32, true, where);
        }
      }
    }
  }
}

TEST(ExpandToFused, TokensWithoutExpertsGoNowhere) {
  const OwnedTensor x = random_bits(bf16, {3, 64}, 1), out = untouched(bf16, {4, 64});
  const OwnedTensor map = ints(i32, {3, 2}, {-1, -1, -1, -1, -7, -1}),
                    experts = ints(i32, {4}, {-1, -1, -1, -1});
  for (const Where where : {Where::cpu, Where::twin}) {
    kernels::expand_to_fused(on(where, x), on(where, map), on(where, experts), on(where, out));
    EXPECT_EQ(bits(out), std::vector<uint32_t>(4 * 64, 0)) << name_of(where);
  }
}

TEST(ExpandToFused, WritesNothingOutsideOfTheOutput) {
  const OwnedTensor x = random_bits(bf16, {1, 64}, 1), memory = untouched(bf16, {4, 64});
  const OwnedTensor map = ints(i32, {1, 3}, {2, 1, 2147483647}), experts = ints(i32, {2}, {0, 0});
  const std::vector<uint32_t> before = bits(memory->slice(0, 2, 2));
  for (const Where where : {Where::cpu, Where::twin}) {
    kernels::expand_to_fused(on(where, x), on(where, map), on(where, experts),
                             on(where, memory->slice(0, 0, 2)));
    EXPECT_EQ(bits(memory->slice(0, 1, 1)), bits(x));
    EXPECT_EQ(bits(memory->slice(0, 2, 2)), before) << name_of(where);
  }
}

TEST(ExpandToFused, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check_expand({2, 8, 4, 4}, bf16, 7168, Where::twin);
  check_expand_with_sf({2, 8, 4, 4}, 576, 128, i32, true, Where::twin);
}

TEST(ExpandToFused, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(bf16, {3, 64}), flat(bf16, {3}), wide(i64, {3, 64}), wide_out(i64, {4, 64}),
      empty(bf16, {3, 0}), map(i32, {3, 2}), fewer(i32, {2, 2}), map_64(i64, {3, 2}),
      experts(i32, {4}), out(bf16, {4, 64}), small(bf16, {3, 64}), half(f16, {4, 64}),
      gaps(bf16, {3, 70});
  const auto error = [&](const Tensor& a, const Tensor& m, const Tensor& e, const Tensor& o) {
    return error_of([&] { kernels::expand_to_fused(a, m, e, o); });
  };
  EXPECT_EQ(error(flat, map, experts, out),
            "expand_to_fused: x is bf16 [3], it must have 2 dimensions");
  EXPECT_EQ(error(empty, map, experts, out),
            "expand_to_fused: x is bf16 [3, 0], its rows must have at least one element");
  EXPECT_EQ(error(wide, map, experts, wide_out),
            "expand_to_fused: x is i64 [3, 64], its elements must have 8, 16 or 32 bits");
  EXPECT_EQ(error(x, map_64, experts, out),
            "expand_to_fused: token_topk_to_pos is i64 [3, 2], it must be i32");
  EXPECT_EQ(error(x, fewer, experts, out),
            "expand_to_fused: token_topk_to_pos is i32 [2, 2], it must be [3, 2] [t, topk]");
  EXPECT_EQ(error(x, experts, experts, out),
            "expand_to_fused: token_topk_to_pos is i32 [4], it must have 2 dimensions");
  EXPECT_EQ(error(x, map, map, out),
            "expand_to_fused: pos_to_expert is i32 [3, 2], it must have 1 dimension");
  EXPECT_EQ(error(x, map, flat, out), "expand_to_fused: pos_to_expert is bf16 [3], it must be i32");
  EXPECT_EQ(error(x, map, experts, half), "expand_to_fused: out is f16 [4, 64], it must be bf16");
  EXPECT_EQ(error(x, map, experts, small),
            "expand_to_fused: out is bf16 [3, 64], it must be [4, 64] [np, h]");
  EXPECT_EQ(error(out->slice(0, 0, 3), map, experts, out),
            "expand_to_fused: out bf16 [4, 64] shares memory with x bf16 [3, 64]; pass a copy of "
            "one");
  EXPECT_EQ(error(test::with_row_gap(gaps, 64), map, experts, out),
            "error[E-HOST-06]: expand_to_fused: x.stride[0] expected 64 (compact), got 70");
}

TEST(ExpandToFusedWithSf, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f8_e4m3, {3, 576}), sf(f32, {3, 5}), words(i32, {3, 2}), map(i32, {3, 2}),
      experts(i32, {4}), out(f8_e4m3, {4, 576}), out_sf(f32, {4, 5}), half(f16, {3, 5});
  const auto error = [&](const Tensor& s, int64_t group, const Tensor& o) {
    return error_of([&] { kernels::expand_to_fused_with_sf(x, s, group, map, experts, out, o); });
  };
  EXPECT_EQ(error(sf, 64, out_sf),
            "expand_to_fused_with_sf: a factor is for 64 columns, it must be 32 or 128");
  EXPECT_EQ(error(half, 128, out_sf),
            "expand_to_fused_with_sf: sf is f16 [3, 5], it must be f32 or i32");
  EXPECT_EQ(error(sf, 32, out_sf),
            "expand_to_fused_with_sf: sf is f32 [3, 5], it must be [3, 18] [t, n]");
  EXPECT_EQ(error(words, 32, out_sf),
            "expand_to_fused_with_sf: sf is i32 [3, 2], it must be [3, 5] [t, n]");
  EXPECT_EQ(error(words, 128, out_sf),
            "expand_to_fused_with_sf: out_sf is f32 [4, 5], it must be i32");
  EXPECT_EQ(error(sf, 128, sf),
            "expand_to_fused_with_sf: out_sf is f32 [3, 5], it must be [4, 5] [np, n]");
  EXPECT_EQ(error(out_sf->slice(0, 0, 3), 128, out_sf),
            "expand_to_fused_with_sf: out_sf f32 [4, 5] shares memory with sf f32 [3, 5]; pass a "
            "copy of one");
}

}  // namespace
}  // namespace tw
