// Mixture of experts, for C: which experts a token goes to and with which weights, from these
// choices to rows in the order of experts, and back.
//
// Tensors are compact unless a function says otherwise. What only the device sees, such as a score
// that isn't finite, stops the kernel: TW_DEVICE_FAULT. No tokens are legal. Gates choose k of e
// experts for each of t tokens: the higher key first, of equal ones the lower index; -1 says that
// there is none. tilewright/kernels/moe.h defines D(w), the denominator of weights (their sum
// + 1e-20, added up in a certain order), and the fused layout: np rows in the order of experts,
// those of expert e from start[e] up to end[e]. Its maps are i32.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- experts of a token ----

/// idx[i, :] = the k experts with the highest scores, in order. A score that isn't finite stops the
/// kernel. scores: [t, e] f32; idx: [t, k] i64, k from 1 to 32 and at most e.
tw_status tw_topk_gate(const tw_tensor* scores, const tw_tensor* idx, tw_stream stream);

/// idx[i, :] = the kg best groups of experts, in order, by the highest of their scores or the sum
/// of the highest two. scores: [t, g, e / g] f32, g at most 32; num_topk_sum: 1 or 2, and at most
/// e / g; idx: [t, kg] i64, kg at most g.
tw_status tw_topk_sum_and_topk_group_idx(const tw_tensor* scores, int64_t num_topk_sum,
                                         const tw_tensor* idx, tw_stream stream);

/// Scores u of experts by a token's logits x. Keys are u + bias, of softmax x + bias.
typedef int32_t tw_scoring;
enum {
  TW_SCORING_SIGMOID = 0,       // 1 / (1 + exp(-x))
  TW_SCORING_SQRTSOFTPLUS = 1,  // sqrt(x > 20 ? x : log1p(exp(x)))
  TW_SCORING_SOFTMAX = 2,       // exp(x - max) / sum of the same
};

typedef struct tw_moe_topk_gate_args {
  int64_t num_shared_experts;   // s experts that each token has, 0 to 2, numbered from e on
  float routed_scaling_factor;  // 0: 1
  const tw_tensor* mask;        // [t] bool: false for tokens that have no experts
  const tw_tensor* bias;        // [e] f32, added to scores for the choice alone
  /// The bias of those tokens of which the mask is true: [e] f32 and [t] bool.
  const tw_tensor *image_bias, *image_token_mask;
  /// [t] bool: true for tokens whose experts unmapped_topk_idx gives.
  const tw_tensor* fix_routing_mask;
  /// [e + s, d] i32 and [e + s] i32: the places of each expert's duplicates, so many of the d. Then
  /// idx has for token i place (ep_rank + 23333 i) mod count of each expert, ep_rank 0 or more.
  const tw_tensor *to_physical_map, *logical_count;
  int64_t ep_rank;
  /// [t, k] i64 at any row stride, also written: the chosen experts of 0 to e - 1.
  const tw_tensor* unmapped_topk_idx;
  /// [t] bool: true for tokens that get any k + s of n places, n the sum of logical_count or e + s,
  /// and any weights in (0, 1].
  const tw_tensor* force_random;
  const tw_tensor* scores;  // [t, e] f32, written: u
} tw_moe_topk_gate_args;

/// idx, weights = the k best experts of each token by the keys u + bias, u = sqrt(softplus(logit)),
/// with weights u / D(u of the chosen) * routed_scaling_factor; and behind them the shared ones,
/// with weight 1. logits: [t, e] f32, e a multiple of 4; idx: [t, k + s] i64, k + s at most 32;
/// weights: the same in f32.
tw_status tw_moe_topk_gate_forward(const tw_tensor* logits, const tw_tensor* idx,
                                   const tw_tensor* weights, const tw_moe_topk_gate_args* args,
                                   tw_stream stream);

