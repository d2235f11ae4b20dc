// Casts: of single elements, and to e4m3 with scale factors.
//
// Tensors are on one device, matrices with contiguous rows at any row stride. Arguments of a wrong
// shape, dtype or stride are an Error, and nothing is written.
//
// A scale factor sf is the one of dequantisation: value = code * sf. For the elements of a group
// let a = max(their largest magnitude, 1e-4), at most the largest f32; NaN doesn't count. Then
//   sf = a / 448, code = e4m3(x * (448 / a)),         each operation rounded to f32 by itself;
//   sf = 2^ceil(log2(a / 448)), code = e4m3(x / sf)   with `round_sf`.
// e4m3 rounds to the nearest even and saturates at +-448. Results are the same
// bits on every device.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

struct GroupCastArgs {
  int64_t group = 128;    // columns of a group: 32, 64 or 128
  bool round_sf = false;  // scale factors are powers of two
};

/// q, sf = x in groups of columns of each row; the last group of a row may be shorter.
/// x: [m, k] f32 or bf16; q: [m, k] e4m3; sf: [m, ceil(k / group)] f32.
void per_token_group_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                          const GroupCastArgs& args = {}, Stream stream = {});

/// q, sf = x in blocks of 128 x 128; those at the end of a dimension may be smaller.
/// x: [m, k] f32 or bf16; q: [m, k] e4m3; sf: [ceil(m / 128), ceil(k / 128)] f32.
void per_block_cast(const Tensor& x, const Tensor& q, const Tensor& sf, bool round_sf = false,
                    Stream stream = {});

/// y = x, each element rounded to the nearest even; e4m3 and e5m2 saturate, f16 and bf16 overflow
/// to infinity, e8m0 is the next power of two. x, y: any one shape at any strides, each f64, f32,
/// tf32, f16, bf16, e4m3, e5m2 or e8m0; y may be x where both are one dtype.
void cast(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
