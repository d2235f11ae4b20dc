#include "tilewright/pass/linear.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

/// Equality of terms that is cheap and never wrong: same node, or same operation on equal terms.
bool same_term(const ir::Expr& a, const ir::Expr& b) {
  if (a.same_as(b)) return true;
  if (a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
  if (const auto* x = a.try_as<ir::Const>()) {
    return x->i == b.as<ir::Const>().i && x->f == b.as<ir::Const>().f;
  }
  const auto* x = a.try_as<ir::Op>();
  if (x == nullptr) return false;
  const auto& y = b.as<ir::Op>();
  if (x->code != y.code || x->args.size() != y.args.size()) return false;
  for (size_t i = 0; i < x->args.size(); ++i) {
    if (!same_term(x->args[i], y.args[i])) return false;
  }
  return true;
}

}  // namespace

Linear Linear::of(const ir::Expr& expr) {
  Linear sum;
  if (const auto value = ir::as_int(expr)) {
    sum.constant = *value;
    return sum;
  }
  if (const auto* op = expr.try_as<ir::Op>(); op != nullptr && op->dtype.is_int()) {
    if (op->code == ir::OpCode::add || op->code == ir::OpCode::sub) {
      sum.add(of(op->args[0]));
      return sum.add(of(op->args[1]), op->code == ir::OpCode::add ? 1 : -1);
    }
    if (op->code == ir::OpCode::mul) {
      const Linear a = of(op->args[0]), b = of(op->args[1]);
      if (b.is_constant()) return sum.add(a, b.constant);
      if (a.is_constant()) return sum.add(b, a.constant);
    }
    if (op->code == ir::OpCode::neg) return sum.add(of(op->args[0]), -1);
  }
  return sum.add(expr, 1);
}

std::optional<int64_t> Linear::coefficient_of(const ir::Var& var) const {
  int64_t coefficient = 0;
  for (const Term& term : terms) {
    if (term.expr.same_as(var)) {
      coefficient = term.coefficient;
    } else if (uses(term.expr, var)) {
      return std::nullopt;
    }
  }
  return coefficient;
}

Linear Linear::without(const ir::Var& var) const {
  Linear rest = *this;
  std::erase_if(rest.terms, [&](const Term& term) { return term.expr.same_as(var); });
  return rest;
}

Linear& Linear::add(const Linear& other, int64_t factor) {
  constant += factor * other.constant;
  for (const Term& term : other.terms) add(term.expr, factor * term.coefficient);
  return *this;
}

Linear& Linear::add(const ir::Expr& term, int64_t coefficient) {
  if (coefficient == 0) return *this;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!same_term(terms[i].expr, term)) continue;
    terms[i].coefficient += coefficient;
    if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
    return *this;
  }
  terms.push_back({term, coefficient});
  return *this;
}

ir::Expr Linear::to_expr(DType dtype) const {
  ir::Expr sum = ir::int_const(dtype, 0);
  for (const Term& term : terms) {
    const int64_t c = term.coefficient;
    if (c < 0) {
      sum = ir::sub(sum, ir::mul(term.expr, ir::int_const(dtype, -c)));
    } else {
      sum = ir::add(sum, ir::mul(term.expr, ir::int_const(dtype, c)));
    }
  }
  return ir::add(sum, ir::int_const(dtype, constant));
}

bool uses(const ir::Expr& expr, const ir::Var& var) {
  return ir::contains(expr, [&](const ir::Expr& e) { return e.same_as(var); });
}
bool uses(const ir::Stmt& stmt, const ir::Var& var) {
  bool found = false;
  ir::for_each_expr(stmt, [&](const ir::Expr& e) { found = found || e.same_as(var); });
  return found;
}

}  // namespace tw::pass
