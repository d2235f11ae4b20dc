// Functions outside the generated code: SLEEF's vector mathematics and a few of the C library.
#pragma once

#include <optional>
#include <string>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/ops.h"

namespace tw::cpu {

/// Applies a function of f32 or f64 lanes that SLEEF has; without a value when it has none.
/// SLEEF's `finz` forms give the same bits for every number of lanes (`cinz`, on targets without
/// fma, among themselves), so lanes are cut into the widest forms and a rest is padded.
std::optional<Val> call_math(const Target& target, ir::OpCode code, ir::Exactness exactness,
                             std::span<const Val> args);

/// Address of a function that generated code may call; null for any other name.
void* external_function(const std::string& name);

}  // namespace tw::cpu
