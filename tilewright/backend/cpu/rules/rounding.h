// The ieee operations with a rounding mode of their own.
#pragma once

#include <span>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/base/rounding.h"
#include "tilewright/ir/ops.h"

namespace tw::cpu {

/// add, sub, mul, fdiv, fma, rcp or sqrt rounded by rz, rp or rm. The operation is a function of
/// its own, in which the processor's rounding mode is changed and no other operation can be moved.
Val directed_op(ir::OpCode code, Rounding rounding, std::span<const Val> args);

}  // namespace tw::cpu
