// Puts barriers where threads of a block could see each other's accesses in the wrong order.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Between two statements of the block that touch the same shared or global buffer, at least one
/// of them writing, a Barrier comes before the second (language 20.4). A statement's own iterations
/// don't conflict. Tensors declared relaxed are left out. Needs: spread_loops (each parallel loop
/// is one collective step). Keeps: everything else.
ir::Program insert_barriers(const ir::Program& program);

}  // namespace tw::pass
