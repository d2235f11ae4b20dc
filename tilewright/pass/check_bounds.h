// Accesses outside block buffers that certainly happen (E-BND-01, language 20.2).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports an access to a shared, fragment, local or reducer buffer that leaves it in some
/// iteration of the loops around it, or always. What depends on conditions or on sizes known at run
/// time only is no error. Global memory is never left (language 7.2).
void check_bounds(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
