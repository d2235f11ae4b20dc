// Options arrive: a call from C gives the very bits of the same call from C++, where each option
// has a value of its own. The tests in C beside this file compare with plain loops.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/capi/in_c.h"
#include "tests/kernels/tensors.h"
#include "tilewright/capi/tilewright.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using test::filled_tensor;
using test::random_tensor;

OwnedTensor integers(DType dtype, const Shape& shape, const std::vector<double>& values) {
  OwnedTensor t(dtype, shape);
  test::assign(t, values);
  return t;
}

std::string bytes(const Tensor& t) {
  return {static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())};
}

/// Outputs, once from C++ and once from C.
class Twice {
 public:
  Twice(DType dtype, const Shape& shape, double before = 0)
      : cpp(filled_tensor(dtype, shape, before)), c(filled_tensor(dtype, shape, before)) {}
  void expect_same() const { EXPECT_TRUE(bytes(cpp) == bytes(c)); }
  OwnedTensor cpp, c;
};

void expect_ok(tw_status status) { EXPECT_EQ(status, TW_OK) << tw_last_error(); }

constexpr int64_t kTokens = 8, kExperts = 16, kTopK = 4;

TEST(Options, OfMoeTopkGateForward) {
  const OwnedTensor logits = random_tensor(f32, {kTokens, kExperts}, 1);
  const OwnedTensor bias = random_tensor(f32, {kExperts}, 2);
  const OwnedTensor image_bias = random_tensor(f32, {kExperts}, 3);
  const OwnedTensor mask = integers(bool_, {kTokens}, {1, 1, 0, 1, 1, 1, 1, 1});
  const OwnedTensor image = integers(bool_, {kTokens}, {0, 1, 1, 0, 0, 1, 1, 0});
  const OwnedTensor fixed = integers(bool_, {kTokens}, {0, 0, 0, 1, 0, 0, 0, 0});
  const OwnedTensor random = integers(bool_, {kTokens}, {0, 0, 0, 0, 0, 1, 0, 0});
  const int64_t all = kExperts + 1;
  std::vector<double> places(static_cast<size_t>(all * 2));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i);
  const OwnedTensor map = integers(i32, {all, 2}, places);
  const OwnedTensor counts = filled_tensor(i32, {all}, 2);
  Twice idx(i64, {kTokens, kTopK + 1}), weights(f32, {kTokens, kTopK + 1});
  Twice unmapped(i64, {kTokens, kTopK}), scores(f32, {kTokens, kExperts});
  for (const Tensor& t : {unmapped.cpp.view(), unmapped.c.view()}) {
    test::assign(t.select(0, 3), {9, 4, 2, 11});  // of the token whose experts are fixed
  }
  kernels::moe_topk_gate_forward(logits, idx.cpp, weights.cpp,
                                 {.num_shared_experts = 1,
                                  .routed_scaling_factor = 2.5F,
                                  .mask = &mask.view(),
                                  .bias = &bias.view(),
                                  .image_bias = &image_bias.view(),
                                  .image_token_mask = &image.view(),
                                  .fix_routing_mask = &fixed.view(),
                                  .to_physical_map = &map.view(),
                                  .logical_count = &counts.view(),
                                  .ep_rank = 3,
                                  .unmapped_topk_idx = &unmapped.cpp.view(),
                                  .force_random = &random.view(),
                                  .scores = &scores.cpp.view()});
  const InC c_mask = mask, c_bias = bias, c_image_bias = image_bias, c_image = image,
            c_fixed = fixed, c_map = map, c_counts = counts, c_unmapped = unmapped.c,
            c_random = random, c_scores = scores.c;
  const tw_moe_topk_gate_args args = {.num_shared_experts = 1,
                                      .routed_scaling_factor = 2.5F,
                                      .mask = c_mask,
                                      .bias = c_bias,
                                      .image_bias = c_image_bias,
                                      .image_token_mask = c_image,
                                      .fix_routing_mask = c_fixed,
                                      .to_physical_map = c_map,
                                      .logical_count = c_counts,
                                      .ep_rank = 3,
                                      .unmapped_topk_idx = c_unmapped,
                                      .force_random = c_random,
                                      .scores = c_scores};
  expect_ok(tw_moe_topk_gate_forward(InC(logits), InC(idx.c), InC(weights.c), &args, nullptr));
  idx.expect_same();
  weights.expect_same();
  unmapped.expect_same();
  scores.expect_same();
}

