#include "tilewright/capi/moe.h"

#include <algorithm>

#include "tilewright/capi/border.h"
#include "tilewright/kernels/moe.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::or_default;
using capi::Reader;

namespace {

kernels::MoeTopkGateArgs read_args(Reader& read, const tw_moe_topk_gate_args* given) {
  const tw_moe_topk_gate_args c = args_or_default(given);
  kernels::MoeTopkGateArgs args;
  args.num_shared_experts = c.num_shared_experts;
  args.routed_scaling_factor = or_default(c.routed_scaling_factor, args.routed_scaling_factor);
  args.mask = read.optional("mask", c.mask);
  args.bias = read.optional("bias", c.bias);
  args.image_bias = read.optional("image_bias", c.image_bias);
  args.image_token_mask = read.optional("image_token_mask", c.image_token_mask);
  args.fix_routing_mask = read.optional("fix_routing_mask", c.fix_routing_mask);
  args.to_physical_map = read.optional("to_physical_map", c.to_physical_map);
  args.logical_count = read.optional("logical_count", c.logical_count);
  args.ep_rank = c.ep_rank;
  args.unmapped_topk_idx = read.optional("unmapped_topk_idx", c.unmapped_topk_idx);
  args.force_random = read.optional("force_random", c.force_random);
  args.scores = read.optional("scores", c.scores);
  return args;
}

kernels::Top2SumGateArgs read_args(Reader& read, const tw_top2_sum_gate_args* given) {
  const tw_top2_sum_gate_args c = args_or_default(given);
  kernels::Top2SumGateArgs args;
  args.scoring = read.choice("scoring", c.scoring, kernels::Scoring::softmax);
  args.num_groups = c.num_groups;
  args.num_topk_groups = c.num_topk_groups;
  args.num_shared_experts = c.num_shared_experts;
  args.routed_scaling_factor = or_default(c.routed_scaling_factor, args.routed_scaling_factor);
  args.ep_rank = c.ep_rank;
  args.num_ep_ranks = or_default(c.num_ep_ranks, args.num_ep_ranks);
  args.tp_rank = c.tp_rank;
  args.num_tp_ranks = or_default(c.num_tp_ranks, args.num_tp_ranks);
  args.mask = read.optional("mask", c.mask);
  args.fix_routing_mask = read.optional("fix_routing_mask", c.fix_routing_mask);
  args.to_physical_map = read.optional("to_physical_map", c.to_physical_map);
  args.logical_count = read.optional("logical_count", c.logical_count);
  args.unmapped_topk_idx = read.optional("unmapped_topk_idx", c.unmapped_topk_idx);
  return args;
}

kernels::MoeTopkGateBackwardArgs read_args(Reader& read,
                                           const tw_moe_topk_gate_backward_args* given) {
  const tw_moe_topk_gate_backward_args c = args_or_default(given);
  kernels::MoeTopkGateBackwardArgs args;
  args.routed_scaling_factor = or_default(c.routed_scaling_factor, args.routed_scaling_factor);
  args.grad_scores_sum = read.optional("grad_scores_sum", c.grad_scores_sum);
  args.mask = read.optional("mask", c.mask);
  return args;
}

kernels::NormalizeWeightArgs read_args(const tw_normalize_weight_args* given) {
  const tw_normalize_weight_args c = args_or_default(given);
  kernels::NormalizeWeightArgs args;
  args.wide_rows = c.wide_rows;
  return args;
}

kernels::ReduceFusedArgs read_args(Reader& read, const tw_reduce_fused_args* given) {
  const tw_reduce_fused_args c = args_or_default(given);
  kernels::ReduceFusedArgs args;
  args.topk_weights = read.optional("topk_weights", c.topk_weights);
  args.x_sf = read.optional("x_sf", c.x_sf);
  args.sf = read.optional("sf", c.sf);
  return args;
}

void check_sizes(const char* function, int64_t pairs, int64_t experts) {
  const auto is_legal = [](int64_t count) { return 0 <= count && count <= INT32_MAX; };
  TW_REQUIRE(is_legal(pairs) && is_legal(experts),
             "{}: there are {} pairs and {} experts, each must be from 0 to {}", function, pairs,
             experts, INT32_MAX);
}

}  // namespace

