// Turns parallel boxes into serial loops around one vectorized loop: the second
// step to loop IR (CPU).
#pragma once

#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {

/// Chooses for each Parallel the index whose neighbours lie together in memory and makes it a
/// vectorized loop of constant extent, with a masked rest; the other indices become serial loops
/// in their order. A body that has no vector form (an atomic, a while loop, a run-time inner
/// bound that varies) runs in serial loops. Reducer updates become plain updates, folded over the
/// lanes where these share an element. Needs: no tile operations (after guard_bounds).
/// Guarantees: loop IR.
ir::Program lower_parallel(const ir::Program& program, const VectorShape& shape);

}  // namespace tw::pass
