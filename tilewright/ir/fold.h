// Constants: what operations on them give.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// The constant that an operation or cast on scalar constants gives, by ir/element.h. Null for
/// every other expression, and where the bits depend on the target or no literal has the value.
Expr fold(const Expr& expr);

}  // namespace tw::ir
