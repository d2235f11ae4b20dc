// Activations, element by element.
//
// Tensors are on one device and of any one shape and strides (elementwise.h); y may be an input.
// All have one dtype, f32, bf16 or f16; computed in f32 and rounded once. Arguments of a wrong
// shape or dtype are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y = max(x, 0); 0 for NaN.
void relu(const Tensor& x, const Tensor& y, Stream stream = {});
/// y = x (1 + erf(x / sqrt 2)) / 2.
void gelu(const Tensor& x, const Tensor& y, Stream stream = {});
/// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
void gelu_tanh(const Tensor& x, const Tensor& y, Stream stream = {});
/// y = x / (1 + e^-x).
void silu(const Tensor& x, const Tensor& y, Stream stream = {});
/// y = 1 / (1 + e^-x).
void sigmoid(const Tensor& x, const Tensor& y, Stream stream = {});
/// y = silu(gate) x.
void silu_mul(const Tensor& gate, const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