TEST(Options, OfTop2SumGate) {
  const OwnedTensor logits = random_tensor(f32, {kTokens, kExperts}, 4);
  const OwnedTensor bias = random_tensor(f32, {kExperts}, 5);
  const OwnedTensor mask = integers(bool_, {kTokens}, {1, 1, 0, 1, 1, 1, 1, 1});
  const OwnedTensor fixed = integers(bool_, {kTokens}, {0, 0, 0, 1, 0, 0, 0, 0});
  const int64_t all = kExperts + 1;
  std::vector<double> places(static_cast<size_t>(all * 5));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i % 20);
  const OwnedTensor map = integers(i32, {all, 5}, places);
  const OwnedTensor counts = filled_tensor(i32, {all}, 3);
  for (int scoring = TW_SCORING_SIGMOID; scoring <= TW_SCORING_SOFTMAX; ++scoring) {
    const int64_t shared = scoring == TW_SCORING_SOFTMAX ? 1 : 0;
    Twice idx(i64, {kTokens, kTopK + shared}), weights(f32, {kTokens, kTopK + shared});
    Twice unmapped(i64, {kTokens, kTopK});
    for (const Tensor& t : {unmapped.cpp.view(), unmapped.c.view()}) {
      test::assign(t.select(0, 3), {9, 4, 2, 11});
    }
    kernels::Top2SumGateArgs wanted = {.scoring = static_cast<kernels::Scoring>(scoring),
                                       .num_groups = 4,
                                       .num_topk_groups = 2,
                                       .num_shared_experts = shared,
                                       .routed_scaling_factor = 1.5F,
                                       .ep_rank = 1,
                                       .mask = &mask.view(),
                                       .fix_routing_mask = &fixed.view(),
                                       .unmapped_topk_idx = &unmapped.cpp.view()};
    const InC c_mask = mask, c_fixed = fixed, c_map = map, c_counts = counts,
              c_unmapped = unmapped.c;
    tw_top2_sum_gate_args args = {.scoring = scoring,
                                  .num_groups = 4,
                                  .num_topk_groups = 2,
                                  .num_shared_experts = shared,
                                  .routed_scaling_factor = 1.5F,
                                  .ep_rank = 1,
                                  .mask = c_mask,
                                  .fix_routing_mask = c_fixed,
                                  .unmapped_topk_idx = c_unmapped};
    if (scoring == TW_SCORING_SOFTMAX) {  // with duplicates: 20 places on 4 ranks
      wanted.to_physical_map = &map.view();
      wanted.logical_count = &counts.view();
      wanted.num_ep_ranks = args.num_ep_ranks = 4;
      wanted.tp_rank = args.tp_rank = 1;
      wanted.num_tp_ranks = args.num_tp_ranks = 2;
      args.to_physical_map = c_map;
      args.logical_count = c_counts;
    }
    kernels::top2_sum_gate(logits, bias, idx.cpp, weights.cpp, wanted);
    expect_ok(tw_top2_sum_gate(InC(logits), InC(bias), InC(idx.c), InC(weights.c), &args, nullptr));
    idx.expect_same();
    weights.expect_same();
    unmapped.expect_same();
  }
}

TEST(Options, OfMoeTopkGateBackward) {
  const OwnedTensor scores = random_tensor(f32, {kTokens, kExperts}, 6, 0.1, 2);
  std::vector<double> chosen(static_cast<size_t>(kTokens * kTopK));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<double>(i * 5 % kExperts);
  const OwnedTensor idx = integers(i64, {kTokens, kTopK}, chosen);
  const OwnedTensor weights = random_tensor(f32, {kTokens, kTopK}, 7, 0, 1);
  const OwnedTensor grad_weights = random_tensor(f32, {kTokens, kTopK}, 8);
  const OwnedTensor sums = random_tensor(f32, {2, kExperts}, 9);
  const OwnedTensor mask = integers(bool_, {kTokens}, {1, 1, 0, 1, 1, 0, 1, 1});
  Twice grad(f32, {kTokens, kExperts});
  kernels::moe_topk_gate_backward(
      scores, idx, weights, grad_weights, grad.cpp,
      {.routed_scaling_factor = 3, .grad_scores_sum = &sums.view(), .mask = &mask.view()});
  const InC c_sums = sums, c_mask = mask;
  const tw_moe_topk_gate_backward_args args = {
      .routed_scaling_factor = 3, .grad_scores_sum = c_sums, .mask = c_mask};
  expect_ok(tw_moe_topk_gate_backward(InC(scores), InC(idx), InC(weights), InC(grad_weights),
                                      InC(grad.c), &args, nullptr));
  grad.expect_same();
}

constexpr int64_t kRows = 64, kColumns = 256;

