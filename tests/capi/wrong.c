// Every function with each of its arguments made wrong, one after the other: a tensor's address,
// dtype, rank, extents, strides, device, and memory that it shares with another; and numbers. What
// a call gives must be TW_OK or an error that names the function, after which nothing was written.
// Outputs that may be an input have the same results there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/capi/testing.h"

enum {
  MOST_TENSORS = 15,
  MOST_NUMBERS = 6,
  BYTES = 1 << 15,   // of memory around each tensor
  BEFORE = 1 << 13,  // of these, in front of it
};

/// A legal call. Tensors have no memory yet; all their elements are 1.
typedef struct Call {
  const char* name;
  tw_status (*run)(const tw_tensor* const* t, const int64_t* n);
  int outputs;  // those tensors with a bit here are written
  tw_tensor tensors[MOST_TENSORS];
  int64_t numbers[MOST_NUMBERS];
} Call;

#define RUN(function, ...)                                                       \
  static tw_status run_##function(const tw_tensor* const* t, const int64_t* n) { \
    (void)t, (void)n;                                                            \
    return tw_##function(__VA_ARGS__, NULL);                                     \
  }
#define CALL(function, outputs, ...) {#function, run_##function, outputs, __VA_ARGS__}
#define T(type, ...)                                                                        \
  {                                                                                         \
    .dtype = (type), .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
    .shape = {                                                                              \
      __VA_ARGS__                                                                           \
    }                                                                                       \
  }
#define BIT(i) (1 << (i))

RUN(relu, t[0], t[1])
RUN(gelu, t[0], t[1])
RUN(gelu_tanh, t[0], t[1])
RUN(silu, t[0], t[1])
RUN(sigmoid, t[0], t[1])
RUN(silu_mul, t[0], t[1], t[2])
RUN(attention, t[0], t[1], t[2], t[3],
    &((tw_attention_args){.causal = n[0] != 0, .key_lengths = t[4], .lse = t[5]}))
RUN(attention_packed, t[0], t[1], t[2], t[4], n[0], t[3], &((tw_attention_args){.lse = t[5]}))
RUN(add, t[0], t[1], t[2])
RUN(mul, t[0], t[1], t[2])
RUN(add_relu, t[0], t[1], t[2])
RUN(silu_and_mul, t[0], t[1])
RUN(gather_rows, t[0], t[1], t[2])
RUN(scatter_add_rows, t[0], t[1], t[2])
RUN(gemm, t[0], t[1], t[2],
    &((tw_gemm_args){.activation = (tw_activation)n[0], .bias = t[3], .residual = t[4]}))
RUN(batched_gemm, t[0], t[1], t[2],
    &((tw_gemm_args){.activation = (tw_activation)n[0], .bias = t[3], .residual = t[4]}))
RUN(gemm_fp8, t[0], t[3], t[1], t[4], t[2], &((tw_gemm_args){.activation = (tw_activation)n[0]}))
RUN(copy, t[0], t[1])
RUN(transpose, t[0], t[1])
RUN(rms_norm, t[0], t[1], 1e-5F, t[2])
RUN(layer_norm, t[0], t[1], t[3], 1e-5F, t[2])
RUN(residual_rms_norm, t[0], t[1], t[2], 1e-5F, t[3], t[4])
RUN(residual_layer_norm, t[0], t[1], t[2], t[5], 1e-5F, t[3], t[4])
RUN(softmax, t[0], 1, t[1])
RUN(masked_mean_pool, t[0], t[1], t[2], true)
RUN(randn, t[0],
    &((tw_randn_args){.seed = (uint64_t)n[0], .offset = (uint64_t)n[1], .most_groups = n[2]}))
RUN(standard_normal, t[0],
    &((tw_normal_args){.seed = (uint64_t)n[0], .subsequence = (uint64_t)n[1]}))
