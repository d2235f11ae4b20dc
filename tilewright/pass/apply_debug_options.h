// Does what the options check_assumptions and no_debug ask for. Stands first, while each assumption
// is where the author wrote it and none has been used.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// check_assumptions: each Assume has an Assert of the same condition before it. no_debug: there is
/// no Print and no Assert of the author's.
ir::Program apply_debug_options(const ir::Program& program);

}  // namespace tw::pass
