// tilewright/kernels/moe.h: which experts a token goes to.
#include <cctype>
#include <utility>

#include "bind.h"
#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"

namespace tw::python {
namespace {

/// A result [tokens, columns], which the kernel takes the number of columns from.
Tensor choices(Call& call, const char* f, const char* name, const MaybeArray& out, DType dtype,
               const Shape& shape) {
  const Tensor result = call.output(name, out, dtype, shape);
  kernels::check_shape(f, {name, result}, shape);
  return result;
}

void check_num_topk(const char* f, int64_t num_topk) {
  TW_REQUIRE(num_topk >= 1, "{}: num_topk is {}, it must be at least 1", f, num_topk);
}

void check_scoring(const char* f, const std::string& scoring_func) {
  TW_REQUIRE(scoring_func == "sqrtsoftplus", "{}: scoring_func is '{}', it must be 'sqrtsoftplus'",
             f, scoring_func);
}

/// Shared experts that tokens are sent to like routed ones.
int64_t shared_experts(const char* f, bool use_shared_as_routed, int64_t num_shared_experts) {
  if (!use_shared_as_routed) return 0;
  TW_REQUIRE(num_shared_experts == 1 || num_shared_experts == 2,
             "{}: num_shared_experts is {}, it must be 1 or 2", f, num_shared_experts);
  return num_shared_experts;
}

/// The two entries of `out`, None where it is None.
std::pair<MaybeArray, MaybeArray> entries(const char* f, nb::handle out) {
  MaybeArray idx, weights;
  idx.object = weights.object = nb::none();
  if (out.is_none()) return {idx, weights};
  if (!nb::isinstance<nb::tuple>(out) || nb::len(out) != 2) {
    throw nb::type_error(format("{}: out must be a tuple (topk_idx, topk_weights)", f).c_str());
  }
  idx.object = PyTuple_GetItem(out.ptr(), 0);
  weights.object = PyTuple_GetItem(out.ptr(), 1);
  return {idx, weights};
}

/// An array that the function also writes, but doesn't return.
std::optional<Tensor> updated(Call& call, const char* name, const MaybeArray& array) {
  if (!array) return {};
  return call.output(name, array, std::nullopt, /*returned=*/false);
}

nb::any moe_topk_gate_forward(const Array& logits_, int64_t num_topk, bool use_shared_as_routed,
                              int64_t num_shared_experts, double routed_scaling_factor,
                              int64_t ep_rank, const std::string& scoring_func,
                              const MaybeArray& mask_, const MaybeArray& bias_,
                              const MaybeArray& image_bias_, const MaybeArray& image_token_mask_,
                              const MaybeArray& fix_routing_mask_,
                              const MaybeArray& to_physical_map_, const MaybeArray& logical_count_,
                              const MaybeArray& unmapped_topk_idx_, const MaybeArray& force_random_,
                              nb::handle out, const MaybeArray& scores_) {
  constexpr const char* f = "moe_topk_gate_forward";
  check_scoring(f, scoring_func);
  check_num_topk(f, num_topk);
  Call call(f);
  const Tensor logits = call.input("logits", logits_);
  const auto mask = call.input("mask", mask_), bias = call.input("bias", bias_),
             image_bias = call.input("image_bias", image_bias_),
             image_token_mask = call.input("image_token_mask", image_token_mask_),
             fix_routing_mask = call.input("fix_routing_mask", fix_routing_mask_),
             to_physical_map = call.input("to_physical_map", to_physical_map_),
             logical_count = call.input("logical_count", logical_count_),
             force_random = call.input("force_random", force_random_);
  const auto unmapped_topk_idx = updated(call, "unmapped_topk_idx", unmapped_topk_idx_),
             scores = updated(call, "scores", scores_);
  const int64_t shared = shared_experts(f, use_shared_as_routed, num_shared_experts);
  const Shape shape{dim_or_0(logits, 0), num_topk + shared};
  const auto [idx_, weights_] = entries(f, out);
  const Tensor idx = choices(call, f, "topk_idx", idx_, i64, shape),
               weights = choices(call, f, "topk_weights", weights_, f32, shape);
  call.run([&](Stream stream) {
    kernels::moe_topk_gate_forward(
        logits, idx, weights,
        {.num_shared_experts = shared,
         .routed_scaling_factor = static_cast<float>(routed_scaling_factor),
         .mask = pointer(mask),
         .bias = pointer(bias),
         .image_bias = pointer(image_bias),
         .image_token_mask = pointer(image_token_mask),
         .fix_routing_mask = pointer(fix_routing_mask),
         .to_physical_map = pointer(to_physical_map),
         .logical_count = pointer(logical_count),
         .ep_rank = ep_rank,
         .unmapped_topk_idx = pointer(unmapped_topk_idx),
         .force_random = pointer(force_random),
         .scores = pointer(scores)},
        stream);
  });
  return call.result();
}

/// A scoring function by its name, in any case.
kernels::Scoring scoring_named(const char* f, std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "sigmoid") return kernels::Scoring::sigmoid;
  if (name == "sqrtsoftplus") return kernels::Scoring::sqrtsoftplus;
  TW_REQUIRE(name == "softmax",
             "{}: scoring_func is '{}', it must be 'sigmoid', 'sqrtsoftplus' or 'softmax'", f,
             name);
  return kernels::Scoring::softmax;
}

nb::any top2_sum_gate(const Array& logits_, const Array& bias_, int64_t num_topk,
                      int64_t num_topk_groups, int64_t num_groups, bool use_shared_as_routed,
                      int64_t num_shared_experts, double routed_scaling_factor, int64_t ep_rank,
                      int64_t num_ep_ranks, int64_t tp_rank, int64_t num_tp_ranks,
                      const std::string& scoring_func, const MaybeArray& mask_,
                      const MaybeArray& fix_routing_mask_, const MaybeArray& to_physical_map_,
                      const MaybeArray& logical_count_, const MaybeArray& unmapped_topk_idx_,
                      nb::handle out) {
  constexpr const char* f = "top2_sum_gate";
  const kernels::Scoring scoring = scoring_named(f, scoring_func);
  check_num_topk(f, num_topk);
  Call call(f);
  const Tensor logits = call.input("logits", logits_), bias = call.input("bias", bias_);
  const auto mask = call.input("mask", mask_),
             fix_routing_mask = call.input("fix_routing_mask", fix_routing_mask_),
             to_physical_map = call.input("to_physical_map", to_physical_map_),
             logical_count = call.input("logical_count", logical_count_);
  const auto unmapped_topk_idx = updated(call, "unmapped_topk_idx", unmapped_topk_idx_);
  const int64_t shared = shared_experts(f, use_shared_as_routed, num_shared_experts);
  const Shape shape{dim_or_0(logits, 0), num_topk + shared};
  const auto [idx_, weights_] = entries(f, out);
  const Tensor idx = choices(call, f, "topk_idx", idx_, i64, shape),
               weights = choices(call, f, "topk_weights", weights_, f32, shape);
  call.run([&](Stream stream) {
    kernels::top2_sum_gate(logits, bias, idx, weights,
                           {.scoring = scoring,
                            .num_groups = num_groups,
                            .num_topk_groups = num_topk_groups,
                            .num_shared_experts = shared,
                            .routed_scaling_factor = static_cast<float>(routed_scaling_factor),
                            .ep_rank = ep_rank,
                            .num_ep_ranks = num_ep_ranks,
                            .tp_rank = tp_rank,
                            .num_tp_ranks = num_tp_ranks,
                            .mask = pointer(mask),
                            .fix_routing_mask = pointer(fix_routing_mask),
                            .to_physical_map = pointer(to_physical_map),
                            .logical_count = pointer(logical_count),
                            .unmapped_topk_idx = pointer(unmapped_topk_idx)},
                           stream);
  });
  return call.result();
}

nb::any moe_topk_gate_backward(const Array& scores_, const Array& topk_idx,
                               const Array& topk_weights, const Array& grad_topk_weights,
                               double routed_scaling_factor, const std::string& scoring_func,
                               const MaybeArray& mask_, const MaybeArray& grad_scores_sum,
                               const MaybeArray& out) {
  constexpr const char* f = "moe_topk_gate_backward";
  check_scoring(f, scoring_func);
  Call call(f);
  const Tensor scores = call.input("scores", scores_), idx = call.input("topk_idx", topk_idx),
               weights = call.input("topk_weights", topk_weights),
               grad_weights = call.input("grad_topk_weights", grad_topk_weights);
  const auto mask = call.input("mask", mask_),
             sums = call.input("grad_scores_sum", grad_scores_sum);
  const Tensor grad_logits = call.output("out", out, f32, scores.shape());
  call.run([&](Stream stream) {
    kernels::moe_topk_gate_backward(
        scores, idx, weights, grad_weights, grad_logits,
        {.routed_scaling_factor = static_cast<float>(routed_scaling_factor),
         .grad_scores_sum = pointer(sums),
         .mask = pointer(mask)},
        stream);
  });
  return call.result();
}

}  // namespace

