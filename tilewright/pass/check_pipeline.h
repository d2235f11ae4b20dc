// The plans of pipelined loops (E-PIPE-01..07, language 18.3 and 18.4).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// The statements of a plan are those at the top level of the loop's body, without allocations,
/// bindings and facts. Reported are: an `order` that is no permutation (01), lists that do not have
/// an entry per statement (02), a second writer of a tile that the automatic plan loads ahead (03),
/// plans that run a statement before one that it depends on (04), fewer annotated versions of a
/// buffer than the plan needs (05), jumps out of the loop (07). While loops are no pipelined loops
/// in this IR (06).
void check_pipeline(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
