// Blocks that work together: barriers of the grid (language 12.3).
#pragma once

#include "tilewright/lang/expr.h"

namespace tw {
inline namespace lang {

/// All threads of all blocks wait for each other, and see what the others wrote before. The launch
/// must be .cooperative: all its blocks run at once, or it is refused (E-HOST-11).
void grid_sync(SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
