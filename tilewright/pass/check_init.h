// Reads of block buffers before anything is written to them (W-INIT-01, language 3.4).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports, at most once a buffer, a read of an element that no earlier statement can have written.
/// A statement further down in a loop around the read counts as earlier, unless the read is certain
/// to happen in the loop's first iteration. Conditions are not followed: what may be written is
/// taken as written. The option check_init says whether it is a warning, an error or nothing.
void check_init(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
