// Conversions between element types as integer code, bit for bit those of base/convert.h on every
// target. LLVM's own narrowing to bf16 would become vcvtneps2bf16, which flushes subnormals.
#pragma once

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/base/dtype.h"
#include "tilewright/base/rounding.h"

namespace tw::cpu {

/// How a value of the type is held in a register: bool as i1, f32, tf32 and f64 as themselves,
/// narrower floats as the integer of their bits (e2m1 in an i8 below 16).
Elem register_elem(DType dtype);

struct Conversion {
  DType from, to;
  Rounding rounding = Rounding::rn;
  bool saturate = true;
  Val random{};  // of Rounding::rs: per lane, its random bits in the low 16
};

/// Converts all lanes of `value`. Pairs that `cast_error` refuses are not to be asked for.
Val convert(const Target& target, Val value, const Conversion& how);

}  // namespace tw::cpu
