// Normalisations over rows, for C.
//
// x and y are [n, h] f32, bf16 or f16, the same, with contiguous rows at any row stride; y may be
// x. w and b are [h] f32, bf16 or f16. Computed in f32 and rounded once.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y[i, :] = x[i, :] * w / sqrt(mean(x[i, :]^2) + eps).
tw_status tw_rms_norm(const tw_tensor* x, const tw_tensor* w, float eps, const tw_tensor* y,
                      tw_stream stream);

/// y[i, :] = (x[i, :] - mean) / sqrt(variance + eps) * w + b, with the variance of the row (divided
/// by h). w and b have one dtype.
tw_status tw_layer_norm(const tw_tensor* x, const tw_tensor* w, const tw_tensor* b, float eps,
                        const tw_tensor* y, tw_stream stream);

/// sum[i, :] = x[i, :] + residual[i, :], rounded to their dtype, and y[i, :] = its norm by the
/// formulas above. residual and sum are like x; y and sum may be x or residual, but not the same.
tw_status tw_residual_rms_norm(const tw_tensor* x, const tw_tensor* residual, const tw_tensor* w,
                               float eps, const tw_tensor* y, const tw_tensor* sum,
                               tw_stream stream);
tw_status tw_residual_layer_norm(const tw_tensor* x, const tw_tensor* residual, const tw_tensor* w,
                                 const tw_tensor* b, float eps, const tw_tensor* y,
                                 const tw_tensor* sum, tw_stream stream);

/// y[i, :] = exp(scale * x[i, :] - max) / sum of the same. A row that holds NaN or +inf, or only
/// -inf, is NaN.
tw_status tw_softmax(const tw_tensor* x, float scale, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
