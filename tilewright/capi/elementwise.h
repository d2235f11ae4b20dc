// Functions of elements, for C.
//
// Inputs broadcast to y as in numpy, all at any strides; y may be an input of its shape. Of f64,
// f32, bf16 and f16, mixed as one likes; computed in f32, or f64 where an input is.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y = a + b.
tw_status tw_add(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y, tw_stream stream);
/// y = a b.
tw_status tw_mul(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y, tw_stream stream);
/// y = max(a + b, 0); 0 for NaN.
tw_status tw_add_relu(const tw_tensor* a, const tw_tensor* b, const tw_tensor* y, tw_stream stream);
/// y = silu(x[..., :h]) x[..., h:]. x: [..., 2 h], y: [..., h].
tw_status tw_silu_and_mul(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
