// The operators on values (language 2.2, 11.1). Promotion is fixed: int with int gives the wider,
// same width signed with unsigned the unsigned; int with float the float; two floats the wider;
// bf16 with f16 needs a cast. `/` and `%` on integers follow the C rule (toward zero).
#pragma once

#include "tilewright/lang/expr.h"

namespace tw {
inline namespace lang {

// TW_OPERATOR(symbol, function): every binary operator and the function that it calls.
#define TW_BINARY_OPERATORS(TW_OPERATOR) \
  TW_OPERATOR(+, add)                    \
  TW_OPERATOR(-, sub)                    \
  TW_OPERATOR(*, mul)                    \
  TW_OPERATOR(/, div)                    \
  TW_OPERATOR(%, mod)                    \
  TW_OPERATOR(&, bit_and)                \
  TW_OPERATOR(|, bit_or)                 \
  TW_OPERATOR(^, bit_xor)                \
  TW_OPERATOR(<<, shl)                   \
  TW_OPERATOR(>>, shr)                   \
  TW_OPERATOR(==, equal)                 \
  TW_OPERATOR(!=, not_equal)             \
  TW_OPERATOR(<, less)                   \
  TW_OPERATOR(<=, less_equal)            \
  TW_OPERATOR(>, greater)                \
  TW_OPERATOR(>=, greater_equal)         \
  TW_OPERATOR(&&, logical_and)           \
  TW_OPERATOR(||, logical_or)

#define TW_DECLARE(symbol, function)                 \
  Expr function(const Operand& a, const Operand& b); \
  inline Expr operator symbol(const Operand& a, const Operand& b) { return function(a, b); }
TW_BINARY_OPERATORS(TW_DECLARE)
#undef TW_DECLARE

Expr neg(const Operand& a);
Expr bit_not(const Operand& a);
/// True where the value is false or zero.
Expr logical_not(const Operand& a);
inline Expr operator-(const Operand& a) { return neg(a); }
inline Expr operator~(const Operand& a) { return bit_not(a); }
inline Expr operator!(const Operand& a) { return logical_not(a); }
inline Expr operator+(const Operand& a) { return a.value(); }

}  // namespace lang
}  // namespace tw
