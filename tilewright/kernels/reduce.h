// Folds of rows: sum, max, argmax.
//
// x is [n, h] f32, bf16 or f16 on one device, with contiguous rows at any row stride; y is [n],
// contiguous. Arguments of a wrong shape, dtype or stride are an Error, and nothing is written.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// y[i] = sum of x[i, :], added in f32 and rounded once; 0 where h is 0. y: x's dtype or f32.
void sum(const Tensor& x, const Tensor& y, Stream stream = {});

/// y[i] = the largest of x[i, :]. NaN doesn't count, of NaN alone it is -inf; with `propagate_nan`
/// a row that has one is NaN. h is at least 1. y: x's dtype.
void max(const Tensor& x, const Tensor& y, bool propagate_nan = false, Stream stream = {});

/// y[i] = the first j at which x[i, j] is the largest of the row. NaN is less than all numbers; of
/// NaN alone the first counts. h is at least 1. y: i32 or i64.
void argmax(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
