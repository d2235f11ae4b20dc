// Mixture of experts: from the experts that a router chose to rows in the order of experts, and
// back.
//
// Tensors are on one device and compact unless a function says otherwise. Arguments of a wrong
// shape, dtype or stride are an Error, and nothing is written. Results are the same bits on every
// device, however many blocks work on them.
//
// Of the *fused layout*, np rows in the order of experts, expert e has rows [start[e], end[e]):
// first those of the tokens that chose it, then padding up to a multiple of the alignment. Maps,
// all i32, tell which row is whose; below 0 means none.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

// ---- from tokens to the rows of experts, and back ----

/// out[p, :] = x[i, :] for each p = token_topk_to_pos[i, k], bit for bit; 0 where pos_to_expert[p]
/// is below 0. Rows of which the maps tell neither stay as they are; positions outside out are left
/// out. x: [t, h] of 8, 16 or 32 bits an element; token_topk_to_pos: [t, topk]; pos_to_expert:
/// [np]; out: [np, h] like x.
void expand_to_fused(const Tensor& x, const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                     const Tensor& out, Stream stream = {});

/// The same with scale factors, which are copied along: out_sf[p, :] = sf[i, :], or 0.
/// sf: [t, n] f32, a factor for each `group` columns, 32 or 128; or i32, four exponents in a word.
/// out_sf: [np, n] like sf at any strides.
void expand_to_fused_with_sf(const Tensor& x, const Tensor& sf, int64_t group,
                             const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                             const Tensor& out, const Tensor& out_sf, Stream stream = {});

}  // namespace tw::kernels
