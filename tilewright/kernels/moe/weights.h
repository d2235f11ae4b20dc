// Weights of a token's experts: what the gates and normalize_weight share.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

constexpr int64_t kMostChoices = 32;  // experts of a token

/// The sum of each row of [rows, 2^n]: of elements j and j + 2^(n-1), then of these sums in the
/// same way. Zeros behind the last element change nothing.
inline Tile tree_sum(const Tile& x) {
  const int64_t rows = x.shape()[0];
  Tile sums = x;
  for (int64_t half = x.shape()[1] / 2; half >= 1; half /= 2) {
    sums = reshape(sum(reshape(sums, {rows, 2, half}), 1), {rows, half});
  }
  return sums;
}

/// The same of some numbers, with zeros behind them.
inline Expr tree_sum(std::vector<Expr> sums) {
  for (size_t half = std::bit_ceil(sums.size()) / 2; half >= 1; half /= 2) {
    for (size_t j = half; j < sums.size(); ++j) sums[j - half] = let(sums[j - half] + sums[j]);
    sums.resize(std::min(sums.size(), half));
  }
  return sums[0];
}

/// D of each row, see moe.h.
inline Tile denominator(const Tile& weights) { return tree_sum(weights) + 1e-20F; }

}  // namespace tw::kernels
