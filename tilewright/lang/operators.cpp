#include "tilewright/lang/operators.h"

#include "tilewright/ir/build.h"

namespace tw {
inline namespace lang {

using ir::OpCode;

namespace {

Expr binary(std::string_view symbol, OpCode code, const Operand& a, const Operand& b) {
  return element_op({symbol, a.where()}, code, {a.value(), b.value()});
}

/// Whether the operands meet as integers, so that `/` means the C rule.
bool on_integers(const Operand& a, const Operand& b) {
  return !a.value().dtype().is_float() && !b.value().dtype().is_float();
}

}  // namespace

Expr add(const Operand& a, const Operand& b) { return binary("+", OpCode::add, a, b); }
Expr sub(const Operand& a, const Operand& b) { return binary("-", OpCode::sub, a, b); }
Expr mul(const Operand& a, const Operand& b) { return binary("*", OpCode::mul, a, b); }
Expr div(const Operand& a, const Operand& b) {
  return binary("/", on_integers(a, b) ? OpCode::truncdiv : OpCode::fdiv, a, b);
}
Expr mod(const Operand& a, const Operand& b) {
  return binary("%", on_integers(a, b) ? OpCode::truncmod : OpCode::fmod, a, b);
}
Expr bit_and(const Operand& a, const Operand& b) { return binary("&", OpCode::bit_and, a, b); }
Expr bit_or(const Operand& a, const Operand& b) { return binary("|", OpCode::bit_or, a, b); }
Expr bit_xor(const Operand& a, const Operand& b) { return binary("^", OpCode::bit_xor, a, b); }
Expr equal(const Operand& a, const Operand& b) { return binary("==", OpCode::eq, a, b); }
Expr not_equal(const Operand& a, const Operand& b) { return binary("!=", OpCode::ne, a, b); }
Expr less(const Operand& a, const Operand& b) { return binary("<", OpCode::lt, a, b); }
Expr less_equal(const Operand& a, const Operand& b) { return binary("<=", OpCode::le, a, b); }
Expr greater(const Operand& a, const Operand& b) { return binary(">", OpCode::gt, a, b); }
Expr greater_equal(const Operand& a, const Operand& b) { return binary(">=", OpCode::ge, a, b); }
Expr logical_and(const Operand& a, const Operand& b) { return binary("&&", OpCode::land, a, b); }
Expr logical_or(const Operand& a, const Operand& b) { return binary("||", OpCode::lor, a, b); }

namespace {

/// A shift has the type of what is shifted, whatever the count's type.
Expr shift(std::string_view symbol, OpCode code, const Operand& a, const Operand& count) {
  const Expr& n = count.value();
  const bool as_is = n.is_number() || a.value().is_number() || !n.dtype().is_int();
  const Expr converted = as_is ? n : Expr(ir::cast(a.value().dtype(), n.ir()));
  return element_op({symbol, a.where()}, code, {a.value(), converted});
}

}  // namespace

Expr shl(const Operand& a, const Operand& b) { return shift("<<", OpCode::shl, a, b); }
Expr shr(const Operand& a, const Operand& b) { return shift(">>", OpCode::shr, a, b); }

Expr neg(const Operand& a) { return element_op({"-", a.where()}, OpCode::neg, {a.value()}); }
Expr bit_not(const Operand& a) {
  return element_op({"~", a.where()}, OpCode::bit_not, {a.value()});
}
Expr logical_not(const Operand& a) {
  return element_op({"!", a.where()}, OpCode::lnot, {a.value()});
}

}  // namespace lang
}  // namespace tw
