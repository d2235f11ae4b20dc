// Element operations on integers and bools.
#pragma once

#include <span>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/ir/nodes.h"

namespace tw::cpu {

/// Applies an operation to lanes of an integer type or bool, by the definitions of sim/element.h:
/// everything wraps, and nothing traps (a division by 0 gives 0).
Val integer_op(const ir::Op& op, DType dtype, std::span<const Val> args);

/// The bits of lanes of one type as lanes of another.
Val reinterpret(Val value, DType from, DType to);

}  // namespace tw::cpu
