// Element operations on lanes: each OpCode as LLVM instructions, calls of SLEEF, or a composition
// of those where the processor has nothing of the kind.
#pragma once

#include <span>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/nodes.h"

namespace tw::cpu {

/// Applies the operation to lanes of type `operand` (of the last argument, for select). 16-bit
/// floats are computed in f32 and rounded once. Lazy operations evaluate all they are given.
Val apply(const Target& target, const ir::Op& op, DType operand, std::span<const Val> args);

}  // namespace tw::cpu
