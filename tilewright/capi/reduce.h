// Folds of rows, for C. x is [n, h] f32, bf16 or f16 with contiguous rows at any row stride; y is
// [n], contiguous.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y[i] = sum of x[i, :], added in f32 and rounded once; 0 where h is 0. y: x's dtype or f32.
tw_status tw_sum(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

/// y[i] = the largest of x[i, :]. NaN doesn't count, of NaN alone it is -inf; with `propagate_nan`
/// a row that has one is NaN. h is at least 1. y: x's dtype.
tw_status tw_max(const tw_tensor* x, const tw_tensor* y, bool propagate_nan, tw_stream stream);

/// y[i] = the first j at which x[i, j] is the largest of the row. NaN is less than all numbers; of
/// NaN alone the first counts. h is at least 1. y: i32 or i64.
tw_status tw_argmax(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
