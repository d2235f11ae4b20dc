// Rows of a table by index: embeddings, reordered tokens.
//
// Tensors are on one device, with contiguous rows at any row stride. Arguments of a wrong shape,
// dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[i, :] = table[index[i], :], bit for bit; zeros where the index is outside the table.
/// table: [v, h] of 8, 16 or 32 bits an element; index: [n] i32 or i64; y: [n, h] like table.
void gather_rows(const Tensor& table, const Tensor& index, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
