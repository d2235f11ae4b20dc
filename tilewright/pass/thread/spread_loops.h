// Layout inference for a block of threads (language 17): who runs which iteration of each parallel
// loop, and who holds which element of each fragment.
#pragma once

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// Gives every Parallel its fragment over the (padded) box, in `Parallel::layout`, every fragment
/// its own in `Alloc::layout`, and launches without threads their number.
///
/// A loop is decided by the author's layout, by a fragment that it uses one to one, or by
/// `plan_box`; a fragment by the loop that comes first to decide it, or by the reduction that makes
/// it. A fragment that some use can't reach in its own thread lives in shared memory instead; so do
/// fragments with views and those that are read at indices outside the algebra.
/// Needs: lower_block_ops. Guarantees: reductions go from distributed fragments to distributed
/// fragments.
ir::Program spread_loops(const ir::Program& program, Remarks* remarks = nullptr);

}  // namespace tw::pass