void bind_moe_gate(nb::module_& m) {
  m.def(
      "topk_gate",
      [](const Array& scores_, int64_t num_topk, const MaybeArray& out) {
        constexpr const char* f = "topk_gate";
        check_num_topk(f, num_topk);
        Call call(f);
        const Tensor scores = call.input("scores", scores_);
        const Tensor idx = choices(call, f, "out", out, i64, {dim_or_0(scores, 0), num_topk});
        call.run([&](Stream stream) { kernels::topk_gate(scores, idx, stream); });
        return call.result();
      },
      "scores"_a, "num_topk"_a, nb::kw_only(), "out"_a = nb::none(),
      "The num_topk <= 32 experts with the highest scores of each token, in order, i64\n"
      "[tokens, num_topk]; of equal ones the lower comes first. scores: f32 [tokens, experts], "
      "all\n"
      "finite.");
  m.def(
      "topk_sum_and_topk_group_idx",
      [](const Array& scores_, int64_t num_topk_sum, int64_t num_topk_groups,
         const MaybeArray& out) {
        constexpr const char* f = "topk_sum_and_topk_group_idx";
        TW_REQUIRE(num_topk_groups >= 1, "{}: num_topk_groups is {}, it must be at least 1", f,
                   num_topk_groups);
        Call call(f);
        const Tensor scores = call.input("scores", scores_);
        const Tensor idx =
            choices(call, f, "out", out, i64, {dim_or_0(scores, 0), num_topk_groups});
        call.run([&](Stream stream) {
          kernels::topk_sum_and_topk_group_idx(scores, num_topk_sum, idx, stream);
        });
        return call.result();
      },
      "scores"_a, "num_topk_sum"_a, "num_topk_groups"_a, nb::kw_only(), "out"_a = nb::none(),
      "The num_topk_groups best groups of experts of each token, in order, i64, by the highest of\n"
      "their scores (num_topk_sum 1) or the sum of the highest two (2). scores: f32 [tokens,\n"
      "groups, experts of a group].");
  m.def(
      "top2_sum_gate", &top2_sum_gate, "logits"_a, "bias"_a, "num_topk"_a, "num_topk_groups"_a,
      "num_groups"_a, "use_shared_as_routed"_a, "num_shared_experts"_a, "routed_scaling_factor"_a,
      "ep_rank"_a, "num_ep_ranks"_a, "tp_rank"_a, "num_tp_ranks"_a, "scoring_func"_a,
      "mask"_a = nb::none(), "fix_routing_mask"_a = nb::none(), "to_physical_map"_a = nb::none(),
      "logical_count"_a = nb::none(), "unmapped_topk_idx"_a = nb::none(), nb::kw_only(),
      "out"_a = nb::none(),
      "(topk_idx, topk_weights): the num_topk experts of each token with the highest keys, of the\n"
      "num_topk_groups groups with the highest sums of two keys. scoring_func: 'sigmoid',\n"
      "'sqrtsoftplus' or 'softmax'; keys are scores + bias, or logits + bias of softmax.\n"
      "topk_idx is as mask_indices_by_tp numbers experts. Else as moe_topk_gate_forward.");
  m.def(
      "moe_topk_gate_forward", &moe_topk_gate_forward, "logits"_a, "num_topk"_a,
      "use_shared_as_routed"_a, "num_shared_experts"_a, "routed_scaling_factor"_a, "ep_rank"_a,
      "scoring_func"_a = "sqrtsoftplus", "mask"_a = nb::none(), "bias"_a = nb::none(),
      "image_bias"_a = nb::none(), "image_token_mask"_a = nb::none(),
      "fix_routing_mask"_a = nb::none(), "to_physical_map"_a = nb::none(),
      "logical_count"_a = nb::none(), "unmapped_topk_idx"_a = nb::none(),
      "force_random"_a = nb::none(), "out"_a = nb::none(), "scores"_a = nb::none(),
      "(topk_idx, topk_weights): the num_topk experts of each token with the highest\n"
      "sqrt(softplus(logits)) + bias, and their scores without bias, divided by the sum of these\n"
      "and multiplied by routed_scaling_factor; with use_shared_as_routed also the shared\n"
      "experts, with weight 1. logits: f32 [tokens, experts]. mask: tokens without it get -1 and\n"
      "0. image_bias takes the place of bias where image_token_mask is true. fix_routing_mask:\n"
      "tokens whose experts unmapped_topk_idx gives, which also gets those of the others.\n"
      "to_physical_map, logical_count: the places of each expert's duplicates. force_random:\n"
      "tokens that get any experts and weights. scores: gets the scores. out: (topk_idx,\n"
      "topk_weights).");
  m.def(
      "moe_topk_gate_backward", &moe_topk_gate_backward, "scores"_a, "topk_idx"_a, "topk_weights"_a,
      "grad_topk_weights"_a, "routed_scaling_factor"_a, "scoring_func"_a = "sqrtsoftplus",
      "mask"_a = nb::none(), "grad_scores_sum"_a = nb::none(), "out"_a = nb::none(),
      "The gradient of the logits of moe_topk_gate_forward, f32 [tokens, experts], by its scores\n"
      "and its logical topk_idx and topk_weights of routed experts. grad_scores_sum [sequences,\n"
      "experts] adds that of a loss on the sums of each sequence's scores / their sum, of tokens\n"
      "with mask.");
  m.def(
      "normalize_weight",
      [](const Array& topk_weights, bool wide_rows, const MaybeArray& out) {
        Call call("normalize_weight");
        const Tensor weights = call.input("topk_weights", topk_weights);
        const Tensor denominator = call.new_output(f32, {dim_or_0(weights, 0)});
        const Tensor normalized = call.output("out", out, f32, weights.shape());
        call.run([&](Stream stream) {
          kernels::normalize_weight(weights, denominator, normalized, {.wide_rows = wide_rows},
                                    stream);
        });
        return call.result();
      },
      "topk_weights"_a, nb::kw_only(), "wide_rows"_a = false, "out"_a = nb::none(),
      "(denominator, normalized_weights): the sum of each token's weights, by a tree, plus 1e-20,\n"
      "and the weights divided by it. topk_weights: f32 [tokens, at most 32]; with wide_rows "
      "there\n"
      "may be more, which are summed up from left to right. out: the normalized weights.");
}

}  // namespace tw::python
