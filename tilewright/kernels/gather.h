// Rows of a table by index, read or added to: embeddings, reordered tokens, their gradients.
//
// Tensors are on one device, with contiguous rows at any row stride. Arguments of a wrong shape,
// dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[i, :] = table[index[i], :], bit for bit; zeros where the index is outside the table.
/// table: [v, h] of 8 to 64 bits an element; index: [n] i32 or i64; y: [n, h] like table.
void gather_rows(const Tensor& table, const Tensor& index, const Tensor& y, Stream stream = {});

/// y[index[i], :] += x[i, :], element by element with atomic adds, so that an index may occur more
/// than once: sums of more than two terms depend on their order. Rows whose index is outside y are
/// left out. x: [n, h] f32, bf16 or f16; index: [n] i32 or i64; y: [v, h] of x's dtype, in which
/// each sum is rounded then, or f32.
void scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
