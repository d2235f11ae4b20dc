// Which loop bodies can run as the lanes of a vector.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Why a body can't run with `var` as the lanes of a vector; null when it can.
const char* reason_against_vectors(const ir::Stmt& body, const ir::Var& var);

}  // namespace tw::pass
