// tilewright/kernels/moe.h: which experts a token goes to.
#include "bind.h"
#include "tilewright/kernels/moe.h"

namespace tw::python {

void bind_moe_gate(nb::module_& m) {
  m.def(
      "topk_gate",
      [](const Array& scores_, int64_t num_topk, const MaybeArray& out) {
        Call call("topk_gate");
        const Tensor scores = call.input("scores", scores_);
        const Tensor idx =
            call.output("out", out, i64, {dim_or_0(scores, 0), std::max<int64_t>(num_topk, 0)});
        call.run([&](Stream stream) { kernels::topk_gate(scores, idx, stream); });
        return call.result();
      },
      "scores"_a, "num_topk"_a, nb::kw_only(), "out"_a = nb::none(),
      "The num_topk <= 32 experts with the highest scores of each token, in order, i64\n"
      "[tokens, num_topk]; of equal ones the lower comes first. scores: f32 [tokens, experts], "
      "all\n"
      "finite.");
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
