// Pooling over the tokens of each sequence, for C.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y[s, :] = mean of x[t, :] over the tokens t of sequence s, from cu_seqlens[s] up to
/// cu_seqlens[s + 1]; zeros for a sequence without tokens. With `l2_normalize` each row of y is
/// then divided by max(its Euclidean norm, 1e-12). A sequence that leaves x stops the kernel.
/// x: [tokens, h] f32, bf16 or f16; cu_seqlens: [b + 1] i32 or i64; y: [b, h] f32; with contiguous
/// rows at any row stride.
tw_status tw_masked_mean_pool(const tw_tensor* x, const tw_tensor* cu_seqlens, const tw_tensor* y,
                              bool l2_normalize, tw_stream stream);

#ifdef __cplusplus
}
#endif