/// What is as in tw_moe_topk_gate_args has no comment here.
typedef struct tw_top2_sum_gate_args {
  tw_scoring scoring;
  /// Experts are chosen of the kg best of g groups, by the sums of their two highest keys; 0 and 0,
  /// or as many: of all. g divides e.
  int64_t num_groups, num_topk_groups;
  int64_t num_shared_experts;   // s divides k, k / s divides e; at most d - 1
  float routed_scaling_factor;  // 0: 1
  int64_t ep_rank;
  /// idx is then as tw_mask_indices_by_tp has it, of e experts, or e + d - 1 with to_physical_map.
  int64_t num_ep_ranks, tp_rank, num_tp_ranks;  // 0 of the first and the last: 1
  const tw_tensor *mask, *fix_routing_mask;
  const tw_tensor *to_physical_map, *logical_count;
  const tw_tensor* unmapped_topk_idx;
} tw_top2_sum_gate_args;

/// The same by a scoring function, of the best groups; an expert of another rank has idx -1, and
/// keeps its weight. bias: [e] f32; the rest as for tw_moe_topk_gate_forward.
tw_status tw_top2_sum_gate(const tw_tensor* logits, const tw_tensor* bias, const tw_tensor* idx,
                           const tw_tensor* weights, const tw_top2_sum_gate_args* args,
                           tw_stream stream);

typedef struct tw_moe_topk_gate_backward_args {
  float routed_scaling_factor;  // 0: 1
  /// Of a loss on the scores of q sequences of t / q tokens, the gradient with respect to the sum
  /// of a sequence's u / sum(u): [q, e] f32; and [t] bool, false for tokens that don't count there.
  const tw_tensor *grad_scores_sum, *mask;
} tw_moe_topk_gate_backward_args;

/// grad_logits = the gradient of tw_moe_topk_gate_forward, by what it gave: scores u [t, e] f32,
/// and of routed experts idx [t, k] i64 and weights [t, k] f32; grad_weights: [t, k] f32. Negative
/// indices contribute nothing, those of e and above stop the kernel. grad_logits: [t, e] f32, k
/// from 1 to 32 and at most e.
tw_status tw_moe_topk_gate_backward(const tw_tensor* scores, const tw_tensor* idx,
                                    const tw_tensor* weights, const tw_tensor* grad_weights,
                                    const tw_tensor* grad_logits,
                                    const tw_moe_topk_gate_backward_args* args, tw_stream stream);

typedef struct tw_normalize_weight_args {
  /// Rows of more than 32 weights are legal, and summed up from left to right, from 1e-20 on.
  bool wide_rows;
} tw_normalize_weight_args;

/// denominator[i] = D(weights[i, :]), normalized[i, :] = weights[i, :] / denominator[i].
/// weights, normalized: [t, k] f32; denominator: [t] f32.
tw_status tw_normalize_weight(const tw_tensor* weights, const tw_tensor* denominator,
                              const tw_tensor* normalized, const tw_normalize_weight_args* args,
                              tw_stream stream);

// ---- numbers and counts of experts ----

/// How n experts lie: equally many on each of num_ep_ranks ranks, of which rank r belongs to rank
/// r % num_tp_ranks of tensor parallelism; tp_rank is this one.
typedef struct tw_tp_ranks {
  int64_t n, num_ep_ranks, tp_rank, num_tp_ranks;
} tw_tp_ranks;

/// out = the experts of this rank, numbered in the order of its ranks r, and -1 for others and for
/// numbers below 0. indices, out: [t, k], both i64 or i32.
tw_status tw_mask_indices_by_tp(const tw_tensor* indices, const tw_tp_ranks* ranks,
                                const tw_tensor* out, tw_stream stream);

/// From left to right, a group that occurred before in its row becomes -1; numbers below 0 stay as
/// they are. One that is at least num_groups, rounded up to a multiple of 64, stops the kernel.
/// group_indices: [t, k] i64; num_groups: at most 128.
tw_status tw_inplace_unique_group_indices(const tw_tensor* group_indices, int64_t num_groups,
                                          tw_stream stream);

/// out[g] = how often group g occurs; numbers below 0 are left out, one that is no group stops the
/// kernel. group_idx: [t, k] i64; out: [groups] i32.
tw_status tw_group_count(const tw_tensor* group_idx, const tw_tensor* out, tw_stream stream);