RUN(sum, t[0], t[1])
RUN(max, t[0], t[1], false)
RUN(argmax, t[0], t[1])
RUN(cumsum, t[0], t[1])
RUN(top_k, t[0], t[1], t[2])
RUN(apply_rotary, t[0], t[1], &((tw_rotary_args){.key = t[2], .positions = t[3], .offset = n[0]}))
RUN(topk_gate, t[0], t[1])
RUN(topk_sum_and_topk_group_idx, t[0], n[0], t[1])
RUN(moe_topk_gate_forward, t[0], t[1], t[2],
    &((tw_moe_topk_gate_args){.num_shared_experts = n[0],
                              .ep_rank = n[1],
                              .mask = t[3],
                              .bias = t[4],
                              .image_bias = t[5],
                              .image_token_mask = t[6],
                              .fix_routing_mask = t[7],
                              .to_physical_map = t[8],
                              .logical_count = t[9],
                              .unmapped_topk_idx = t[10],
                              .force_random = t[11],
                              .scores = t[12]}))
RUN(top2_sum_gate, t[0], t[1], t[2], t[3],
    &((tw_top2_sum_gate_args){.scoring = (tw_scoring)n[0],
                              .num_groups = n[1],
                              .num_topk_groups = n[2],
                              .num_ep_ranks = n[3],
                              .tp_rank = n[4],
                              .num_tp_ranks = n[5],
                              .num_shared_experts = 1,
                              .mask = t[4],
                              .fix_routing_mask = t[5],
                              .to_physical_map = t[6],
                              .logical_count = t[7],
                              .unmapped_topk_idx = t[8]}))
RUN(moe_topk_gate_backward, t[0], t[1], t[2], t[3], t[4],
    &((tw_moe_topk_gate_backward_args){.grad_scores_sum = t[5], .mask = t[6]}))
RUN(normalize_weight, t[0], t[1], t[2], NULL)
RUN(mask_indices_by_tp, t[0], &((tw_tp_ranks){n[0], n[1], n[2], n[3]}), t[1])
RUN(inplace_unique_group_indices, t[0], n[0])
RUN(group_count, t[0], t[1])
RUN(aux_fi, t[0], n[0], t[1])
RUN(get_fused_mapping, t[0], n[0], &((tw_fused_mapping){t[1], t[2], t[3], t[4], t[5], t[6], t[7]}),
    t[8])
RUN(expand_to_fused, t[0], t[1], t[2], t[3])
RUN(expand_to_fused_with_sf, t[0], t[4], n[0], t[1], t[2], t[3], t[5])
RUN(reduce_fused, t[0], t[1], t[2],
    &((tw_reduce_fused_args){.topk_weights = t[3], .x_sf = t[4], .sf = t[5]}))
RUN(per_token_cast, t[0], t[1], t[2],
    &((tw_token_cast_args){.group = n[0], .x_sf = t[3], .x_rows = n[1], .x_columns = n[2]}))
RUN(per_token_cast_with_sf_only, t[0], (tw_dtype)n[1], t[1], &((tw_token_cast_args){.group = n[0]}))
RUN(per_token_cast_with_precomputed_sf, t[0], t[1], t[2], &((tw_token_cast_args){.group = n[0]}))
RUN(per_token_cast_to_e5m6, t[0], t[1], t[2], false)
RUN(per_block_cast, t[0], t[1], t[2], &((tw_block_cast_args){.rows = n[0], .columns = n[1]}))
RUN(per_block_cast_with_sf_only, t[0], (tw_dtype)n[2], t[1],
    &((tw_block_cast_args){.rows = n[0], .columns = n[1]}))
RUN(per_block_cast_with_precomputed_sf, t[0], t[1], t[2],
    &((tw_block_cast_args){.rows = n[0], .columns = n[1]}))
RUN(per_channel_cast, t[0], t[1], t[2],
    &((tw_channel_cast_args){.group = n[0], .x_sf = t[3], .x_columns = n[1], .index = t[4]}))
RUN(per_channel_cast_and_transpose, t[0], t[1], t[2],
    &((tw_channel_cast_args){.group = n[0], .x_sf = t[3], .x_columns = n[1], .index = t[4]}))
