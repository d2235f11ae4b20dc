// Scores of experts by their logits, in exactly these operations: selections elsewhere that
// evaluate the same then agree where keys are nearly equal.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// sqrt(softplus(x)), with softplus(x) = x above 20.
inline Expr sqrt_softplus(const Expr& x) { return ieee::sqrt(select(x > 20.0F, x, log1p(exp(x)))); }

}  // namespace tw::kernels
