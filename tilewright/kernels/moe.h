// Mixture of experts: which experts a token goes to and with which weights, from these choices to
// rows in the order of experts, and back.
//
// Tensors are on one device and compact unless a function says otherwise. Arguments of a wrong
// shape, dtype or stride are an Error, and nothing is written; what only the device sees, such as
// a score that isn't finite, stops the kernel. No tokens are legal. Results are the same bits on
// every device, however many blocks work on them, unless a function says otherwise.
//
// Gates choose k of e experts for each of t tokens, in one order: the higher key first, of equal
// ones (-0 equals 0) the lower index. In results -1 says that there is none, in arguments each
// index below 0 does. D(w), the denominator of the weights w of a token, is y[0] + 1e-20 of
// y = w, filled up with zeros to 32, after y[j] += y[j + s] for all j < s, for s = 16, 8, 4, 2, 1;
// each operation is rounded to f32 by itself.
//
// Of the *fused layout*, np rows in the order of experts, expert e has rows [start[e], end[e]):
// first those of the tokens that chose it, then padding up to a multiple of the alignment. Maps,
// all i32, tell which row is whose; below 0 means none.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

// ---- experts of a token ----

/// idx[i, :] = the k experts with the highest scores, in order. A score that isn't finite stops the
/// kernel. scores: [t, e] f32; idx: [t, k] i64, k from 1 to 32 and at most e.
void topk_gate(const Tensor& scores, const Tensor& idx, Stream stream = {});

/// idx[i, :] = the kg best groups of experts, in order, by the highest of their scores or the sum
/// of the highest two. -inf is a number like others; with NaN any groups come out. scores: [t, g, e
/// / g] f32, g at most 32; num_topk_sum: 1 or 2, and at most e / g; idx: [t, kg] i64, kg at most g.
void topk_sum_and_topk_group_idx(const Tensor& scores, int64_t num_topk_sum, const Tensor& idx,
                                 Stream stream = {});

/// Scores u of experts by a token's logits x. Keys are u + bias, of softmax x + bias.
enum class Scoring : uint8_t {
  sigmoid,       // 1 / (1 + exp(-x)), 0 where that may be subnormal
  sqrtsoftplus,  // sqrt(x > 20 ? x : log1p(exp(x)))
  softmax,       // exp(x - max) / sum of the same
};

/// What a gate may be told, beyond the experts' logits. Tensors that are null are left out.
struct MoeTopkGateArgs {
  int64_t num_shared_experts = 0;  // s experts that each token has, 0 to 2, numbered from e on
  float routed_scaling_factor = 1;
  const Tensor* mask = nullptr;  // [t] bool: false for tokens that have no experts
  /// Added to scores for the choice alone: [e] f32. -inf keeps an expert from being chosen.
  const Tensor* bias = nullptr;
  /// The bias of those tokens of which the mask is true: [e] f32 and [t] bool.
  const Tensor *image_bias = nullptr, *image_token_mask = nullptr;
  /// [t] bool: true for tokens whose experts unmapped_topk_idx gives.
  const Tensor* fix_routing_mask = nullptr;
  /// [e + s, d] i32 and [e + s] i32: the places of each expert's duplicates, so many of the d. Then
  /// idx has for token i place (ep_rank + 23333 i) mod count of each expert, ep_rank 0 or more.
  const Tensor *to_physical_map = nullptr, *logical_count = nullptr;
  int64_t ep_rank = 0;
  /// [t, k] i64 at any row stride, also written: the chosen experts of 0 to e - 1.
  const Tensor* unmapped_topk_idx = nullptr;
  /// [t] bool: true for tokens that get any k + s of n places, n the sum of logical_count or e + s,
  /// and any weights in (0, 1]. They depend on the token and ep_rank alone.
  const Tensor* force_random = nullptr;
  const Tensor* scores = nullptr;  // [t, e] f32, written: u
};

/// idx, weights = the k best experts of each token by the keys u + bias, u = sqrt(softplus(logit)),
/// with weights u / D(u of the chosen) * routed_scaling_factor; and behind them the shared ones,
/// with weight 1. In f32; u within 4 ulp, by which devices may differ.
///
/// A token whose mask is false has idx and unmapped_topk_idx -1, weights and scores 0; of others
/// force_random counts first, then fix_routing_mask. Tokens of force_random have unmapped_topk_idx
/// -1 and scores 0. Where logits count they must be finite, else the kernel stops; so it does for
/// given experts outside, and for a token that less than k keys above -inf are left to.
/// logits: [t, e] f32, e a multiple of 4; idx: [t, k + s] i64, k + s at most 32; weights: the same
/// in f32.
void moe_topk_gate_forward(const Tensor& logits, const Tensor& idx, const Tensor& weights,
                           const MoeTopkGateArgs& args = {}, Stream stream = {});