RUN(per_block_cast_lossless, t[0], t[1], t[2], t[3],
    &((tw_lossless_cast_args){n[0], n[1], n[2], n[3]}))
RUN(transpose_weight_sf, t[0], t[1], t[2], n[0])
RUN(cast_back, t[0], t[1], t[2], &((tw_cast_back_args){n[0], n[1]}))
RUN(cast_back_e5m6, t[0], t[1], t[2], &((tw_cast_back_args){n[0], n[1]}))
RUN(per_token_cast_and_cast_back, t[0], (tw_dtype)n[1], &((tw_fake_cast_args){.group = n[0]}))
RUN(cast, t[0], t[1])
RUN(stochastic_cast, t[0], t[1])

#define X T(TW_F32, 4, 8)
static const Call calls[] = {
    CALL(relu, BIT(1), {X, X}),
    CALL(gelu, BIT(1), {X, X}),
    CALL(gelu_tanh, BIT(1), {X, X}),
    CALL(silu, BIT(1), {X, X}),
    CALL(sigmoid, BIT(1), {X, X}),
    CALL(silu_mul, BIT(2), {X, X, X}),
    CALL(attention, BIT(3) | BIT(5),
         {T(TW_F32, 2, 3, 4, 8), T(TW_F32, 2, 5, 2, 8), T(TW_F32, 2, 5, 2, 8),
          T(TW_F32, 2, 3, 4, 8), T(TW_I32, 2), T(TW_F32, 2, 4, 3)}),
    CALL(attention_packed, BIT(3) | BIT(5),
         {T(TW_F32, 5, 4, 8), T(TW_F32, 5, 2, 8), T(TW_F32, 5, 2, 8), T(TW_F32, 5, 4, 8),
          T(TW_I32, 3), T(TW_F32, 4, 5)},
         {5}),
    CALL(add, BIT(2), {X, X, X}),
    CALL(mul, BIT(2), {X, X, X}),
    CALL(add_relu, BIT(2), {X, X, X}),
    CALL(silu_and_mul, BIT(1), {X, T(TW_F32, 4, 4)}),
    CALL(gather_rows, BIT(2), {X, T(TW_I32, 3), T(TW_F32, 3, 8)}),
    CALL(scatter_add_rows, BIT(2), {X, T(TW_I32, 4), T(TW_F32, 3, 8)}),
    CALL(gemm, BIT(2), {X, T(TW_F32, 8, 5), T(TW_F32, 4, 5), T(TW_F32, 5), T(TW_F32, 4, 5)}),
    CALL(batched_gemm, BIT(2),
         {T(TW_F32, 2, 4, 8), T(TW_F32, 2, 8, 5), T(TW_F32, 2, 4, 5), T(TW_F32, 2, 5),
          T(TW_F32, 2, 4, 5)}),
    CALL(gemm_fp8, BIT(2),
         {T(TW_E4M3, 4, 32), T(TW_E4M3, 5, 32), T(TW_F32, 4, 5), T(TW_F32, 4, 1), T(TW_F32, 1, 1)}),
    CALL(copy, BIT(1), {X, X}),
    CALL(transpose, BIT(1), {X, T(TW_F32, 8, 4)}),
    CALL(rms_norm, BIT(2), {X, T(TW_F32, 8), X}),
    CALL(layer_norm, BIT(2), {X, T(TW_F32, 8), X, T(TW_F32, 8)}),
    CALL(residual_rms_norm, BIT(3) | BIT(4), {X, X, T(TW_F32, 8), X, X}),
    CALL(residual_layer_norm, BIT(3) | BIT(4), {X, X, T(TW_F32, 8), X, X, T(TW_F32, 8)}),
    CALL(softmax, BIT(1), {X, X}),
    CALL(masked_mean_pool, BIT(2), {X, T(TW_I32, 3), T(TW_F32, 2, 8)}),
    CALL(randn, BIT(0), {X}, {1, 4, 3}),
    CALL(standard_normal, BIT(0), {X}, {1, 1}),
    CALL(sum, BIT(1), {X, T(TW_F32, 4)}),
    CALL(max, BIT(1), {X, T(TW_F32, 4)}),
    CALL(argmax, BIT(1), {X, T(TW_I32, 4)}),
    CALL(cumsum, BIT(1), {X, X}),
    CALL(top_k, BIT(1) | BIT(2), {X, T(TW_F32, 4, 2), T(TW_I32, 4, 2)}),
    CALL(apply_rotary, BIT(0) | BIT(2),
         {T(TW_F32, 2, 3, 2, 64), T(TW_F32, 5, 64), T(TW_F32, 2, 3, 1, 64), T(TW_I32, 2, 3)}),
    CALL(topk_gate, BIT(1), {X, T(TW_I64, 4, 2)}),
    CALL(topk_sum_and_topk_group_idx, BIT(1), {T(TW_F32, 4, 3, 2), T(TW_I64, 4, 2)}, {2}),
    CALL(moe_topk_gate_forward, BIT(1) | BIT(2) | BIT(10) | BIT(12),
         {X, T(TW_I64, 4, 3), T(TW_F32, 4, 3), T(TW_BOOL, 4), T(TW_F32, 8), T(TW_F32, 8),
          T(TW_BOOL, 4), T(TW_BOOL, 4), T(TW_I32, 9, 2), T(TW_I32, 9), T(TW_I64, 4, 2),
          T(TW_BOOL, 4), X},
         {1, 1}),
    CALL(top2_sum_gate, BIT(2) | BIT(3) | BIT(8),
         {X, T(TW_F32, 8), T(TW_I64, 4, 3), T(TW_F32, 4, 3), T(TW_BOOL, 4), T(TW_BOOL, 4),
          T(TW_I32, 9, 2), T(TW_I32, 9), T(TW_I64, 4, 2)},
         {0, 4, 2, 2, 1, 2}),
    CALL(moe_topk_gate_backward, BIT(4),
         {X, T(TW_I64, 4, 2), T(TW_F32, 4, 2), T(TW_F32, 4, 2), X, T(TW_F32, 2, 8), T(TW_BOOL, 4)}),
    CALL(normalize_weight, BIT(1) | BIT(2), {X, T(TW_F32, 4), X}),
    CALL(mask_indices_by_tp, BIT(1), {T(TW_I64, 4, 2), T(TW_I64, 4, 2)}, {8, 4, 1, 2}),
    CALL(inplace_unique_group_indices, BIT(0), {T(TW_I64, 4, 2)}, {8}),
    CALL(group_count, BIT(1), {T(TW_I64, 4, 2), T(TW_I32, 8)}),
    CALL(aux_fi, BIT(1), {T(TW_I64, 4, 2), T(TW_F32, 8)}, {2}),
    CALL(get_fused_mapping, 0xFE | BIT(8),
         {T(TW_I64, 4, 2), T(TW_I32, 12), T(TW_I32, 12), T(TW_I32, 12), T(TW_I32, 4, 2),
          T(TW_I32, 3), T(TW_I32, 3), T(TW_I32, 3), T(TW_I32, 1)},
         {4}),
    CALL(expand_to_fused, BIT(3), {X, T(TW_I32, 4, 2), T(TW_I32, 12), T(TW_F32, 12, 8)}),
    CALL(expand_to_fused_with_sf, BIT(3) | BIT(5),
         {T(TW_E4M3, 4, 64), T(TW_I32, 4, 2), T(TW_I32, 12), T(TW_E4M3, 12, 64), T(TW_F32, 4, 2),
          T(TW_F32, 12, 2)},
         {32}),
    CALL(reduce_fused, BIT(2),
         {T(TW_F32, 12, 256), T(TW_I32, 4, 2), T(TW_E4M3, 4, 256), T(TW_F32, 4, 2), T(TW_F32, 12),
          T(TW_F32, 1)}),
    CALL(per_token_cast, BIT(1) | BIT(2),
         {T(TW_E4M3, 4, 64), T(TW_E4M3, 4, 64), T(TW_F32, 4, 2), T(TW_F32, 4, 4)}, {32, 1, 16}),
    CALL(per_token_cast_with_sf_only, BIT(1), {T(TW_F32, 4, 64), T(TW_F32, 4, 2)}, {32, TW_E2M1}),
    CALL(per_token_cast_with_precomputed_sf, BIT(2),
         {T(TW_F32, 4, 64), T(TW_F32, 4, 2), T(TW_E2M1, 4, 64)}, {32}),
    CALL(per_token_cast_to_e5m6, BIT(1) | BIT(2), {X, T(TW_U8, 4, 12), T(TW_F32, 4, 1)}),
    CALL(per_block_cast, BIT(1) | BIT(2), {T(TW_F32, 40, 64), T(TW_E4M3, 40, 64), T(TW_F32, 2, 2)},
         {32, 32}),
    CALL(per_block_cast_with_sf_only, BIT(1), {T(TW_F32, 40, 64), T(TW_F32, 2, 2)},
         {32, 32, TW_E4M3}),
    CALL(per_block_cast_with_precomputed_sf, BIT(2),
         {T(TW_F32, 40, 64), T(TW_F32, 2, 2), T(TW_E4M3, 40, 64)}, {32, 32}),
    CALL(
        per_channel_cast, BIT(1) | BIT(2),
        {T(TW_E4M3, 40, 64), T(TW_E4M3, 36, 64), T(TW_F32, 2, 64), T(TW_F32, 40, 2), T(TW_I32, 36)},
        {32, 32}),
    CALL(
        per_channel_cast_and_transpose, BIT(1) | BIT(2),
        {T(TW_E4M3, 40, 64), T(TW_E4M3, 64, 36), T(TW_F32, 2, 64), T(TW_F32, 40, 2), T(TW_I32, 36)},
        {32, 32}),
    CALL(per_block_cast_lossless, BIT(2) | BIT(3),
         {T(TW_E2M1, 4, 64), T(TW_F32, 4, 2), T(TW_E4M3, 4, 64), T(TW_F32, 2, 1)}, {1, 32, 2, 64}),
    CALL(transpose_weight_sf, BIT(1) | BIT(2),
         {T(TW_F32, 2, 3, 5), T(TW_I32, 2, 2, 96), T(TW_I32, 2, 1, 160)}, {32}),
    CALL(cast_back, BIT(2), {T(TW_E4M3, 4, 64), T(TW_F32, 2, 2), T(TW_F32, 4, 64)}, {2, 32}),
    CALL(cast_back_e5m6, BIT(2), {T(TW_U8, 4, 12), T(TW_F32, 4, 1), X}, {1, 8}),
    CALL(per_token_cast_and_cast_back, BIT(0), {X}, {16, TW_E4M3}),
    CALL(cast, BIT(1), {X, T(TW_BF16, 4, 8)}),
    CALL(stochastic_cast, BIT(1), {X, T(TW_E4M3, 4, 8)}),
};