TEST(Options, OfTokenCasts) {
  // From codes with factors of 32 x 64 blocks to groups of 32, factors that are powers of two.
  const OwnedTensor x = random_tensor(f8_e4m3, {kRows, kColumns}, 10);
  const OwnedTensor x_sf = random_tensor(f32, {2, 4}, 11, 0.5, 2);
  Twice q(f8_e4m3, {kRows, kColumns}), sf(f32, {kRows, 8});
  kernels::per_token_cast(x, q.cpp, sf.cpp,
                          {.group = 32,
                           .round_sf = true,
                           .least = 100,
                           .stochastic = true,
                           .x_sf = &x_sf.view(),
                           .x_rows = 32,
                           .x_columns = 64});
  const InC c_x_sf = x_sf;
  const tw_token_cast_args args = {.group = 32,
                                   .round_sf = true,
                                   .least = 100,
                                   .stochastic = true,
                                   .x_sf = c_x_sf,
                                   .x_rows = 32,
                                   .x_columns = 64};
  expect_ok(tw_per_token_cast(InC(x), InC(q.c), InC(sf.c), &args, nullptr));
  q.expect_same();
  sf.expect_same();

  Twice y(f32, {kRows, kColumns});
  const std::vector<double> before = test::values(random_tensor(f32, {kRows, kColumns}, 16));
  for (const OwnedTensor* each : {&y.cpp, &y.c}) test::assign(*each, before);
  kernels::per_token_cast_and_cast_back(
      y.cpp, f4_e2m1, {.group = 16, .round_sf = false, .e4m3_sf = true, .least = 2});
  const tw_fake_cast_args fake = {.group = 16, .round_sf = false, .e4m3_sf = true, .least = 2};
  expect_ok(tw_per_token_cast_and_cast_back(InC(y.c), TW_E2M1, &fake, nullptr));
  y.expect_same();
  for (const OwnedTensor* each : {&y.cpp, &y.c}) test::assign(*each, before);
  kernels::per_token_cast_and_cast_back(y.cpp, f8_e4m3, {.group = 64, .round_sf = true});
  const tw_fake_cast_args rounded = {.group = 64, .round_sf = true};
  expect_ok(tw_per_token_cast_and_cast_back(InC(y.c), TW_E4M3, &rounded, nullptr));
  y.expect_same();
}

TEST(Options, OfBlockCasts) {
  const OwnedTensor x = random_tensor(f32, {kRows, kColumns}, 12);
  Twice q(f8_e4m3, {kRows, kColumns}), sf(f32, {2, 8});
  kernels::per_block_cast(x, q.cpp, sf.cpp,
                          {.rows = 32, .columns = 32, .round_sf = true, .least = 100});
  const tw_block_cast_args args = {.rows = 32, .columns = 32, .round_sf = true, .least = 100};
  expect_ok(tw_per_block_cast(InC(x), InC(q.c), InC(sf.c), &args, nullptr));
  q.expect_same();
  sf.expect_same();

  Twice y(bf16, {kRows, kColumns});
  kernels::cast_back(q.cpp, sf.cpp, y.cpp, {.rows = 32, .columns = 32});
  const tw_cast_back_args back = {.rows = 32, .columns = 32};
  expect_ok(tw_cast_back(InC(q.c), InC(sf.c), InC(y.c), &back, nullptr));
  y.expect_same();
}

TEST(Options, OfChannelCasts) {
  const OwnedTensor x = random_tensor(f8_e4m3, {kRows, kColumns}, 13);
  const OwnedTensor x_sf = random_tensor(f32, {kRows, 8}, 14, 0.5, 2);
  std::vector<double> rows(40);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 7 % 66) - 1;
  const OwnedTensor index = integers(i32, {40}, rows);
  Twice q(f8_e4m3, {40, kColumns}), sf(f32, {2, kColumns});
  kernels::per_channel_cast(x, q.cpp, sf.cpp,
                            {.group = 32,
                             .round_sf = true,
                             .least = 100,
                             .x_sf = &x_sf.view(),
                             .x_columns = 32,
                             .index = &index.view()});
  const InC c_x_sf = x_sf, c_index = index;
  const tw_channel_cast_args args = {.group = 32,
                                     .round_sf = true,
                                     .least = 100,
                                     .x_sf = c_x_sf,
                                     .x_columns = 32,
                                     .index = c_index};
  expect_ok(tw_per_channel_cast(InC(x), InC(q.c), InC(sf.c), &args, nullptr));
  q.expect_same();
  sf.expect_same();
}

TEST(Options, OfPerBlockCastLossless) {
  const OwnedTensor x = random_tensor(f4_e2m1, {kRows, kColumns}, 15);
  const OwnedTensor x_sf = filled_tensor(f32, {32, 16}, 0.25);
  Twice q(f8_e4m3, {kRows, kColumns}), sf(f32, {16, 8});
  kernels::per_block_cast_lossless(x, x_sf, q.cpp, sf.cpp,
                                   {.x_rows = 2, .x_columns = 16, .rows = 4, .columns = 32});
  const tw_lossless_cast_args args = {.x_rows = 2, .x_columns = 16, .rows = 4, .columns = 32};
  expect_ok(tw_per_block_cast_lossless(InC(x), InC(x_sf), InC(q.c), InC(sf.c), &args, nullptr));
  q.expect_same();
  sf.expect_same();
}

}  // namespace
}  // namespace tw
