// The mathematical functions on f32 and f64: which SLEEF function each operation is, but for those
// of f32 that base/formulas.h has. The CPU backend calls the vector forms of the same functions, so
// both give the same bits.
#pragma once

#include "tilewright/ir/ops.h"

namespace tw::sim {

// TW_MATH(operation, SLEEF's stem, its accuracy suffix). Names are put together as
// Sleef_finz_<stem><f|d><lanes><suffix>; a host without FMA uses the cinz forms, whose bits differ.
// The hot ones in f32 are formulas instead (base/formulas.h), which a backend writes out in line.
#define TW_MATH_FORMULAS(TW_FORMULA) \
  TW_FORMULA(exp)                    \
  TW_FORMULA(exp2)                   \
  TW_FORMULA(log)                    \
  TW_FORMULA(tanh)                   \
  TW_FORMULA(erf)
#define TW_MATH_UNARY(TW_MATH) \
  TW_MATH(exp, exp, _u10)      \
  TW_MATH(exp2, exp2, _u10)    \
  TW_MATH(log, log, _u10)      \
  TW_MATH(tanh, tanh, _u10)    \
  TW_MATH(erf, erf, _u10)      \
  TW_MATH_UNARY_F32(TW_MATH)
#define TW_MATH_UNARY_F32(TW_MATH) \
  TW_MATH(exp10, exp10, _u10)      \
  TW_MATH(expm1, expm1, _u10)      \
  TW_MATH(log2, log2, _u10)        \
  TW_MATH(log10, log10, _u10)      \
  TW_MATH(log1p, log1p, _u10)      \
  TW_MATH(cbrt, cbrt, _u10)        \
  TW_MATH(sin, sin, _u10)          \
  TW_MATH(cos, cos, _u10)          \
  TW_MATH(tan, tan, _u10)          \
  TW_MATH(asin, asin, _u10)        \
  TW_MATH(acos, acos, _u10)        \
  TW_MATH(atan, atan, _u10)        \
  TW_MATH(sinh, sinh, _u10)        \
  TW_MATH(cosh, cosh, _u10)        \
  TW_MATH(asinh, asinh, _u10)      \
  TW_MATH(acosh, acosh, _u10)      \
  TW_MATH(atanh, atanh, _u10)      \
  TW_MATH(erfc, erfc, _u15)
#define TW_MATH_BINARY(TW_MATH) \
  TW_MATH(pow, pow, _u10)       \
  TW_MATH(hypot, hypot, _u05)   \
  TW_MATH(atan2, atan2, _u10)

/// SLEEF's log1p, asinh and acosh give infinity near the end of the range. From here on they are
/// log x, or log 2x, of the same bits.
constexpr double kFarOut = 0x1p500, kFarOutF32 = 0x1p60, kLn2 = 0.69314718055994531;
inline bool is_log_far_out(ir::OpCode code) {
  return code == ir::OpCode::log1p || code == ir::OpCode::asinh || code == ir::OpCode::acosh;
}

/// The function of an operation of the tables; null for others.
template <class T>
using UnaryMath = T (*)(T);
template <class T>
using BinaryMath = T (*)(T, T);
template <class T>
UnaryMath<T> unary_math(ir::OpCode code);
template <class T>
BinaryMath<T> binary_math(ir::OpCode code);

}  // namespace tw::sim