static uint8_t memory[MOST_TENSORS][BYTES], before[MOST_TENSORS][BYTES],
    wanted[MOST_TENSORS][BYTES];

static void fill_with_ones(uint8_t* bytes, tw_dtype dtype) {
  for (size_t i = 0; i < BYTES; i += 8) {
    const float one = 1;
    const uint32_t bf16_ones = 0x3F803F80;
    const int32_t i32_one = 1;
    const int64_t i64_one = 1;
    switch (dtype) {
      case TW_F32:
        memcpy(bytes + i, &one, 4), memcpy(bytes + i + 4, &one, 4);
        break;
      case TW_I32:
        memcpy(bytes + i, &i32_one, 4), memcpy(bytes + i + 4, &i32_one, 4);
        break;
      case TW_I64:
        memcpy(bytes + i, &i64_one, 8);
        break;
      case TW_BF16:
        memcpy(bytes + i, &bf16_ones, 4), memcpy(bytes + i + 4, &bf16_ones, 4);
        break;
      default:
        memset(bytes + i, dtype == TW_E4M3 ? 0x38 : dtype == TW_E2M1 ? 0x22 : 1, 8);
    }
  }
}

static int count_of(const Call* c) {
  int count = 0;
  while (count < MOST_TENSORS && c->tensors[count].dtype != 0) ++count;
  return count;
}

