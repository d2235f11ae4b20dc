// Rows of a table by index, read or added to, for C. Tensors have contiguous rows at any row
// stride.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// y[i, :] = table[index[i], :], bit for bit; zeros where the index is outside the table.
/// table: [v, h] of 8 to 64 bits an element; index: [n] i32 or i64; y: [n, h] like table.
tw_status tw_gather_rows(const tw_tensor* table, const tw_tensor* index, const tw_tensor* y,
                         tw_stream stream);

/// y[index[i], :] += x[i, :], by atomic adds; rows whose index is outside y are left out.
/// x: [n, h] f32, bf16 or f16; index: [n] i32 or i64; y: [v, h] of x's dtype or f32.
tw_status tw_scatter_add_rows(const tw_tensor* x, const tw_tensor* index, const tw_tensor* y,
                              tw_stream stream);

#ifdef __cplusplus
}
#endif