tw_status tw_topk_gate(const tw_tensor* scores, const tw_tensor* idx, tw_stream stream) {
  return guarded("topk_gate", [&](Reader& read) {
    kernels::topk_gate(read("scores", scores), read("idx", idx), Stream{stream});
  });
}

tw_status tw_topk_sum_and_topk_group_idx(const tw_tensor* scores, int64_t num_topk_sum,
                                         const tw_tensor* idx, tw_stream stream) {
  return guarded("topk_sum_and_topk_group_idx", [&](Reader& read) {
    kernels::topk_sum_and_topk_group_idx(read("scores", scores), num_topk_sum, read("idx", idx),
                                         Stream{stream});
  });
}

tw_status tw_moe_topk_gate_forward(const tw_tensor* logits, const tw_tensor* idx,
                                   const tw_tensor* weights, const tw_moe_topk_gate_args* args,
                                   tw_stream stream) {
  return guarded("moe_topk_gate_forward", [&](Reader& read) {
    kernels::moe_topk_gate_forward(read("logits", logits), read("idx", idx),
                                   read("weights", weights), read_args(read, args), Stream{stream});
  });
}

tw_status tw_top2_sum_gate(const tw_tensor* logits, const tw_tensor* bias, const tw_tensor* idx,
                           const tw_tensor* weights, const tw_top2_sum_gate_args* args,
                           tw_stream stream) {
  return guarded("top2_sum_gate", [&](Reader& read) {
    kernels::top2_sum_gate(read("logits", logits), read("bias", bias), read("idx", idx),
                           read("weights", weights), read_args(read, args), Stream{stream});
  });
}

tw_status tw_moe_topk_gate_backward(const tw_tensor* scores, const tw_tensor* idx,
                                    const tw_tensor* weights, const tw_tensor* grad_weights,
                                    const tw_tensor* grad_logits,
                                    const tw_moe_topk_gate_backward_args* args, tw_stream stream) {
  return guarded("moe_topk_gate_backward", [&](Reader& read) {
    kernels::moe_topk_gate_backward(read("scores", scores), read("idx", idx),
                                    read("weights", weights), read("grad_weights", grad_weights),
                                    read("grad_logits", grad_logits), read_args(read, args),
                                    Stream{stream});
  });
}

tw_status tw_normalize_weight(const tw_tensor* weights, const tw_tensor* denominator,
                              const tw_tensor* normalized, const tw_normalize_weight_args* args,
                              tw_stream stream) {
  return guarded("normalize_weight", [&](Reader& read) {
    kernels::normalize_weight(read("weights", weights), read("denominator", denominator),
                              read("normalized", normalized), read_args(args), Stream{stream});
  });
}

tw_status tw_mask_indices_by_tp(const tw_tensor* indices, const tw_tp_ranks* ranks,
                                const tw_tensor* out, tw_stream stream) {
  return guarded("mask_indices_by_tp", [&](Reader& read) {
    const tw_tp_ranks& r = read.required("ranks", ranks);
    kernels::mask_indices_by_tp(read("indices", indices),
                                {r.n, r.num_ep_ranks, r.tp_rank, r.num_tp_ranks}, read("out", out),
                                Stream{stream});
  });
}

tw_status tw_inplace_unique_group_indices(const tw_tensor* group_indices, int64_t num_groups,
                                          tw_stream stream) {
  return guarded("inplace_unique_group_indices", [&](Reader& read) {
    kernels::inplace_unique_group_indices(read("group_indices", group_indices), num_groups,
                                          Stream{stream});
  });
}

tw_status tw_group_count(const tw_tensor* group_idx, const tw_tensor* out, tw_stream stream) {
  return guarded("group_count", [&](Reader& read) {
    kernels::group_count(read("group_idx", group_idx), read("out", out), Stream{stream});
  });
}

