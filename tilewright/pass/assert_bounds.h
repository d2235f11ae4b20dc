// Accesses that nothing guards and that may be outside (language 20.2): those of block buffers, and
// of tensors where the author says that they are inside. The option check_bounds makes them assert.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// With check_bounds, each such access that isn't proven inside has an Assert before it, which
/// names the access, the index, the extent and the author's line; without, the program itself.
/// Stands before the first pass that changes accesses, so that they are the author's own. A loop
/// with asserts has no vector form: its demand for one is dropped.
ir::Program assert_bounds(const ir::Program& program);

/// Reports the accesses of block buffers that would have an Assert (W-BND-01). For verbose
/// compiling: most of them are inside for reasons that only the author knows.
void suspect_bounds(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
