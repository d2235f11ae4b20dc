// Structural equality of IR. Positions and names take no part (names: of variables, buffers,
// loops, launches and programs).
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// When two variables (or buffers) that neither side declares are the same.
enum class Free {
  same_node,  // for passes: they are one node
  same_name,  // for tests that compare two texts: name and declaration agree
};

/// What a side declares may have any name, if it is used alike.
bool structurally_equal(const Expr& a, const Expr& b, Free free = Free::same_node);
bool structurally_equal(const Stmt& a, const Stmt& b, Free free = Free::same_node);
bool structurally_equal(const Program& a, const Program& b);

}  // namespace tw::ir
