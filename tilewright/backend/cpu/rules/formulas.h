// The formulas of base/formulas.h on lanes: the same bits as on numbers, on every target.
#pragma once

#include <optional>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/ops.h"

namespace tw::cpu {

/// Applies exp, exp2, log, erf or tanh to lanes of f32; without a value for anything else.
std::optional<Val> call_formula(const Target& target, ir::OpCode code, Val x);

}  // namespace tw::cpu
