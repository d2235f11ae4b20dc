// Turns tile operations into parallel loops and whole-fragment reductions: the first step from tile
// IR to thread IR (GPU).
#pragma once

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// Copy, Fill and Gemm become Parallel loops over elements; parallel loops of symbolic extent
/// become serial loops over boxes of constant extent; a Reduce becomes one from a whole fragment to
/// a whole fragment of the accumulator's type, with loops before and after where src or dst are
/// something else; a Scan one of a whole fragment in place, likewise. Reducers stay. Needs: tile
/// IR. Guarantees: scheduled tile IR whose only tile operations are such reductions and scans.
ir::Program lower_block_ops(const ir::Program& program, Remarks* remarks = nullptr);

}  // namespace tw::pass
