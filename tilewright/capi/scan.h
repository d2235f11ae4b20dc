// Prefix sums of rows, for C.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y[i, j] = x[i, 0] + ... + x[i, j], added in f32 and rounded once. x: [n, h] f32, bf16 or f16
/// with contiguous rows at any row stride, y: the same in x's dtype or f32; y may be x.
tw_status tw_cumsum(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
