// Joins parallel loops that run over the same elements one after the other.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Two Parallel boxes of the same extents become one where each iteration of the second needs from
/// the first only what the same iteration made: then a value passes from store to load without
/// memory, a reduction folds what is just computed, and a row is walked once. Block buffers that
/// nobody reads afterwards disappear. The order of what one element sees stays; so does that of
/// float sums. Needs: no Copy, Fill or Reduce (after lower_tile_ops). Guarantees: the same meaning.
ir::Program fuse_loops(const ir::Program& program);

}  // namespace tw::pass
