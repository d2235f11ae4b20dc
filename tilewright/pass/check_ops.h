// Single operations that mean nothing, or not what this program may mean.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports shifts by a constant outside the type's width (W-TYPE-01), and atomics on floats in a
/// program that forbids them by the option forbid_float_atomics (E-ATOM-04).
void check_ops(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