/// Runs the call with this tensor i instead of its own, or with all its own.
static tw_status run(const Call* c, int i, const tw_tensor* instead, const int64_t* numbers) {
  tw_tensor tensors[MOST_TENSORS];
  const tw_tensor* pointers[MOST_TENSORS] = {0};
  for (int j = 0; j < count_of(c); ++j) {
    fill_with_ones(memory[j], c->tensors[j].dtype);
    tensors[j] = c->tensors[j];
    tensors[j].data = memory[j] + BEFORE;
    pointers[j] = &tensors[j];
  }
  if (instead != NULL) pointers[i] = instead;
  memcpy(before, memory, (size_t)count_of(c) * BYTES);
  return c->run(pointers, numbers);
}

/// What holds of every call; `what` says what is wrong.
static void judge(const Call* c, tw_status status, const char* what) {
  char text[512];
  snprintf(text, sizeof text, "%s with %s gives %d: %.300s", c->name, what, status,
           status == TW_OK ? "ok" : tw_last_error());
  if (getenv("TW_PRINT_WRONG") != NULL) puts(text);
  check(status >= TW_OK && status < TW_INTERNAL, text, __FILE__, __LINE__);
  if (status == TW_OK) return;
  char name[64];
  snprintf(name, sizeof name, "%s: ", c->name);
  check(strstr(tw_last_error(), name) != NULL, text, __FILE__, __LINE__);
  if (status == TW_DEVICE_FAULT) return;
  snprintf(text, sizeof text, "%s with %s writes nothing", c->name, what);
  check(memcmp(before, memory, (size_t)count_of(c) * BYTES) == 0, text, __FILE__, __LINE__);
}

