// Matrix products with their usual epilogues.
//
// Matrices are on one device, with contiguous rows at any row stride. Arguments of a wrong shape,
// dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// gelu: x * (1 + erf(x / sqrt 2)) / 2. gelu_tanh: with 1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)).
/// silu: x / (1 + e^-x).
enum class Activation : uint8_t { none, relu, gelu, gelu_tanh, silu };

struct GemmArgs {
  bool trans_a = false;  // a is stored [k, m]
  bool trans_b = false;  // b is stored [n, k]
  Activation activation = Activation::none;
  const Tensor* bias = nullptr;      // [n], added before the activation; in batches also [batch, n]
  const Tensor* residual = nullptr;  // like c, added after it; may be c
};

/// c = activation(op(a) op(b) + bias) + residual. Products and sums in f32, rounded once.
/// op(a): [m, k], op(b): [k, n], the same dtype: f32, bf16 or f16. c: [m, n] f32, bf16 or f16; bias
/// and residual have c's dtype or f32.
void gemm(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args = {},
          Stream stream = {});

/// The same for each entry of a batch, at any batch strides, 0 too: op(a): [batch, m, k], op(b):
/// [batch, k, n], c: [batch, m, n].
void batched_gemm(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args = {},
                  Stream stream = {});

/// c = activation((a * scale_a) (b * scale_b)^T + bias) + residual, without transposes. a: [m, k],
/// b: [n, k] e4m3; scale_a: [m, ceil(k / 128)], scale_b: [ceil(n / 128), ceil(k / 128)] f32, as
/// the casts of quant.h make them; the rest as for gemm.
void gemm_fp8(const Tensor& a, const Tensor& scale_a, const Tensor& b, const Tensor& scale_b,
              const Tensor& c, const GemmArgs& args = {}, Stream stream = {});

}  // namespace tw::kernels
