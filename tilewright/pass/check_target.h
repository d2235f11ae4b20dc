// What a program demands, or wishes for, that its target does not have.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/ir/target.h"

namespace tw::pass {

/// Reports launch options that the target does not know (E-TGT-01), copies and multiplies whose
/// demanded instructions it lacks (E-COPY-08, E-GEMM-05). Hints are not looked at.
void check_target(const ir::Program& program, const Target& target, Diagnostics& diagnostics);

/// Reports the hints that mean nothing on the target (W-HINT-01), for verbose compiling.
void check_hints(const ir::Program& program, const Target& target, Diagnostics& diagnostics);

}  // namespace tw::pass
