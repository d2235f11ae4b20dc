// The largest elements of rows, in order, for C.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The k largest of each row of x, the largest first; of equal ones the one with the lower index.
/// -0 equals 0, NaN is less than all numbers. values[i, r] = x[i, indices[i, r]], bit for bit.
/// x: [n, h] f32, bf16 or f16, h at most 1024, with contiguous rows; values: [n, k] like x, and
/// indices: [n, k] i32 or i64, both contiguous; k from 1 to 32 and at most h.
tw_status tw_top_k(const tw_tensor* x, const tw_tensor* values, const tw_tensor* indices,
                   tw_stream stream);

#ifdef __cplusplus
}
#endif
