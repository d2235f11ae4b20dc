// Scores of experts by their logits, in exactly these operations: selections elsewhere that
// evaluate the same then agree where keys are nearly equal.
#pragma once

#include "tilewright/kernels/moe.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// sqrt(softplus(x)), with softplus(x) = x above 20.
inline Expr sqrt_softplus(const Expr& x) { return ieee::sqrt(select(x > 20.0F, x, log1p(exp(x)))); }

/// That of a scoring function of one logit.
inline Expr score(Scoring scoring, const Expr& x) {
  return scoring == Scoring::sigmoid ? 1.0F / (1.0F + exp(-x)) : sqrt_softplus(x);
}

}  // namespace tw::kernels
