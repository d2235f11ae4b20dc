// Fences between threads and the engines of bulk copies.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// What threads write to memory that bulk copies use, they fence for engines before they tell
/// others: before the next barrier, arrival or bulk copy. Needs: insert_barriers. Guarantees:
/// the same level.
ir::Program insert_fences(const ir::Program& program);

}  // namespace tw::pass
