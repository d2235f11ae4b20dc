// Divisions of 64 bits by 64 take a GPU some hundred instructions: those that 32 bits suffice for,
// and those that need not look at signs.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Quotients and remainders in i64 become those of u32 where the dividend is proven to be in
/// [0, 2^32 - 1) and the divisor to be positive; where it is proven to be not negative, they round
/// to zero. Sizes of the grid have limits (grid_limits.h). Needs and guarantees: thread IR.
ir::Program narrow_divisions(const ir::Program& program);

}  // namespace tw::pass
