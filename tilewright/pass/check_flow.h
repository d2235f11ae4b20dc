// Control flow that has no meaning: for programs that no builder has checked while tracing.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports endless loops (E-FLOW-01), jumps outside a loop (E-FLOW-02) or out of a parallel loop
/// (E-LOOP-06), steps of zero (E-FLOW-03), conditions that are no bool or integer (E-FLOW-04),
/// loops of run-time extent that are to be unrolled or vectorized (E-LOOP-02), and what a parallel
/// loop can't contain: tile operations (E-LOOP-04), pipelined loops (E-LOOP-05), other parallel
/// loops beside statements (E-LOOP-07).
void check_flow(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
