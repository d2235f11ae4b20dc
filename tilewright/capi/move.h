// Elements that only change places, for C.
//
// Tensors are of one dtype with 8, 16, 32 or 64 bits, whose bits are kept. The input and the output
// share no memory.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y = x of one shape at any strides, 0 in x too.
tw_status tw_copy(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

/// y[..., j, i] = x[..., i, j]. x: [m, n] or [batch, m, n]; y: [n, m] or [batch, n, m]; rows
/// contiguous, at any row and batch strides.
tw_status tw_transpose(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
