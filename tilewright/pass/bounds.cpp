#include "tilewright/pass/bounds.h"

#include "tilewright/ir/build.h"

namespace tw::pass {
namespace {

constexpr int kMaxSteps = 8;  // substitutions tried in a row

/// Bounds of a term that is no variable, from its operation: 0 <= x mod c < c, c * (x div c) <= x,
/// ...
struct TermBound {
  std::optional<Linear> lo, hi;  // of `scale * term`
  int64_t scale = 1;
};

TermBound bound_of_term(const ir::Expr& term) {
  TermBound bound;
  const auto* op = term.try_as<ir::Op>();
  if (op == nullptr || op->args.size() < 2) return bound;
  const auto c = ir::as_int(op->args[1]);
  switch (op->code) {
    case ir::OpCode::floormod:
      if (!c || *c <= 0) break;
      bound.lo = Linear{};
      bound.hi = Linear{{}, *c - 1};
      break;
    case ir::OpCode::floordiv: {  // c * (x div c) is in [x - (c - 1), x]
      if (!c || *c <= 0) break;
      bound.scale = *c;
      bound.hi = Linear::of(op->args[0]);
      bound.lo = bound.hi;
      bound.lo->constant -= *c - 1;
      break;
    }
    case ir::OpCode::min:
      bound.hi = c ? Linear{{}, *c} : Linear::of(op->args[0]);
      break;
    case ir::OpCode::max:
      bound.lo = c ? Linear{{}, *c} : Linear::of(op->args[0]);
      break;
    default:
      break;
  }
  return bound;
}

}  // namespace

Bounds::Bounds(const ir::Program& program) {
  for (const ir::Symbol& symbol : program.symbols) {
    bind(symbol.var, ir::index(symbol.min),
         symbol.max == INT64_MAX ? ir::Expr() : ir::index(symbol.max + 1));
  }
}

void Bounds::bind(const ir::Var& var, const ir::Expr& lo, const ir::Expr& hi) {
  Range range{var, std::nullopt, std::nullopt};
  if (lo) range.lo = Linear::of(lo);
  if (hi) {
    range.hi = Linear::of(hi);
    range.hi->constant -= 1;
  }
  std::erase_if(ranges_, [&](const Range& r) { return r.var.same_as(var); });
  ranges_.push_back(std::move(range));
}

void Bounds::bind_value(const ir::Var& var, const ir::Expr& value) {
  if (!value.dtype().is_int()) return;
  Range range{var, Linear::of(value), Linear::of(value)};
  std::erase_if(ranges_, [&](const Range& r) { return r.var.same_as(var); });
  ranges_.push_back(std::move(range));
}

void Bounds::assume(const ir::Expr& condition) {
  const auto* op = condition.try_as<ir::Op>();
  if (op == nullptr) return;
  if (op->code == ir::OpCode::land) {
    assume(op->args[0]);
    assume(op->args[1]);
    return;
  }
  if (op->args.size() != 2 || !op->args[0].dtype().is_int()) return;
  const Linear a = Linear::of(op->args[0]), b = Linear::of(op->args[1]);
  const auto fact = [&](const Linear& low, const Linear& high, int64_t gap) {
    Linear sum = high;  // high - low - gap >= 0
    sum.add(low, -1);
    sum.constant -= gap;
    facts_.push_back(std::move(sum));
  };
  switch (op->code) {
    case ir::OpCode::lt:
      fact(a, b, 1);
      break;
    case ir::OpCode::le:
      fact(a, b, 0);
      break;
    case ir::OpCode::gt:
      fact(b, a, 1);
      break;
    case ir::OpCode::ge:
      fact(b, a, 0);
      break;
    case ir::OpCode::eq:
      fact(a, b, 0);
      fact(b, a, 0);
      break;
    default:
      break;
  }
}

const Bounds::Range* Bounds::find(const ir::Expr& var) const {
  for (const Range& range : ranges_) {
    if (range.var.same_as(var)) return &range;
  }
  return nullptr;
}

// Replaces the most recently bound variable by the bound that makes the sum smallest, until a
// constant is left. Inner variables are bound later than those their bounds mention, so the order
// terminates.
bool Bounds::proves_not_negative(const Linear& sum, int depth) const {
  if (sum.is_constant()) return sum.constant >= 0;
  for (const Linear& fact : facts_) {  // sum - fact is a constant >= 0
    Linear rest = sum;
    rest.add(fact, -1);
    if (rest.is_constant() && rest.constant >= 0) return true;
  }
  if (depth == 0) return false;

  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    for (const Linear::Term& term : sum.terms) {
      if (!term.expr.same_as(range->var)) continue;
      const auto& limit = term.coefficient > 0 ? range->lo : range->hi;
      if (!limit) return false;
      Linear next = sum.without(range->var);
      next.add(*limit, term.coefficient);
      return proves_not_negative(next, depth - 1);
    }
  }
  for (const Linear::Term& term : sum.terms) {
    const TermBound bound = bound_of_term(term.expr);
    const auto& limit = term.coefficient > 0 ? bound.lo : bound.hi;
    if (!limit || term.coefficient % bound.scale != 0) continue;
    Linear next = sum;
    const int64_t coefficient = term.coefficient;
    next.add(term.expr, -coefficient);
    next.add(*limit, coefficient / bound.scale);
    return proves_not_negative(next, depth - 1);
  }
  return false;
}

bool Bounds::proves_le(const ir::Expr& a, const ir::Expr& b) const {
  Linear difference = Linear::of(b);
  difference.add(Linear::of(a), -1);
  return proves_not_negative(difference, kMaxSteps);
}

bool Bounds::proves(const ir::Expr& condition) const {
  if (ir::is_true(condition)) return true;
  const auto* op = condition.try_as<ir::Op>();
  if (op == nullptr || op->args.size() != 2) return false;
  const ir::Expr &a = op->args[0], &b = op->args[1];
  if (op->code == ir::OpCode::land) return proves(a) && proves(b);
  if (op->code == ir::OpCode::lor) return proves(a) || proves(b);
  if (!a.dtype().is_int()) return false;
  Linear difference = Linear::of(b);
  difference.add(Linear::of(a), -1);
  switch (op->code) {
    case ir::OpCode::le:
      return proves_not_negative(difference, kMaxSteps);
    case ir::OpCode::lt:
      difference.constant -= 1;
      return proves_not_negative(difference, kMaxSteps);
    case ir::OpCode::ge:
      return proves_le(b, a);
    case ir::OpCode::gt:
      difference = Linear::of(a);
      difference.add(Linear::of(b), -1);
      difference.constant -= 1;
      return proves_not_negative(difference, kMaxSteps);
    default:
      return false;
  }
}

}  // namespace tw::pass
