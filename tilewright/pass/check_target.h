// What a program demands that its target does not have.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/ir/target.h"

namespace tw::pass {

/// Reports launch options that the target does not know (E-TGT-01), copies and multiplies whose
/// demanded instructions it lacks (E-COPY-08, E-GEMM-05). Hints are not looked at.
void check_target(const ir::Program& program, const Target& target, Diagnostics& diagnostics);

}  // namespace tw::pass
