// What an author's code for single threads may not do (language 4.3, 5.7 and 12).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports, where the index of a thread or what was made of it decides:
///   - a tile operation or parallel loop that only some threads may reach, or whose operands differ
///     between threads (E-FLOW-05), and a barrier of the block there (E-SYNC-01);
///   - values of single threads inside a parallel loop, whose iterations belong to no thread;
///   - elements of fragments, and local arrays that the block uses as a tile (E-LAY-05);
///   - a barrier of the grid in a launch that isn't cooperative;
///   - named barriers with an impossible number of threads, more arrivals at a barrier with phases
///     than it counts (E-SYNC-05);
///   - more registers of all warp-groups than there are (W-SYNC-02).
/// Needs: check_flow.
void check_threads(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
