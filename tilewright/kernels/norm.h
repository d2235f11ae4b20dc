// Normalisations over rows: RMS norm, layer norm, softmax.
//
// x and y are [n, h] on one device with contiguous rows at any row stride; y may be x. Computed
// in f32 and rounded once. Arguments of a wrong shape, dtype or stride are an Error, and
// nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[i, :] = x[i, :] * w / sqrt(mean(x[i, :]^2) + eps).
/// x, y: [n, h] f32, bf16 or f16, the same; w: [h] f32, bf16 or f16.
void rms_norm(const Tensor& x, const Tensor& w, float eps, const Tensor& y, Stream stream = {});

/// y[i, :] = (x[i, :] - mean) / sqrt(variance + eps) * w + b, with the variance of the row (divided
/// by h). x, y: [n, h] f32, bf16 or f16, the same; w, b: [h] f32, bf16 or f16, the same.
void layer_norm(const Tensor& x, const Tensor& w, const Tensor& b, float eps, const Tensor& y,
                Stream stream = {});

/// sum[i, :] = x[i, :] + residual[i, :], rounded to their dtype, and y[i, :] = its norm by the
/// formulas above. residual and sum are like x; y and sum may be x or residual, but not the same.
void residual_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& w, float eps,
                       const Tensor& y, const Tensor& sum, Stream stream = {});
void residual_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& w, const Tensor& b,
                         float eps, const Tensor& y, const Tensor& sum, Stream stream = {});

/// y[i, :] = exp(scale * x[i, :] - max) / sum of the same. A row that holds NaN or +inf, or only
/// -inf, is NaN. x, y: [n, h] f32, bf16 or f16, the same.
void softmax(const Tensor& x, float scale, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
