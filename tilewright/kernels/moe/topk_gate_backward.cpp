// grad_logits = the gradient of moe_topk_gate_forward, and of a loss on the sums of scores; the
// formulas are in moe.h.
// Memory bound: scores are read once, gradients written once.
#include "tilewright/base/format.h"
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/kernels/moe/weights.h"
#include "tilewright/kernels/select/best.h"

namespace tw::kernels {
namespace {

/// d sqrt(softplus(x)) / dx, of y = sqrt(softplus(x)): (1 - exp(-y^2)) / (2 y). For small y the
/// difference would lose bits; its series ends with an error below 2^-22 for y^2 < 1/2.
Expr derivative(const Expr& y) {
  const Expr v = let(y * y);
  Expr series = 1.0F / 5040;
  for (const float term : {-1.0F / 720, 1.0F / 120, -1.0F / 24, 1.0F / 6, -0.5F, 1.0F}) {
    series = fma(series, v, term);
  }
  return select(v < 0.5F, 0.5F * y * series, (1.0F - fast::exp(-v)) * fast::rcp(2.0F * y));
}

// A row's experts are dealt out to lists, as where they are chosen.
void dataflow(Builder& k) {
  const Expr t = k.dim("t");
  const int64_t e = k.constant("e"), count = k.constant("k"), rows = k.tunable("rows", 1);
  const bool aux = k.constant("aux") != 0;  // a loss on scores
  const int64_t lists = lists_of(e), length = lang::cdiv(e, lists);
  const auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  const Buffer scores = k.input("scores", f32, {t, e});
  const Buffer idx = k.input("idx", i64, {t, count});
  const Buffer weights = k.input("weights", f32, {t, count});
  const Buffer grad = k.input("grad_weights", f32, {t, count});
  const Expr scale = k.scalar("routed_scaling_factor", f32);
  Buffer mask, grad_sum;
  Expr sequences;
  if (aux) {
    sequences = k.dim("sequences");
    mask = k.input("mask", bool_, {t});
    grad_sum = k.input("grad_scores_sum", f32, {sequences, e});
  }
  const Buffer out = k.output("grad_logits", f32, {t, e});
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);

    // 1. What the weight of each chosen expert hands on.
    const Buffer score = fragment(f32, {rows, width}, "score");
    const Buffer product = fragment(f32, {rows, width}, "product");
    const Buffer expert = shared(i32, {rows, width}, "expert");
    const Buffer share = shared(f32, {rows, width}, "share");
    parallel({rows, width}, [&](Expr i, Expr r) {
      const Expr at = row + i, chosen = let(if_else(r < count, idx(at, r), -1));
      device_assert(chosen < e, "moe_topk_gate_backward: no such expert of this token",
                    {at, chosen});
      const Expr exists = let(chosen >= 0);
      expert(i, r) = select(exists, cast(chosen, i32), -1);
      score(i, r) = scores(at, chosen);  // 0 for none
      product(i, r) = if_else(exists, grad(at, r) * weights(at, r), 0.0F);
    });
    const Buffer sum = denominator(value(score)).fragment();
    const Buffer dot = tree_sum(value(product)).fragment();
    parallel({rows, width}, [&](Expr i, Expr r) {
      share(i, r) = (scale * grad(row + i, r) - dot(i, 0)) / sum(i, 0);
    });

    // 2. What the loss on scores does.
    std::vector<Buffer> u, h;
    for (int64_t c = 0; c < length; ++c) {
      u.push_back(fragment(f32, {rows, lists}, format("u_{}", c)));
      if (aux) h.push_back(fragment(f32, {rows, lists}, format("h_{}", c)));
    }
    const Buffer of_u = fragment(f32, {rows, lists}, "of_u");
    const Buffer of_hu = fragment(f32, {rows, lists}, "of_hu");
    parallel({rows, lists}, [&](Expr i, Expr l) {
      Expr sum_u = 0.0F, sum_hu = 0.0F;
      const Expr sequence = aux ? let((row + i) / (t / sequences)) : Expr();
      for (size_t c = 0; c < u.size(); ++c) {
        const Expr column = l + static_cast<int64_t>(c) * lists;
        const Expr y = let(scores(row + i, column));
        u[c](i, l) = y;
        if (!aux) continue;
        const Expr of_h = let(grad_sum(sequence, column));
        h[c](i, l) = of_h;
        sum_u = sum_u + y;
        sum_hu = fma(of_h, y, sum_hu);
      }
      if (!aux) return;
      of_u(i, l) = sum_u;
      of_hu(i, l) = sum_hu;
    });
    const Buffer inverse = fragment(f32, {rows, 1}, "inverse");
    const Buffer mean = fragment(f32, {rows, 1}, "mean");
    if (aux) {
      reduce_sum(of_u, inverse, 1);
      reduce_sum(of_hu, mean, 1);
      parallel({rows, 1}, [&](Expr i, Expr j) {
        inverse(i, j) = if_else(mask(row + i), 1.0F / inverse(i, j), 0.0F);
        mean(i, j) = mean(i, j) * inverse(i, j);
      });
    }

