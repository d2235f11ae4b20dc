// The search for a proof that a sum is not negative (bounds.h).
#include <algorithm>

#include "tilewright/ir/build.h"
#include "tilewright/pass/bounds.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;

constexpr int kDepth = 8;   // replacements in a row
constexpr int kSteps = 24;  // sums looked at

/// The sum with `limit` in place of `scale` times the term, all times `scale` > 0.
Linear replaced(const Linear& sum, const Linear::Term& term, const Linear& limit,
                int64_t scale = 1) {
  Linear next = sum;
  next.add(term.expr, -term.coefficient).scale(scale);
  return next.add(limit, term.coefficient);
}

}  // namespace

bool Bounds::not_negative(const Linear& sum) const {
  int steps = kSteps;
  return not_negative(sum, kDepth, steps);
}

bool Bounds::not_negative(Linear sum, int depth, int& steps) const {
  if (sum.overflowed || --steps < 0) return false;
  const ValueSet range = values(sum);
  if (range.lo >= 0) return true;
  if (range.hi < 0 || depth == 0) return false;
  // A sum = r (mod m) is not negative exactly if it is above r - m.
  if (range.modulus > 1) sum.add(range.modulus - 1 - range.remainder);

  if (by_fact(sum, depth - 1, steps) || by_variable(sum, depth - 1, steps)) return true;
  return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Linear::Term& term) {
    return by_operation(sum, term, depth - 1, steps);
  });
}

bool Bounds::by_fact(const Linear& sum, int depth, int& steps) const {
  for (auto fact = facts_.rbegin(); fact != facts_.rend(); ++fact) {
    for (const Linear::Term& term : fact->terms) {
      const auto in_sum =
          std::find_if(sum.terms.begin(), sum.terms.end(),
                       [&](const Linear::Term& t) { return same_expr(t.expr, term.expr); });
      if (in_sum == sum.terms.end()) continue;
      const int64_t times = in_sum->coefficient / term.coefficient;
      if (times <= 0) continue;
      Linear rest = sum;
      rest.add(*fact, -times);
      if (rest.terms.size() > sum.terms.size()) continue;
      if (not_negative(std::move(rest), depth, steps)) return true;
      break;
    }
  }
  return false;
}

// Inner variables are bound later than those that their bounds mention, so replacing the last one
// first comes to an end.
bool Bounds::by_variable(const Linear& sum, int depth, int& steps) const {
  const Known* last = nullptr;
  const Linear::Term* chosen = nullptr;
  for (const Linear::Term& term : sum.terms) {
    if (!term.expr.is<ir::VarNode>()) continue;
    const Known* known = find(term.expr);
    if (known == nullptr || known <= last || known->bound(term.coefficient > 0) == nullptr) {
      continue;
    }
    last = known;
    chosen = &term;
  }
  if (last == nullptr) return false;
  const Linear* limit = last->bound(chosen->coefficient > 0);
  return not_negative(replaced(sum, *chosen, *limit), depth, steps);
}

bool Bounds::by_operation(const Linear& sum, const Linear::Term& term, int depth,
                          int& steps) const {
  const auto* op = term.expr.try_as<ir::Op>();
  if (op == nullptr || op->args.size() < 2 || steps <= 0) return false;
  if (op->code == OpCode::mul) return opens(term.expr) && by_product(sum, term, depth, steps);
  const bool lower = term.coefficient > 0;  // a lower bound of the term is needed
  const auto with = [&](const Linear& limit, int64_t scale = 1) {
    return not_negative(replaced(sum, term, limit, scale), depth, steps);
  };
  const auto with_arg = [&](size_t i) { return with(linear(op->args[i])); };
  switch (op->code) {
    case OpCode::truncdiv:
    case OpCode::truncmod:
      if (values(op->args[0]).lo < 0) return false;
      [[fallthrough]];
    case OpCode::floordiv:
    case OpCode::floormod: {
      const ValueSet divisor = values(op->args[1]);
      if (divisor.lo <= 0) return false;
      if (op->code == OpCode::floormod || op->code == OpCode::truncmod) {
        if (lower) return with(Linear(0));
        return with(linear(op->args[1]).add(-1)) || (values(op->args[0]).lo >= 0 && with_arg(0));
      }
      const auto c = divisor.single();  // c * (x div c) is in [x - (c - 1), x]
      if (c) return with(linear(op->args[0]).add(lower ? 1 - *c : 0), *c);
      return !lower && values(op->args[0]).lo >= 0 && with_arg(0);
    }
    case OpCode::min:
      return lower ? with_arg(0) && with_arg(1) : with_arg(0) || with_arg(1);
    case OpCode::max:
      return lower ? with_arg(0) || with_arg(1) : with_arg(0) && with_arg(1);
    case OpCode::select:
    case OpCode::if_else:
      return with_arg(1) && with_arg(2);
    default:
      return false;
  }
}

// A product of a variable or quotient with something not negative lies between the products of its
// bounds: bx * rows with bx < cdiv(n, rows) is at most (cdiv(n, rows) - 1) * rows < n.
bool Bounds::by_product(const Linear& sum, const Linear::Term& term, int depth, int& steps) const {
  std::vector<Expr> factors;
  for (Expr rest = term.expr; rest;) {
    const auto* op = rest.try_as<ir::Op>();
    const bool more = op != nullptr && op->code == OpCode::mul;
    factors.push_back(more ? op->args[1] : rest);
    rest = more ? op->args[0] : Expr();
  }
  const bool lower = term.coefficient > 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    Linear others(1);
    for (size_t j = 0; j < factors.size(); ++j) {
      if (j != i) others = product(others, linear(factors[j]));
    }
    if (values(others).lo < 0) continue;
    const Known* known = find(factors[i]);
    if (const Linear* bound = known != nullptr ? known->bound(lower) : nullptr) {
      const Linear limit = product(*bound, others);
      if (not_negative(replaced(sum, term, limit), depth, steps)) return true;
    }
    const auto* quotient = factors[i].try_as<ir::Op>();
    if (factors.size() != 2 || quotient == nullptr || quotient->code != OpCode::floordiv) continue;
    const Expr& divisor = quotient->args[1];
    if (!same_expr(divisor, factors[1 - i]) || values(divisor).lo <= 0) continue;
    Linear limit = linear(quotient->args[0]);
    if (lower) limit.add(linear(divisor), -1).add(1);
    if (not_negative(replaced(sum, term, limit), depth, steps)) return true;
  }
  return false;
}

}  // namespace tw::pass
