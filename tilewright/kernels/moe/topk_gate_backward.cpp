// grad_logits = the gradient of moe_topk_gate_forward, and of a loss on the sums of scores; the
// formulas are in moe.h.
// Memory bound: scores are read once, gradients written once.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/kernels/moe/weights.h"

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
  const Expr low = let(0.5F * y * series), high = let((1.0F - fast::exp(-v)) * fast::rcp(2.0F * y));
  return select(v < 0.5F, low, high);
}

/// A row lies in strips of so many columns: the threads of a warp, or of several, have four of
/// each, and at most eight strips.
int64_t strip_of(int64_t e) {
  const auto up = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  return e <= 128 ? up(e) : 128 * up(lang::cdiv(e, 1024));
}

constexpr int64_t kMostGathered = 4096;  // experts of which shared memory has a row

// What slots hand on is gathered in a row of all experts; where that is too long, each expert looks
// through all slots.
void dataflow(Builder& k) {
  const Expr t = k.dim("t");
  const int64_t e = k.constant("e"), count = k.constant("k"), rows = k.tunable("rows", 1);
  const bool aux = k.constant("aux") != 0;  // a loss on scores
  const bool gathers = e <= kMostGathered;
  const int64_t strip = strip_of(e), parts = lang::cdiv(e, strip);
  const auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  const Buffer scores = k.input("scores", f32, {t, e});
  const Buffer idx = k.input("idx", i64, {t, count});
  const Buffer weights = k.input("weights", f32, {t, count});
  const Buffer grad = k.input("grad_weights", f32, {t, count});
  const Expr scale = k.scalar("routed_scaling_factor", f32);
  Buffer mask, grad_sum;
  Expr tokens;  // of a sequence
  if (aux) {
    tokens = k.scalar("tokens", u32);
    mask = k.input("mask", bool_, {t});
    grad_sum = k.input("grad_scores_sum", f32, {k.dim("sequences"), e});
  }
  const Buffer out = k.output("grad_logits", f32, {t, e});
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const lang::Extents box = {parts, rows, strip};
    const auto experts = [&](const auto& f) {
      parallel(box, [&](Expr p, Expr i, Expr j) { f(p, i, j, p * strip + j); });
    };

    // 1. What there is of slots and of experts, all of it on its way together.
    const Buffer slot = fragment(i64, {rows, width}, "slot");
    const Buffer g = fragment(f32, {rows, width}, "g");
    const Buffer product = fragment(f32, {rows, width}, "product");
    parallel({rows, width}, [&](Expr i, Expr r) {
      const Expr at = row + i, here = r < count;
      slot(i, r) = if_else(here, idx(at, r), -1);
      g(i, r) = grad(at, r);
      product(i, r) = if_else(here, weights(at, r), 0.0F);
    });
    const Buffer y = fragment(f32, box, "y");
    experts([&](const Expr& p, const Expr& i, const Expr& j, const Expr& column) {
      y(p, i, j) = scores(min(row + i, t - 1), column);
    });
    Buffer h;
    if (aux) {
      h = fragment(f32, box, "h");
      experts([&](const Expr& p, const Expr& i, const Expr& j, const Expr& column) {
        h(p, i, j) = grad_sum(cast(cast(row + i, u32) / tokens, i64), column);
      });
    }
    Buffer here, gathered;
    if (gathers) {
      here = shared(f32, {rows, parts * strip}, "here");
      gathered = shared(f32, {rows, parts * strip}, "gathered");
      experts([&](const Expr& p, const Expr& i, const Expr& j, const Expr& column) {
        here(i, column) = y(p, i, j);
      });
      clear(gathered);
    }

    // 2. What the weight of each chosen expert hands on.
    const Buffer score = fragment(f32, {rows, width}, "score");
    const Buffer expert = shared(i32, {rows, width}, "expert");
    const Buffer share = shared(f32, {rows, width}, "share");
    parallel({rows, width}, [&](Expr i, Expr r) {
      const Expr chosen = let(slot(i, r));
      device_assert(chosen < e, "moe_topk_gate_backward: no such expert of this token",
                    {row + i, chosen});
      const Expr exists = let(chosen >= 0);
      expert(i, r) = select(exists, cast(chosen, i32), -1);
      score(i, r) =
          gathers ? if_else(exists, here(i, chosen), 0.0F) : Expr(scores(row + i, chosen));
      product(i, r) = select(exists, g(i, r) * product(i, r), 0.0F);
    });
    const Buffer sum = denominator(value(score)).fragment();
    const Buffer dot = tree_sum(value(product)).fragment();
    parallel({rows, width}, [&](Expr i, Expr r) {
      share(i, r) = (scale * g(i, r) - dot(i, 0)) * fast::rcp(sum(i, 0));
    });
    const auto shares_of = [&](const Expr& i, const Expr& wanted) {
      Expr all = 0.0F;
      for (int64_t r = 0; r < count; ++r) {
        all = let(select(expert(i, r) == wanted, all + share(i, r), all));
      }
      return all;
    };
    if (gathers) {  // by the first slot of each expert
      parallel({rows, width}, [&](Expr i, Expr r) {
        const Expr own = let(expert(i, r)), all = shares_of(i, own);
        Expr first = own >= 0;
        for (int64_t before = 0; before + 1 < count; ++before) {
          first = first & ((before >= r) | (expert(i, before) != own));
        }
        if_(first, [&] { gathered(i, own) = all; });
      });
    }

    // 3. What the loss on scores does.
    const Buffer inverse = fragment(f32, {rows, 1}, "inverse");
    const Buffer mean = fragment(f32, {rows, 1}, "mean");
    if (aux) {
      const auto of_row = [&](const Tile& x, const Buffer& to) {
        copy(reshape(lang::sum(lang::sum(x, 0), 2), {rows, 1}).fragment(), to);
      };
      of_row(value(y), inverse);
      of_row(value(h) * value(y), mean);
      parallel({rows, 1}, [&](Expr i, Expr j) {
        inverse(i, j) = select(mask(row + i), fast::rcp(inverse(i, j)), 0.0F);
        mean(i, j) = mean(i, j) * inverse(i, j);
      });
    }

    // 4. Each expert collects what is its own.
    experts([&](const Expr& p, const Expr& i, const Expr& j, const Expr& column) {
      Expr a = gathers ? Expr(gathered(i, column)) : shares_of(i, cast(column, i32));
      if (aux) a = a + (h(p, i, j) - mean(i, 0)) * inverse(i, 0);
      if_(row + i < t, [&] { out(row + i, column) = a * derivative(y(p, i, j)); });
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("moe_topk_gate_backward", dataflow)
          .schedule("cuda", [](Schedule& s, const Case& c) {
            s.threads(128).set("rows", std::clamp<int64_t>(512 / strip_of(c.constant("e")), 1, 32));
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
  uint32_t tokens = 0;  // of a sequence
  if (aux) {
    check_rank(f, {sums.name, *sums.tensor}, 2);
    const int64_t sequences = sums.tensor->dim(0);
    check_optional(f, sums, f32, {sequences, e}, "[sequences, experts]");
    TW_REQUIRE(sequences >= 1 && t % sequences == 0,
               "{}: grad_scores_sum is {}, the number of sequences must divide that of {} tokens",
               f, *sums.tensor, t);
    TW_REQUIRE(t <= UINT32_MAX, "{}: scores is {}, there may be {} tokens", f, scores, UINT32_MAX);
    tokens = static_cast<uint32_t>(t / sequences);
  }
  const Kernel& compiled =
      kernel()({}, {{"e", e}, {"k", k}, {"aux", aux ? 1 : 0}}, scores.device().kind);
  const float scale = args.routed_scaling_factor;
  if (aux) {
    return compiled.launch(stream, {scores, idx, weights, grad_weights, scale, tokens, *args.mask,
                                    *args.grad_scores_sum, grad_logits});
  }
  compiled.launch(stream, {scores, idx, weights, grad_weights, scale, grad_logits});
}

}  // namespace tw::kernels
