// Activations, element by element, for C.
//
// Tensors are of any one shape and strides, all f32, bf16 or f16; y may be an input. Computed in
// f32 and rounded once.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y = max(x, 0); 0 for NaN.
tw_status tw_relu(const tw_tensor* x, const tw_tensor* y, tw_stream stream);
/// y = x (1 + erf(x / sqrt 2)) / 2.
tw_status tw_gelu(const tw_tensor* x, const tw_tensor* y, tw_stream stream);
/// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
tw_status tw_gelu_tanh(const tw_tensor* x, const tw_tensor* y, tw_stream stream);
/// y = x / (1 + e^-x).
tw_status tw_silu(const tw_tensor* x, const tw_tensor* y, tw_stream stream);
/// y = 1 / (1 + e^-x).
tw_status tw_sigmoid(const tw_tensor* x, const tw_tensor* y, tw_stream stream);
/// y = silu(gate) x.
tw_status tw_silu_mul(const tw_tensor* gate, const tw_tensor* x, const tw_tensor* y,
                      tw_stream stream);

#ifdef __cplusplus
}
#endif