    // 3. Each expert collects what is its own.
    parallel({rows, lists}, [&](Expr i, Expr l) {
      for (size_t c = 0; c < u.size(); ++c) {
        const Expr column = l + static_cast<int64_t>(c) * lists;
        Expr a = 0.0F;
        for (int64_t r = 0; r < count; ++r) {
          a = let(select(expert(i, r) == column, a + share(i, r), a));
        }
        if (aux) a = a + (h[c](i, l) - mean(i, 0)) * inverse(i, 0);
        out(row + i, column) = a * derivative(u[c](i, l));
      }
    });
  });
}

const Jit& kernel() {
  static const Jit jit(define_kernel("moe_topk_gate_backward", dataflow)
                           .schedule("cuda", [](Schedule& s, const Case& c) {
                             s.threads(128).set("rows", rows_of_block(lists_of(c.constant("e"))));
                           }));
  return jit;
}

}  // namespace

void moe_topk_gate_backward(const Tensor& scores, const Tensor& idx, const Tensor& weights,
                            const Tensor& grad_weights, const Tensor& grad_logits,
                            const MoeTopkGateBackwardArgs& args, Stream stream) {
  constexpr const char* f = "moe_topk_gate_backward";
  check_rank(f, {"scores", scores}, 2);
  check_dtype(f, {"scores", scores}, {f32});
  check_rank(f, {"topk_idx", idx}, 2);
  check_dtype(f, {"topk_idx", idx}, {i64});
  const int64_t t = scores.dim(0), e = scores.dim(1), k = idx.dim(1);
  const int64_t most = std::min(e, kMostChoices);
  TW_REQUIRE(k >= 1 && k <= most, "{}: topk_idx is {}, it must have 1 to {} columns for {} experts",
             f, idx, most, e);
  check_shape(f, {"topk_idx", idx}, {t, k}, "[tokens, num_topk]");
  for (const Named& n : {Named{"topk_weights", weights}, {"grad_topk_weights", grad_weights}}) {
    check_dtype(f, n, {f32});
    check_shape(f, n, {t, k}, "like topk_idx");
  }
  check_like(f, {"grad_logits", grad_logits}, {"scores", scores});
  const MaybeNamed sums{"grad_scores_sum", args.grad_scores_sum}, mask{"mask", args.mask};
  check_both(f, sums, mask);
  check_optional(f, mask, bool_, {t}, "[tokens]");
  const bool aux = sums.tensor != nullptr;
  if (aux) {
    check_rank(f, {sums.name, *sums.tensor}, 2);
    const int64_t sequences = sums.tensor->dim(0);
    check_optional(f, sums, f32, {sequences, e}, "[sequences, experts]");
    TW_REQUIRE(sequences >= 1 && t % sequences == 0,
               "{}: grad_scores_sum is {}, the number of sequences must divide that of {} tokens",
               f, *sums.tensor, t);
  }
  const Kernel& compiled =
      kernel()({}, {{"e", e}, {"k", k}, {"aux", aux ? 1 : 0}}, scores.device().kind);
  const float scale = args.routed_scaling_factor;
  if (aux) {
    return compiled.launch(stream, {scores, idx, weights, grad_weights, scale, *args.mask,
                                    *args.grad_scores_sum, grad_logits});
  }
  compiled.launch(stream, {scores, idx, weights, grad_weights, scale, grad_logits});
}

}  // namespace tw::kernels
