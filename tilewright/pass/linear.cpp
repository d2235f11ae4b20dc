#include "tilewright/pass/linear.h"

#include <algorithm>

#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;

/// a * b and a + b modulo 2^64, noting whether they fit, and their negation too.
int64_t times(int64_t a, int64_t b, bool& overflowed) {
  int64_t result;
  overflowed |= __builtin_mul_overflow(a, b, &result) || result == INT64_MIN;
  return result;
}
int64_t plus(int64_t a, int64_t b, bool& overflowed) {
  int64_t result;
  overflowed |= __builtin_add_overflow(a, b, &result) || result == INT64_MIN;
  return result;
}
uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

constexpr size_t kMostProducts = 16;  // terms of a product that is multiplied out

bool all_of_type(const Linear& sum, DType dtype) {
  return std::all_of(sum.terms.begin(), sum.terms.end(),
                     [&](const Linear::Term& term) { return term.expr.dtype() == dtype; });
}

/// Reads one expression. Shared subexpressions are read once for each use, so there is a limit.
class Collector {
 public:
  Collector(const SumReader* reader, Linear& sum) : reader_(reader), sum_(sum) {}

  /// Adds factor * expr to the sum.
  void collect(const Expr& expr, int64_t factor) {
    const auto value = ir::as_int(expr);
    const bool wraps = reader_ != nullptr && reader_->wraps();
    if (value && (*value >= 0 || expr.dtype() != u64 || wraps)) {
      return void(sum_.add(scaled(factor, *value)));
    }
    if (--steps_ < 0 || !opens(expr)) return void(sum_.add(expr, factor));
    if (const auto* cast = expr.try_as<ir::Cast>()) return collect(cast->value, factor);
    const auto& args = expr.as<ir::Op>().args;
    switch (expr.as<ir::Op>().code) {
      case OpCode::add:
        collect(args[0], factor);
        return collect(args[1], factor);
      case OpCode::sub:
        collect(args[0], factor);
        return collect(args[1], scaled(factor, -1));
      case OpCode::neg:
        return collect(args[0], scaled(factor, -1));
      case OpCode::shl:
        if (const auto count = ir::as_int(args[1]); count && *count >= 0 && *count < 62) {
          return collect(args[0], scaled(factor, int64_t{1} << *count));
        }
        break;
      case OpCode::mul:
        if (const auto c = ir::as_int(args[1])) return collect(args[0], scaled(factor, *c));
        if (const auto c = ir::as_int(args[0])) return collect(args[1], scaled(factor, *c));
        if (reader_ != nullptr && reader_->distributes()) {
          const Linear a = Linear::of(args[0], *reader_), b = Linear::of(args[1], *reader_);
          const bool is_small = a.terms.size() * b.terms.size() <= kMostProducts;
          if (is_small && all_of_type(a, expr.dtype()) && all_of_type(b, expr.dtype())) {
            return void(sum_.add(product(a, b), factor));
          }
        }
        break;
      default:
        break;
    }
    sum_.add(expr, factor);
  }

 private:
  bool opens(const Expr& expr) const {
    const bool is_op = expr.is<ir::Op>();
    if (!is_op && !expr.is<ir::Cast>()) return false;
    if (reader_ != nullptr) return expr.dtype().is_int() && reader_->opens(expr);
    return is_op && expr.dtype().is_signed_int() && expr.dtype().lanes == 1;
  }
  int64_t scaled(int64_t a, int64_t b) { return times(a, b, sum_.overflowed); }

  const SumReader* reader_;
  Linear& sum_;
  int steps_ = 256;
};

void append_factors(const Expr& expr, std::vector<Expr>& factors) {
  const auto* op = expr.try_as<ir::Op>();
  if (op == nullptr || op->code != OpCode::mul) return factors.push_back(expr);
  append_factors(op->args[0], factors);
  append_factors(op->args[1], factors);
}
/// a * b with its factors in one order.
Expr monomial(const Expr& a, const Expr& b) {
  std::vector<Expr> factors;
  append_factors(a, factors);
  append_factors(b, factors);
  std::sort(factors.begin(), factors.end(), ir::ById());
  Expr result = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    result = ir::op(OpCode::mul, result.dtype(), {result, factors[i]});
  }
  return result;
}

}  // namespace

Linear Linear::of(const Expr& expr) {
  Linear sum;
  Collector(nullptr, sum).collect(expr, 1);
  return sum;
}
Linear Linear::of(const Expr& expr, const SumReader& reader) {
  Linear sum;
  Collector(&reader, sum).collect(expr, 1);
  return sum;
}