/// What of top2_sum_gate is as in MoeTopkGateArgs has no comment here.
struct Top2SumGateArgs {
  Scoring scoring = Scoring::sigmoid;
  /// Experts are chosen of the kg best of g groups, by the sums of their two highest keys; 0 and 0,
  /// or as many: of all. g divides e.
  int64_t num_groups = 0, num_topk_groups = 0;
  int64_t num_shared_experts = 0;  // s divides k, k / s divides e; at most d - 1
  float routed_scaling_factor = 1;
  int64_t ep_rank = 0;
  /// idx is then as mask_indices_by_tp has it, of e experts, or e + d - 1 with to_physical_map.
  int64_t num_ep_ranks = 1, tp_rank = 0, num_tp_ranks = 1;
  const Tensor *mask = nullptr, *fix_routing_mask = nullptr;
  const Tensor *to_physical_map = nullptr, *logical_count = nullptr;
  const Tensor* unmapped_topk_idx = nullptr;
};

/// idx, weights = the k best experts of each token by the keys of a scoring function, of the best
/// groups, with weights u / D(u of the chosen) * routed_scaling_factor; and behind them the shared
/// ones, with weight 1. In f32; u within some ulp, by which devices may differ. An expert of
/// another rank has idx -1, and keeps its weight. Else as moe_topk_gate_forward; bias: [e] f32.
void top2_sum_gate(const Tensor& logits, const Tensor& bias, const Tensor& idx,
                   const Tensor& weights, const Top2SumGateArgs& args = {}, Stream stream = {});

struct MoeTopkGateBackwardArgs {
  float routed_scaling_factor = 1;
  /// Of a loss on the scores of q sequences of t / q tokens, the gradient h with respect to the sum
  /// of a sequence's u / sum(u): [q, e] f32; and [t] bool, false for tokens that don't count there.
  const Tensor *grad_scores_sum = nullptr, *mask = nullptr;
};

/// grad_logits = the gradient of moe_topk_gate_forward, by what it gave: scores u [t, e] f32, and
/// of routed experts idx [t, k] i64 and weights w [t, k] f32; g = grad_weights [t, k] f32. Negative
/// indices contribute nothing, those of e and above stop the kernel. For each token
///   a[e] = sum of (routed_scaling_factor g[j] - dot) / D(u[idx]) over j with idx[j] = e,
///   dot = sum of g w; and, with h of its sequence and i = 1 / sum(u), or 0 without mask,
///   a[e] += (h[e] - sum(h u) i) i;
///   grad_logits[e] = a[e] (1 - exp(-u[e]^2)) / (2 u[e]), 0 for u = 0.
/// In f32, sums in an order that devices may differ by. grad_logits: [t, e] f32, k from 1 to 32 and
/// at most e.
void moe_topk_gate_backward(const Tensor& scores, const Tensor& idx, const Tensor& weights,
                            const Tensor& grad_weights, const Tensor& grad_logits,
                            const MoeTopkGateBackwardArgs& args = {}, Stream stream = {});

struct NormalizeWeightArgs {
  /// Rows of more than 32 weights are legal, and summed up from left to right, from 1e-20 on.
  bool wide_rows = false;
};

/// denominator[i] = D(weights[i, :]), normalized[i, :] = weights[i, :] / denominator[i].
/// weights, normalized: [t, k] f32; denominator: [t] f32.
void normalize_weight(const Tensor& weights, const Tensor& denominator, const Tensor& normalized,
                      const NormalizeWeightArgs& args = {}, Stream stream = {});

// ---- numbers and counts of experts ----

/// How n experts lie: equally many on each of num_ep_ranks ranks, of which rank r belongs to rank
/// r % num_tp_ranks of tensor parallelism; tp_rank is this one.
struct TpRanks {
  int64_t n, num_ep_ranks, tp_rank, num_tp_ranks;
};

/// out = the experts of this rank, numbered in the order of its ranks r, and -1 for others and for
/// numbers below 0. indices, out: [t, k], both i64 or i32.
void mask_indices_by_tp(const Tensor& indices, const TpRanks& ranks, const Tensor& out,
                        Stream stream = {});