static void of_one_tensor(const Call* c, int i) {
  const tw_tensor right = {
      .data = memory[i] + BEFORE, .dtype = c->tensors[i].dtype, .rank = c->tensors[i].rank};
  char what[128];
#define WRONG(change, ...)                                        \
  do {                                                            \
    tw_tensor wrong = right;                                      \
    memcpy(wrong.shape, c->tensors[i].shape, sizeof wrong.shape); \
    change;                                                       \
    snprintf(what, sizeof what, "tensor %d " __VA_ARGS__);        \
    judge(c, run(c, i, &wrong, c->numbers), what);                \
  } while (0)
  WRONG(wrong.data = NULL, "without memory", i);
  WRONG(wrong.data = memory[i] + BEFORE + 1, "at an odd address", i);
  for (tw_dtype dtype = -1; dtype <= TW_E2M1 + 1; ++dtype)
    WRONG(wrong.dtype = dtype, "of dtype %d", i, dtype);
  for (int32_t rank = -1; rank <= TW_MAX_RANK + 1; ++rank)
    WRONG(wrong.rank = rank, "of rank %d", i, rank);
  const tw_device devices[] = {{TW_CUDA, 0}, {TW_ASCEND, 0}, {-1, 0},
                               {3, 0},       {TW_CPU, 1},    {TW_CUDA, -1}};
  for (int k = 0; k < COUNT(devices); ++k)
    WRONG(wrong.device = devices[k], "on device %d:%d", i, devices[k].kind, devices[k].index);
  int64_t compact[TW_MAX_RANK + 1] = {0};
  compact[right.rank] = 1;
  for (int d = right.rank; d-- > 0;) compact[d] = compact[d + 1] * c->tensors[i].shape[d];
  for (int d = 0; d < right.rank; ++d) {
    const int64_t extent = c->tensors[i].shape[d];
    const int64_t extents[] = {-1, INT64_MIN, 0, extent - 1, extent + 1, INT64_MAX};
    for (int k = 0; k < COUNT(extents); ++k)
      WRONG(wrong.shape[d] = extents[k], "with extent %d of %lld", i, d, (long long)extents[k]);
    const int64_t stride = compact[d + 1];
    const int64_t strides[] = {-stride,   0,         stride + 1,      2 * stride,
                               INT64_MAX, INT64_MIN, (int64_t)1 << 61};
    for (int k = 0; k < COUNT(strides); ++k)
      WRONG(
          {
            memcpy(wrong.strides, compact + 1, sizeof wrong.strides);
            wrong.strides[d] = strides[k];
            // Such strides are legal for some inputs, which must not be read that far.
            if (llabs(strides[k] / 2) > 4 * stride && (c->outputs & BIT(i)) == 0) continue;
            wrong.strided = true;
          },
          "with stride %d of %lld", i, d, (long long)strides[k]);
  }
}

