// Scores of groups of experts.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// The largest of each group of [rows, groups, n], or the sum of its largest two: [rows, groups,
/// 1].
inline Tile group_scores(const Tile& keys, int64_t summands) {
  const Tile best = max(keys, 2);
  if (summands == 1) return best;
  const std::vector<int64_t>& shape = keys.shape();
  const Tile place = iota(shape, 2);
  // Of equal ones all but one are left.
  const Tile first = min(select(keys == best, place, static_cast<int32_t>(shape[2])), 2);
  return best + max(select(place == first, -inf(f32), keys), 2);
}

}  // namespace tw::kernels
