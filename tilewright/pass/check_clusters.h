// Whether blocks of a cluster may end while others use their memory (language 4.2).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Warns (W-SYNC-01) of an access to another block's shared memory, or an arrival at its barrier,
/// after the last statement in which all threads of the cluster wait for each other.
void check_clusters(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
