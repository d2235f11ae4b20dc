// Iterations of parallel loops that conflict (W-RACE-01, language 5.4 and 27.5).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports two iterations of a parallel loop of which one writes what the other reads or writes,
/// not both by atomics or reducer updates. What is reported happens: the loop is walked iteration
/// by iteration with the values of its indices, and an element counts as the same only where the
/// rest of its address is the same for all iterations. Extents known at run time only are taken as
/// 4, long loops are cut. So nothing is said where an index or a condition depends on memory. The
/// option check_race says whether it is a warning, an error or (the default) nothing.
void check_race(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
