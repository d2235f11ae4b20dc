// Weights of a token's experts: what the gates and normalize_weight share.
#pragma once

#include <bit>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

constexpr int64_t kMostChoices = 32;  // experts of a token

/// D of each row of [rows, 2^n], see moe.h: a tree of sums of two. Zeros behind the last weight
/// change nothing.
inline Tile denominator(const Tile& weights) {
  const int64_t rows = weights.shape()[0];
  Tile sums = weights;
  for (int64_t half = weights.shape()[1] / 2; half >= 1; half /= 2) {
    sums = reshape(sum(reshape(sums, {rows, 2, half}), 1), {rows, half});
  }
  return sums + 1e-20F;
}

}  // namespace tw::kernels
