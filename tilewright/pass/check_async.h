// What an author's asynchronous copies may not do (language 7.5 and 7.6).
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Reports bulk copies that nobody could wait for (E-COPY-05) or that would break a rule of their
/// instruction: extents, alignment that isn't proven, neighbors that may lie outside of a tensor, a
/// store that may begin before one (E-COPY-06); descriptors of computed addresses (E-COPY-07); and
/// copies by single threads of anything but 4, 8 or 16 aligned bytes (E-COPY-08).
void check_async(const ir::Program& program, Diagnostics& diagnostics);

}  // namespace tw::pass