tw_status tw_aux_fi(const tw_tensor* topk_idx, int64_t num_aux_topk, const tw_tensor* out,
                    tw_stream stream) {
  return guarded("aux_fi", [&](Reader& read) {
    kernels::aux_fi(read("topk_idx", topk_idx), num_aux_topk, read("out", out), Stream{stream});
  });
}

tw_status tw_get_fused_mapping(const tw_tensor* topk_idx, int64_t alignment,
                               const tw_fused_mapping* maps, const tw_tensor* scratch,
                               tw_stream stream) {
  return guarded("get_fused_mapping", [&](Reader& read) {
    const tw_fused_mapping& m = read.required("maps", maps);
    kernels::get_fused_mapping(
        read("topk_idx", topk_idx), alignment,
        {.pos_to_expert = read("pos_to_expert", m.pos_to_expert),
         .pos_to_token = read("pos_to_token", m.pos_to_token),
         .pos_to_token_topk = read("pos_to_token_topk", m.pos_to_token_topk),
         .token_topk_to_pos = read("token_topk_to_pos", m.token_topk_to_pos),
         .expert_start = read("expert_start", m.expert_start),
         .expert_end = read("expert_end", m.expert_end),
         .num_tokens_per_expert = read("num_tokens_per_expert", m.num_tokens_per_expert)},
        read("scratch", scratch), Stream{stream});
  });
}

tw_status tw_fused_mapping_scratch(int64_t pairs, int64_t experts, tw_tensor* scratch) {
  return guarded("fused_mapping_scratch", [&](Reader& read) {
    read.required("scratch", scratch);
    check_sizes("fused_mapping_scratch", pairs, experts);
    const Shape shape = kernels::fused_mapping_scratch(pairs, experts);
    scratch->dtype = TW_I32;
    scratch->rank = shape.rank();
    std::copy(shape.begin(), shape.end(), scratch->shape);
  });
}

tw_status tw_most_fused_rows(int64_t pairs, int64_t experts, int64_t alignment, int64_t* rows) {
  return guarded("most_fused_rows", [&](Reader& read) {
    read.required("rows", rows);
    check_sizes("most_fused_rows", pairs, experts);
    TW_REQUIRE(alignment >= 1 && alignment <= INT32_MAX,
               "most_fused_rows: alignment is {}, it must be from 1 to {}", alignment, INT32_MAX);
    *rows = kernels::most_fused_rows(pairs, experts, alignment);
  });
}

tw_status tw_expand_to_fused(const tw_tensor* x, const tw_tensor* token_topk_to_pos,
                             const tw_tensor* pos_to_expert, const tw_tensor* out,
                             tw_stream stream) {
  return guarded("expand_to_fused", [&](Reader& read) {
    kernels::expand_to_fused(read("x", x), read("token_topk_to_pos", token_topk_to_pos),
                             read("pos_to_expert", pos_to_expert), read("out", out),
                             Stream{stream});
  });
}

tw_status tw_expand_to_fused_with_sf(const tw_tensor* x, const tw_tensor* sf, int64_t group,
                                     const tw_tensor* token_topk_to_pos,
                                     const tw_tensor* pos_to_expert, const tw_tensor* out,
                                     const tw_tensor* out_sf, tw_stream stream) {
  return guarded("expand_to_fused_with_sf", [&](Reader& read) {
    kernels::expand_to_fused_with_sf(read("x", x), read("sf", sf), group,
                                     read("token_topk_to_pos", token_topk_to_pos),
                                     read("pos_to_expert", pos_to_expert), read("out", out),
                                     read("out_sf", out_sf), Stream{stream});
  });
}

tw_status tw_reduce_fused(const tw_tensor* x, const tw_tensor* token_topk_to_pos,
                          const tw_tensor* out, const tw_reduce_fused_args* args,
                          tw_stream stream) {
  return guarded("reduce_fused", [&](Reader& read) {
    kernels::reduce_fused(read("x", x), read("token_topk_to_pos", token_topk_to_pos),
                          read("out", out), read_args(read, args), Stream{stream});
  });
}
