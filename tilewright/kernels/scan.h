// Prefix sums of rows.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[i, j] = x[i, 0] + ... + x[i, j], added in f32 and rounded once. x: [n, h] f32, bf16 or f16
/// with contiguous rows at any row stride, y: the same in x's dtype or f32; y may be x. Arguments
/// of a wrong shape, dtype or stride are an Error, and nothing is written.
void cumsum(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