/// out[e] = (c * experts) / (t * num_aux_topk), where expert e occurs c times, as in
/// tw_group_count. Without tokens 0. topk_idx: [t, k] i64; out: [experts] f32.
tw_status tw_aux_fi(const tw_tensor* topk_idx, int64_t num_aux_topk, const tw_tensor* out,
                    tw_stream stream);

// ---- the fused layout ----

/// The maps of the layout, all i32: of position p the expert, the token i and the pair
/// i * topk + k, of the pair the position; and by expert start, end, and the rows between.
typedef struct tw_fused_mapping {
  const tw_tensor *pos_to_expert, *pos_to_token, *pos_to_token_topk;   // [np]
  const tw_tensor* token_topk_to_pos;                                  // [t, topk]
  const tw_tensor *expert_start, *expert_end, *num_tokens_per_expert;  // [experts]
} tw_fused_mapping;

/// The layout of tokens with experts topk_idx [t, topk] i64, below 0 for none; an expert that there
/// isn't stops the kernel. Ranges follow each other from 0 on, each a multiple of `alignment` long;
/// within one, pairs ascend. The maps of positions are -1 elsewhere, and may have any length:
/// tw_most_fused_rows tells one that suffices. There are 1 to 1024 experts. scratch: i32 of the
/// shape that tw_fused_mapping_scratch tells, for the time of the call.
tw_status tw_get_fused_mapping(const tw_tensor* topk_idx, int64_t alignment,
                               const tw_fused_mapping* maps, const tw_tensor* scratch,
                               tw_stream stream);

/// Sets dtype, rank and shape of a scratch tensor for t * topk pairs.
tw_status tw_fused_mapping_scratch(int64_t pairs, int64_t experts, tw_tensor* scratch);

/// *rows = a length of the maps that suffices for any choice of experts, a multiple of the
/// alignment.
tw_status tw_most_fused_rows(int64_t pairs, int64_t experts, int64_t alignment, int64_t* rows);

// ---- from tokens to the rows of experts, and back ----

/// out[p, :] = x[i, :] for each p = token_topk_to_pos[i, k], bit for bit; 0 where pos_to_expert[p]
/// is below 0. x: [t, h] of 8, 16 or 32 bits an element; token_topk_to_pos: [t, topk];
/// pos_to_expert: [np]; out: [np, h] like x.
tw_status tw_expand_to_fused(const tw_tensor* x, const tw_tensor* token_topk_to_pos,
                             const tw_tensor* pos_to_expert, const tw_tensor* out,
                             tw_stream stream);

/// The same with scale factors, which are copied along: out_sf[p, :] = sf[i, :], or 0.
/// sf: [t, n] f32, a factor for each `group` columns, 32 or 128; or i32, four exponents in a word.
/// out_sf: [np, n] like sf at any strides.
tw_status tw_expand_to_fused_with_sf(const tw_tensor* x, const tw_tensor* sf, int64_t group,
                                     const tw_tensor* token_topk_to_pos,
                                     const tw_tensor* pos_to_expert, const tw_tensor* out,
                                     const tw_tensor* out_sf, tw_stream stream);

typedef struct tw_reduce_fused_args {
  const tw_tensor* topk_weights;  // [t, topk] f32; NULL: all 1
  const tw_tensor* x_sf;          // [np] f32, a factor for each row of x
  const tw_tensor* sf;            // [1] f32, a factor for all of out, which is e4m3
} tw_reduce_fused_args;

/// out[i, :] = (sum over k of topk_weights[i, k] * x_sf[p] * x[p, :]) * sf, p =
/// token_topk_to_pos[i, k], without those outside x. x: [np, h] f32, bf16 or e4m3, h a multiple of
/// 256; token_topk_to_pos: [t, topk]; out: [t, h] like x, or e4m3.
tw_status tw_reduce_fused(const tw_tensor* x, const tw_tensor* token_topk_to_pos,
                          const tw_tensor* out, const tw_reduce_fused_args* args, tw_stream stream);

#ifdef __cplusplus
}
#endif