/// From left to right, a group that occurred before in its row becomes -1; numbers below 0 stay as
/// they are. One that is at least num_groups, rounded up to a multiple of 64, stops the kernel.
/// group_indices: [t, k] i64; num_groups: at most 128.
void inplace_unique_group_indices(const Tensor& group_indices, int64_t num_groups,
                                  Stream stream = {});

/// out[g] = how often group g occurs; numbers below 0 are left out, one that is no group stops the
/// kernel. group_idx: [t, k] i64; out: [groups] i32.
void group_count(const Tensor& group_idx, const Tensor& out, Stream stream = {});

/// out[e] = (c * experts) / (t * num_aux_topk), where expert e occurs c < 2^32 times, as in
/// group_count; both products are exact, and rounded to f32 before the division. Without tokens 0.
/// topk_idx: [t, k] i64; out: [experts] f32.
void aux_fi(const Tensor& topk_idx, int64_t num_aux_topk, const Tensor& out, Stream stream = {});

// ---- the fused layout ----

/// The maps of the layout, all i32: of position p the expert, the token i and the pair
/// i * topk + k, of the pair the position; and by expert start, end, and the rows between.
struct FusedMapping {
  Tensor pos_to_expert, pos_to_token, pos_to_token_topk;   // [np]
  Tensor token_topk_to_pos;                                // [t, topk]
  Tensor expert_start, expert_end, num_tokens_per_expert;  // [experts]
};

/// The layout of tokens with experts topk_idx [t, topk] i64, below 0 for none; an expert that there
/// isn't stops the kernel. Ranges follow each other from 0 on, each a multiple of `alignment` long;
/// within one, pairs ascend. The maps of positions are -1 elsewhere, and may have any length:
/// positions behind it are left out, though token_topk_to_pos and start and end tell them.
/// There are 1 to 1024 experts. scratch: i32 of the shape below, for the time of the call.
void get_fused_mapping(const Tensor& topk_idx, int64_t alignment, const FusedMapping& maps,
                       const Tensor& scratch, Stream stream = {});
Shape fused_mapping_scratch(int64_t pairs, int64_t experts);

/// A length of the maps that suffices for any choice of experts, a multiple of the alignment.
inline int64_t most_fused_rows(int64_t pairs, int64_t experts, int64_t alignment) {
  return (pairs + (alignment - 1) * experts) / alignment * alignment;
}

// ---- from tokens to the rows of experts, and back ----

/// out[p, :] = x[i, :] for each p = token_topk_to_pos[i, k], bit for bit; 0 where pos_to_expert[p]
/// is below 0. Rows of which the maps tell neither stay as they are; positions outside out are left
/// out. x: [t, h] of 8, 16 or 32 bits an element; token_topk_to_pos: [t, topk]; pos_to_expert:
/// [np]; out: [np, h] like x.
void expand_to_fused(const Tensor& x, const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                     const Tensor& out, Stream stream = {});

/// The same with scale factors, which are copied along: out_sf[p, :] = sf[i, :], or 0.
/// sf: [t, n] f32, a factor for each `group` columns, 32 or 128; or i32, four exponents in a word.
/// out_sf: [np, n] like sf at any strides.
void expand_to_fused_with_sf(const Tensor& x, const Tensor& sf, int64_t group,
                             const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                             const Tensor& out, const Tensor& out_sf, Stream stream = {});

struct ReduceFusedArgs {
  const Tensor* topk_weights = nullptr;  // [t, topk] f32; null: all 1
  const Tensor* x_sf = nullptr;          // [np] f32, a factor for each row of x
  const Tensor* sf = nullptr;            // [1] f32, a factor for all of out, which is e4m3
};

/// out[i, :] = (sum over k of topk_weights[i, k] * x_sf[p] * x[p, :]) * sf, p =
/// token_topk_to_pos[i, k], without those outside x, whose weights may be anything.
/// From 0 on in the order of k, each term added with one rounding, the other operations rounded to
/// f32 by themselves; then to the nearest of out, e4m3 saturates. x: [np, h] f32, bf16 or e4m3, h a
/// multiple of 256; token_topk_to_pos: [t, topk]; out: [t, h] like x, or e4m3.
void reduce_fused(const Tensor& x, const Tensor& token_topk_to_pos, const Tensor& out,
                  const ReduceFusedArgs& args = {}, Stream stream = {});

}  // namespace tw::kernels
