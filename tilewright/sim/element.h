// The element operations as the interpreter computes them: those of ir/element.h, the functions of
// the maths library, and the steps of reductions.
#pragma once

#include "tilewright/ir/element.h"
#include "tilewright/ir/enums.h"

namespace tw::sim {

using ir::Bits;
using ir::ElementFn;

/// The function of an operation whose operands have type `operand`; null where the language has
/// none. What ir::exact_function lacks is computed as sim/math.h says; rsqrt is 1 / sqrt(x).
ElementFn element_function(ir::OpCode code, DType operand,
                           ir::Exactness exactness = ir::Exactness::standard,
                           Rounding rounding = Rounding::rn);

/// Whether the operation on these signed integers leaves their type (undefined for the author).
bool overflows(ir::OpCode code, DType dtype, Bits a, Bits b);

/// The neutral element of a reduction in `dtype` (language 9.1).
Bits reduction_identity(ir::ReduceKind kind, DType dtype);

/// One step of a reduction: acc and the mapped element, both of `dtype`. Null where the kind isn't
/// defined. abs_sum and abs_max map the element first.
ElementFn reduction_step(ir::ReduceKind kind, DType dtype, bool propagate_nan);

/// What an atomic access leaves in memory: a function of what was there, its value, and the value
/// that a compare_exchange compares with. Null where the operation isn't defined.
ElementFn atomic_function(ir::AtomicOp op, DType dtype);

}  // namespace tw::sim