static void of_memory(const Call* c) {
  const int count = count_of(c);
  CHECK(run(c, 0, NULL, c->numbers) == TW_OK);
  memcpy(wanted, memory, sizeof memory);
  for (int i = 0; i < count; ++i) {
    if ((c->outputs & BIT(i)) == 0) continue;
    for (int j = 0; j < count; ++j) {
      for (int64_t shift = -16; shift <= 16; shift += 8) {
        if (i == j) continue;
        tw_tensor shared = c->tensors[i];
        shared.data = memory[j] + BEFORE + shift;
        char what[128];
        snprintf(what, sizeof what, "tensor %d at tensor %d + %d", i, j, (int)shift);
        const tw_status status = run(c, i, &shared, c->numbers);
        judge(c, status, what);
        // Of other dtypes, elements that a call leaves alone are not the same.
        if (status != TW_OK || c->tensors[i].dtype != c->tensors[j].dtype) continue;
        for (int k = 0; k < count; ++k) {
          if ((c->outputs & BIT(k)) == 0) continue;
          const uint8_t* found = k == i ? memory[j] + BEFORE + shift : memory[k] + BEFORE;
          size_t bits = c->tensors[k].dtype == TW_E2M1 ? 4 : 8;
          if (c->tensors[k].dtype == TW_F32 || c->tensors[k].dtype == TW_I32) bits = 32;
          if (c->tensors[k].dtype == TW_BF16) bits = 16;
          if (c->tensors[k].dtype == TW_I64) bits = 64;
          for (int d = 0; d < c->tensors[k].rank; ++d) bits *= (size_t)c->tensors[k].shape[d];
          char text[256];
          snprintf(text, sizeof text, "%s with %s has the same tensor %d", c->name, what, k);
          check(memcmp(found, wanted[k] + BEFORE, bits / 8) == 0, text, __FILE__, __LINE__);
        }
      }
    }
  }
}

static void of_numbers(const Call* c) {
  const int64_t values[] = {
      -1, 0, 1, 3, 7, 33, 99, (int64_t)1 << 31, (int64_t)1 << 62, INT64_MAX, INT64_MIN};
  for (int i = 0; i < MOST_NUMBERS; ++i) {
    for (int k = 0; k < COUNT(values) && c->numbers[i] != 0; ++k) {
      int64_t numbers[MOST_NUMBERS];
      memcpy(numbers, c->numbers, sizeof numbers);
      numbers[i] = values[k];
      char what[64];
      snprintf(what, sizeof what, "number %d of %lld", i, (long long)values[k]);
      judge(c, run(c, 0, NULL, numbers), what);
    }
  }
}

void test_wrong(void) {
  for (int k = 0; k < COUNT(calls); ++k) {
    Call c = calls[k];
    if (c.run == run_get_fused_mapping) {
      CHECK(tw_fused_mapping_scratch(8, 3, &c.tensors[8]) == TW_OK);
    }
    of_memory(&c);
    for (int i = 0; i < count_of(&c); ++i) of_one_tensor(&c, i);
    of_numbers(&c);
  }
}
