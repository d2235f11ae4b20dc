// The largest elements of rows, in order.
//
// Tensors are on one device; x has contiguous rows at any row stride, the results are contiguous.
// Arguments of a wrong shape, dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// The k largest of each row of x, the largest first; of equal ones the one with the lower index,
/// as in a stable sort. -0 equals 0. NaN is less than all numbers.
/// values[i, r] = x[i, indices[i, r]], bit for bit. x: [n, h] f32, bf16 or f16, h at most 1024;
/// values: [n, k] like x, indices: [n, k] i32 or i64; k from 1 to 32 and at most h.
void top_k(const Tensor& x, const Tensor& values, const Tensor& indices, Stream stream = {});

}  // namespace tw::kernels
