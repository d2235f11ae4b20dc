// Matrix products with their usual epilogues, for C. Matrices have contiguous rows at any row
// stride. Products and sums are in f32, rounded once.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Of gemms, by the formulas of the functions in activation.h.
typedef int32_t tw_activation;
enum {
  TW_ACTIVATION_NONE = 0,
  TW_ACTIVATION_RELU = 1,
  TW_ACTIVATION_GELU = 2,
  TW_ACTIVATION_GELU_TANH = 3,
  TW_ACTIVATION_SILU = 4,
};

typedef struct tw_gemm_args {
  bool trans_a;  // a is stored [k, m]
  bool trans_b;  // b is stored [n, k]
  tw_activation activation;
  const tw_tensor* bias;      // [n], added before the activation; in batches also [batch, n]
  const tw_tensor* residual;  // like c, added after it; may be c
} tw_gemm_args;

/// c = activation(op(a) op(b) + bias) + residual. op(a): [m, k], op(b): [k, n], the same dtype:
/// f32, bf16 or f16. c: [m, n] f32, bf16 or f16; bias and residual have c's dtype or f32.
tw_status tw_gemm(const tw_tensor* a, const tw_tensor* b, const tw_tensor* c,
                  const tw_gemm_args* args, tw_stream stream);

/// The same for each entry of a batch, at any batch strides, 0 too: op(a): [batch, m, k], op(b):
/// [batch, k, n], c: [batch, m, n].
tw_status tw_batched_gemm(const tw_tensor* a, const tw_tensor* b, const tw_tensor* c,
                          const tw_gemm_args* args, tw_stream stream);

/// c = activation((a * scale_a) (b * scale_b)^T + bias) + residual, without transposes. a: [m, k],
/// b: [n, k] e4m3; scale_a: [m, ceil(k / 128)], scale_b: [ceil(n / 128), ceil(k / 128)] f32, as
/// the casts of quant.h make them; the rest as for tw_gemm.
tw_status tw_gemm_fp8(const tw_tensor* a, const tw_tensor* scale_a, const tw_tensor* b,
                      const tw_tensor* scale_b, const tw_tensor* c, const tw_gemm_args* args,
                      tw_stream stream);

#ifdef __cplusplus
}
#endif
