// Random bits of stochastic casts: a hash of the four values of a quad and of its index, in u32.
//   h = v0 0x5671D42B + v1 0x9995E499 + v2 0xACE1B8A5 + v3 0xE153538D + index
//   h ^= h >> 23, h *= 0x7FEB352D, h ^= h >> 16
//   word n = w ^ w >> 11, w = h times 0x846CA68B or 0xD35A2D97
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

constexpr int64_t kQuad = 4;

/// What the value at a place of a quad adds to h.
Expr random_part(const Expr& value, const Expr& place);
/// h of the sum of the four parts, once mixed.
Expr random_hash(const Expr& sum, const Expr& index);
/// The 16 bits by which the value at a place of a quad with this hash is rounded to `format`: bf16,
/// e4m3 or e2m1, as base/convert.h gives them to lanes; of bf16, the last two have the second word.
Expr random_bits(DType format, const Expr& hash, const Expr& place);

}  // namespace tw::kernels