Linear product(const Linear& a, const Linear& b) {
  Linear result;
  result.overflowed = a.overflowed || b.overflowed;
  result.add(b, a.constant);
  for (const Linear::Term& x : a.terms) {
    // Terms from under casts have narrower types, in which their product would wrap.
    if (!all_of_type(b, x.expr.dtype())) result.overflowed = true;
    result.add(x.expr, times(x.coefficient, b.constant, result.overflowed));
    for (const Linear::Term& y : b.terms) {
      result.add(monomial(x.expr, y.expr), times(x.coefficient, y.coefficient, result.overflowed));
    }
  }
  return result;
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

Linear& Linear::add(int64_t value) {
  constant = plus(constant, value, overflowed);
  return *this;
}

Linear& Linear::add(const Linear& other, int64_t factor) {
  overflowed |= other.overflowed;
  add(times(factor, other.constant, overflowed));
  for (const Term& term : other.terms) add(term.expr, times(factor, term.coefficient, overflowed));
  return *this;
}

Linear& Linear::add(const Expr& term, int64_t coefficient) {
  if (coefficient == 0) return *this;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!same_expr(terms[i].expr, term)) continue;
    terms[i].coefficient = plus(terms[i].coefficient, coefficient, overflowed);
    if (terms[i].coefficient == 0) terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
    return *this;
  }
  terms.push_back({term, coefficient});
  return *this;
}

Linear& Linear::scale(int64_t factor) {
  if (factor == 1) return *this;
  constant = times(constant, factor, overflowed);
  for (Term& term : terms) term.coefficient = times(term.coefficient, factor, overflowed);
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  return *this;
}

Expr Linear::to_expr(DType dtype, SourceLoc where) const {
  const auto number = [&](uint64_t value) {
    return ir::int_const(dtype, static_cast<int64_t>(value), where);
  };
  Expr sum;
  const auto append = [&](const Expr& expr, bool negative, Expr& to) {
    if (!to) {
      to = negative ? ir::op(OpCode::neg, dtype, {expr}, where) : expr;
    } else {
      to = ir::op(negative ? OpCode::sub : OpCode::add, dtype, {to, expr}, where);
    }
  };
  // What is subtracted needs something to be subtracted from: a positive term, else the constant.
  std::vector<Term> open = terms;
  const auto first =
      std::find_if(open.begin(), open.end(), [](const Term& term) { return term.coefficient > 0; });
  const bool constant_first = first == open.end() && constant != 0;
  if (constant_first) sum = number(static_cast<uint64_t>(constant));
  if (first != open.end()) std::rotate(open.begin(), first, first + 1);

  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i].coefficient == 0) continue;  // written already
    // Alone, a large factor of an unsigned number stays the one multiply that it was.
    const bool alone = !sum && open.size() == 1 && dtype.is_unsigned_int();
    const bool negative = open[i].coefficient < 0 && (!alone || open[i].coefficient == -1);
    const uint64_t factor = negative || open[i].coefficient > 0
                                ? magnitude(open[i].coefficient)
                                : static_cast<uint64_t>(open[i].coefficient);
    Expr group = open[i].expr;
    for (size_t j = i + 1; factor != 1 && j < open.size(); ++j) {
      if (magnitude(open[j].coefficient) != factor) continue;
      append(open[j].expr, (open[j].coefficient < 0) != negative, group);
      open[j].coefficient = 0;
    }
    if (factor != 1) group = ir::op(OpCode::mul, dtype, {group, number(factor)}, where);
    append(group, negative, sum);
  }
  if (!sum) return number(static_cast<uint64_t>(constant));
  if (constant_first || constant == 0) return sum;
  append(number(magnitude(constant)), constant < 0, sum);
  return sum;
}

namespace {

struct Sameness {
  bool in_order;
  int steps = 256;

  bool same(const Expr& a, const Expr& b) {
    if (a.same_as(b)) return true;
    if (!a || !b || a.kind() != b.kind() || a.dtype() != b.dtype() || --steps < 0) return false;
    switch (a.kind()) {
      case ir::Kind::Const:
        return ir::structurally_equal(a, b);
      case ir::Kind::Op: {
        const auto &x = a.as<ir::Op>(), &y = b.as<ir::Op>();
        if (x.code != y.code || x.exactness != y.exactness || x.rounding != y.rounding) {
          return false;
        }
        if (same(x.args, y.args)) return true;
        return !in_order && ir::is_commutative(x.code) && x.args[0].dtype().is_int() &&
               same(x.args[0], y.args[1]) && same(x.args[1], y.args[0]);
      }
      case ir::Kind::Cast: {
        const auto &x = a.as<ir::Cast>(), &y = b.as<ir::Cast>();
        return x.rounding == y.rounding && x.saturate == y.saturate && same(x.value, y.value) &&
               same(x.rbits, y.rbits);
      }
      case ir::Kind::Load: {
        const auto &x = a.as<ir::Load>(), &y = b.as<ir::Load>();
        return x.buffer.same_as(y.buffer) && x.unchecked == y.unchecked &&
               same(x.indices, y.indices);
      }
      default:
        return false;
    }
  }
  bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Expr& x, const Expr& y) { return same(x, y); });
  }
};

}  // namespace

bool same_expr(const Expr& a, const Expr& b) { return Sameness{false}.same(a, b); }
bool identical(const Expr& a, const Expr& b) { return Sameness{true}.same(a, b); }

bool uses(const Expr& expr, const ir::Var& var) {
  return ir::contains(expr, [&](const Expr& e) { return e.same_as(var); });
}
bool uses(const ir::Stmt& stmt, const ir::Var& var) {
  bool found = false;
  ir::for_each_expr(stmt, [&](const Expr& e) { found = found || e.same_as(var); });
  return found;
}

}  // namespace tw::pass
