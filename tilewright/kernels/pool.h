// Pooling over the tokens of each sequence.
//
// Tensors are on one device, with contiguous rows at any row stride. Arguments of a wrong shape,
// dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[s, :] = mean of x[t, :] over the tokens t of sequence s, from cu_seqlens[s] up to
/// cu_seqlens[s + 1]; zeros for a sequence without tokens. With `l2_normalize` each row of y is
/// then divided by max(its Euclidean norm, 1e-12). A sequence that leaves x stops the kernel.
/// x: [tokens, h] f32, bf16 or f16; cu_seqlens: [b + 1] i32 or i64; y: [b, h] f32. Sums in f32.
void masked_mean_pool(const Tensor& x, const Tensor& cu_seqlens, const Tensor& y,
                      bool l2_normalize = false, Stream stream = {});

}  // namespace tw::kernels
