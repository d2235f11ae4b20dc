// Element functions on values (language 11): maths, selection, bits, casts, constants.
#pragma once

#include "tilewright/lang/functions.h"
#include "tilewright/lang/operators.h"

namespace tw {
inline namespace lang {

#define TW_DECLARE(name) Expr name(const Operand& x);
TW_UNARY_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE

// min and max give the other operand for a NaN, min_nan and max_nan the NaN. floordiv and floormod
// round down, truncdiv and truncmod toward zero as `/` and `%`. cdiv rounds up. nth_set(x, n) is
// the position of the n-th set bit, -1 if there is none.
#define TW_DECLARE(name) Expr name(const Operand& a, const Operand& b);
TW_BINARY_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE
constexpr int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// clamp(x, lo, hi) keeps NaN and gives hi if lo > hi. select(c, a, b) evaluates both sides,
// if_else(c, a, b) only the chosen one.
#define TW_DECLARE(name) Expr name(const Operand& a, const Operand& b, const Operand& c);
TW_TERNARY_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE

struct CastOptions {
  Rounding round = Rounding::rn;
  bool saturate = true;
  Expr rbits = {};  // the random word of Rounding::rs
};
/// The value converted by language 11.4 (E-COPY-03, E-CAST-01 to 03).
Expr cast(const Operand& x, DType dtype, const CastOptions& options = {});
/// The bits of the value as another type of the same width (E-TYPE-05).
Expr bitcast(const Operand& x, DType dtype);

/// Constants of a type; min_value is the lowest, eps the distance from 1 to the next larger value.
Expr max_value(DType dtype, SourceLoc where = SourceLoc::here());
Expr min_value(DType dtype, SourceLoc where = SourceLoc::here());
Expr inf(DType dtype, SourceLoc where = SourceLoc::here());
Expr nan(DType dtype, SourceLoc where = SourceLoc::here());
Expr eps(DType dtype, SourceLoc where = SourceLoc::here());

namespace fast {
#define TW_DECLARE(name) Expr name(const Operand& x);
TW_FAST_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE
Expr div(const Operand& a, const Operand& b);
Expr sigmoid(const Operand& x);
}  // namespace fast

/// Rounded as asked and never contracted; f32 and f64 (E-TYPE-07).
namespace ieee {
Expr add(const Operand& a, const Operand& b, Rounding rounding = Rounding::rn);
Expr sub(const Operand& a, const Operand& b, Rounding rounding = Rounding::rn);
Expr mul(const Operand& a, const Operand& b, Rounding rounding = Rounding::rn);
Expr div(const Operand& a, const Operand& b, Rounding rounding = Rounding::rn);
Expr fma(const Operand& a, const Operand& b, const Operand& c, Rounding rounding = Rounding::rn);
Expr rcp(const Operand& x, Rounding rounding = Rounding::rn);
Expr sqrt(const Operand& x, Rounding rounding = Rounding::rn);
Expr rsqrt(const Operand& x);
}  // namespace ieee

}  // namespace lang
}  // namespace tw
