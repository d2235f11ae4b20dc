// Elements that only change places: copies of any strides, transposes.
//
// Tensors are on one device and of one dtype with 8, 16, 32 or 64 bits, whose bits are kept. The
// input and the output share no memory. Arguments of a wrong shape, dtype or stride are an Error,
// and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y = x at any strides, 0 in x too. Of up to 5 dimensions, not counting those that lie evenly
/// inside each other in both.
void copy(const Tensor& x, const Tensor& y, Stream stream = {});

/// y[..., j, i] = x[..., i, j]. x: [m, n] or [batch, m, n]; y: [n, m] or [batch, n, m]; rows
/// contiguous, at any row and batch strides.
void transpose(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
