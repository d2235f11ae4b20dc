#include "tilewright/pass/bounds.h"

#include <numeric>

#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;

bool reads_memory(const Linear& sum) {
  for (const Linear::Term& term : sum.terms) {
    if (ir::has_load(term.expr)) return true;
  }
  return false;
}

/// Whether every value of the set, if it has the type `from`, is one of type `to`.
bool fits(const ValueSet& values, DType from, DType to) {
  if (from == to) return true;
  if (from == u64 && values.hi == INT64_MAX) return false;
  return values.within(ValueSet::of_type(to));
}

}  // namespace

Bounds::Bounds(const ir::Program& program) {
  for (const ir::Symbol& symbol : program.symbols) {
    bind(symbol.var, ir::index(symbol.min),
         symbol.max == INT64_MAX ? Expr() : ir::index(symbol.max + 1));
    refine(symbol.var, {INT64_MIN, INT64_MAX, symbol.multiple_of, 0});
  }
}

Bounds::Scope::~Scope() {
  while (bounds_.refined_.size() > refined_) {
    auto& [index, values] = bounds_.refined_.back();
    bounds_.known_[index].values = values;
    bounds_.refined_.pop_back();
  }
  bounds_.known_.resize(known_);
  bounds_.facts_.resize(facts_);
}

void Bounds::bind(const ir::Var& var, const Expr& lo, const Expr& hi, int64_t step) {
  Known known{var, std::nullopt, std::nullopt, ValueSet::of_type(var.dtype())};
  ValueSet range;
  if (lo) {
    known.lo = linear(lo);
    const ValueSet first = values(lo);
    range.lo = first.lo;
    range.modulus = std::gcd(first.modulus, step);
    range.remainder = first.remainder;
  }
  if (hi) {
    known.hi = linear(hi).add(-1);
    range.hi = values(*known.hi).hi;
  }
  if (range.modulus == 0) range = {range.lo, range.hi};
  range.remainder = ((range.remainder % range.modulus) + range.modulus) % range.modulus;
  known.values = known.values.meet(range.tightened());
  Linear some;  // hi - lo: not negative, since there is a value
  if (known.lo && known.hi) some.add(*known.hi).add(*known.lo, -1);
  known_.push_back(std::move(known));
  add_fact(std::move(some));
}

void Bounds::bind_value(const ir::Var& var, const Expr& value) {
  if (!value.dtype().is_int() && !value.dtype().is_bool()) return;
  Known known{var, std::nullopt, std::nullopt, values(value)};
  if (!ir::has_load(value)) known.lo = known.hi = linear(value);
  known_.push_back(std::move(known));
}

void Bounds::assume(const Expr& condition, bool holds) {
  if (condition.is<ir::VarNode>()) return refine(condition, ValueSet::constant(holds ? 1 : 0));
  const auto* op = condition.try_as<ir::Op>();
  if (op == nullptr) return;
  if (op->code == OpCode::lnot) return assume(op->args[0], !holds);
  if (op->code == (holds ? OpCode::land : OpCode::lor)) {
    assume(op->args[0], holds);
    assume(op->args[1], holds);
    return;
  }
  if (ir::op_row(op->code).op_class != ir::OpClass::compare || !op->args[0].dtype().is_int()) {
    return;
  }
  Linear gap = linear(op->args[1]);  // b - a
  gap.add(linear(op->args[0]), -1);
  if (reads_memory(gap)) return;
  Linear reverse = Linear(gap).scale(-1);
  const OpCode code = op->code;
  if (code == OpCode::eq || code == OpCode::ne) {
    if ((code == OpCode::eq) == holds) {
      add_fact(gap);
      add_fact(reverse);
      // x % c == r
      const auto* mod = op->args[0].try_as<ir::Op>();
      const auto r = ir::as_int(op->args[1]);
      if (mod == nullptr || mod->code != OpCode::floormod || !r) return;
      const auto c = ir::as_int(mod->args[1]);
      if (c && *c > 0 && *r >= 0 && *r < *c && mod->args[0].is<ir::VarNode>()) {
        refine(mod->args[0], {INT64_MIN, INT64_MAX, *c, *r});
      }
    } else {  // different, so one apart where they can't be less
      const ValueSet difference = values(gap);
      if (difference.lo == 0) add_fact(gap.add(-1));
      if (difference.hi == 0) add_fact(reverse.add(-1));
    }
    return;
  }
  // a < b and a <= b; the negation of a > b is a <= b.
  const bool less = (code == OpCode::lt || code == OpCode::le) == holds;
  const bool strict = (code == OpCode::lt || code == OpCode::gt) == holds;
  add_fact((less ? gap : reverse).add(strict ? -1 : 0));
}

void Bounds::add_fact(Linear sum) {
  if (sum.overflowed || sum.is_constant()) return;
  int64_t common = 0;
  for (const Linear::Term& term : sum.terms) common = std::gcd(common, term.coefficient);
  if (common > 1) {
    for (Linear::Term& term : sum.terms) term.coefficient /= common;
    sum.constant = floor_div(sum.constant, common);
  }
  if (const auto* quotient = sum.terms[0].expr.try_as<ir::Op>();
      quotient != nullptr && quotient->code == OpCode::floordiv && sum.terms.size() == 1) {
    // x div c + k >= 0 where x + k c >= 0, and k - x div c >= 0 where (k + 1) c - 1 - x >= 0
    const auto c = ir::as_int(quotient->args[1]);
    if (c && *c > 0) {
      const Linear x = linear(quotient->args[0]);
      const int64_t sign = sum.terms[0].coefficient > 0 ? 1 : -1;
      Linear inner = Linear(sum.constant).scale(*c).add(sign < 0 ? *c - 1 : 0).add(x, sign);
      return add_fact(std::move(inner));
    }
  }
  for (const Linear::Term& term : sum.terms) {  // coefficient * term >= -(the rest at its highest)
    if (!term.expr.is<ir::VarNode>()) continue;
    Linear rest = sum;
    rest.add(term.expr, -term.coefficient);
    const int64_t highest = values(rest).hi;
    if (highest == INT64_MAX || highest == INT64_MIN || term.coefficient == INT64_MIN) continue;
    const int64_t c = term.coefficient;
    refine(term.expr, c > 0 ? ValueSet{-floor_div(highest, c), INT64_MAX}
                            : ValueSet{INT64_MIN, floor_div(highest, -c)});
  }
  facts_.push_back(std::move(sum));
}

void Bounds::refine(const Expr& var, const ValueSet& values) {
  const Known* known = find(var);
  if (known == nullptr) {
    known_.push_back(
        {ir::Var::of(var), std::nullopt, std::nullopt, ValueSet::of_type(var.dtype())});
    known = &known_.back();
  }
  const auto index = static_cast<size_t>(known - known_.data());
  refined_.emplace_back(index, known->values);
  known_[index].values = known->values.meet(values);
}

const Bounds::Known* Bounds::find(const Expr& var) const {
  for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
    if (known->var.same_as(var)) return &*known;
  }
  return nullptr;
}

ValueSet Bounds::values(const Expr& expr) const {
  int steps = 64;  // what is shared is looked at once for each use
  return values(expr, steps);
}

ValueSet Bounds::values(const Expr& expr, int& steps) const {
  if (--steps < 0) return ValueSet::of_type(expr.dtype());
  switch (expr.kind()) {
    case ir::Kind::Const: {
      const int64_t value = expr.as<ir::Const>().i;
      if (expr.dtype().is_float()) return {};
      if (expr.dtype() == u64 && value < 0) return {INT64_MAX, INT64_MAX};
      return ValueSet::constant(value);
    }
    case ir::Kind::VarNode: {
      const Known* known = find(expr);
      return known != nullptr ? known->values : ValueSet::of_type(expr.dtype());
    }
    case ir::Kind::Cast: {
      const Expr& value = expr.as<ir::Cast>().value;
      const ValueSet type = ValueSet::of_type(expr.dtype());
      if (!value.dtype().is_int() && !value.dtype().is_bool()) return type;
      const ValueSet from = values(value, steps);
      if (expr.dtype().is_bool()) return from.single() ? ValueSet::constant(from.lo != 0) : type;
      return fits(from, value.dtype(), expr.dtype()) ? from : type;
    }
    case ir::Kind::Op: {
      const auto& op = expr.as<ir::Op>();
      if (op.dtype.lanes != 1 || !op.dtype.is_int()) return ValueSet::of_type(op.dtype);
      if (ir::op_row(op.code).op_class == ir::OpClass::choice) {
        return values(op.args[1], steps).join(values(op.args[2], steps));
      }
      if (ir::op_row(op.code).op_class == ir::OpClass::reinterpret || op.args.size() > 2) {
        return ValueSet::of_type(op.dtype);
      }
      const ValueSet a = values(op.args[0], steps);
      return apply(op.code, op.dtype, a,
                   op.args.size() == 2 ? values(op.args[1], steps) : ValueSet::constant(0));
    }
    default:
      return ValueSet::of_type(expr.dtype());
  }
}

ValueSet Bounds::values(const Linear& sum) const {
  ValueSet total = ValueSet::constant(sum.constant);
  for (const Linear::Term& term : sum.terms) {
    total = total + ValueSet::constant(term.coefficient) * values(term.expr);
  }
  return total;
}

bool Bounds::opens(const Expr& operation) const {
  if (const auto* cast = operation.try_as<ir::Cast>()) {
    const DType from = cast->value.dtype();
    return from.is_int() && cast->dtype.is_int() && fits(values(cast->value), from, cast->dtype);
  }
  const auto& op = operation.as<ir::Op>();
  if (op.dtype.lanes != 1) return false;
  if (op.dtype == i64) return true;
  return pass::is_exact(op.code, op.dtype, values(op.args[0]),
                        op.args.size() > 1 ? values(op.args[1]) : ValueSet::constant(0));
}

bool Bounds::decides(const Expr& condition, bool outcome) const {
  if (const auto* constant = condition.try_as<ir::Const>()) return (constant->i != 0) == outcome;
  if (condition.is<ir::VarNode>()) return values(condition).single() == int64_t{outcome};
  const auto* op = condition.try_as<ir::Op>();
  if (op == nullptr) return false;
  switch (op->code) {
    case OpCode::lnot:
      return decides(op->args[0], !outcome);
    case OpCode::land:
    case OpCode::lor:
      if ((op->code == OpCode::land) == outcome) {
        return decides(op->args[0], outcome) && decides(op->args[1], outcome);
      }
      return decides(op->args[0], outcome) || decides(op->args[1], outcome);
    default:
      break;
  }
  if (ir::op_row(op->code).op_class != ir::OpClass::compare) return false;
  return op->args[0].dtype().is_int() && op->args[0].dtype().lanes == 1 &&
         decides_comparison(*op, outcome);
}

bool Bounds::decides_comparison(const ir::Op& op, bool outcome) const {
  Linear gap = linear(op.args[1]);  // b - a
  gap.add(linear(op.args[0]), -1);
  if (op.code == OpCode::eq || op.code == OpCode::ne) {
    const ValueSet difference = values(gap);
    if ((op.code == OpCode::eq) != outcome) {
      if (gap.overflowed) return false;
      return !difference.contains(0) || not_negative(Linear(gap).add(-1)) ||
             not_negative(Linear(gap).scale(-1).add(-1));
    }
    return !gap.overflowed && difference.contains(0) && not_negative(gap) &&
           not_negative(Linear(gap).scale(-1));
  }
  const bool less = (op.code == OpCode::lt || op.code == OpCode::le) == outcome;
  const bool strict = (op.code == OpCode::lt || op.code == OpCode::gt) == outcome;
  if (!less) gap.scale(-1);
  return not_negative(gap.add(strict ? -1 : 0));
}

void bind_launch(Bounds& bounds, const ir::Launch& launch) {
  if (launch.guard) bounds.assume(launch.guard);
  for (size_t d = 0; d < launch.grid.size(); ++d) {
    bounds.bind(launch.block_vars[d], ir::index(0), launch.grid[d]);
  }
  if (!launch.thread || launch.threads.empty()) return;
  int64_t threads = 1;
  for (const int64_t extent : launch.threads) threads *= extent;
  bounds.bind(launch.thread, ir::index(0), ir::index(threads));
}

ir::Stmt rewrite_if(Bounds& bounds, ir::Rewriter& rewriter, const ir::Stmt& stmt) {
  const auto& branch = stmt.as<ir::If>();
  const Expr cond = rewriter.rewrite(branch.cond);
  const auto under = [&](bool holds, const ir::Stmt& body) {
    const Bounds::Scope scope(bounds);
    bounds.assume(branch.cond, holds);
    return rewriter.rewrite(body);
  };
  const ir::Stmt then_body = under(true, branch.then_body);
  const ir::Stmt else_body = under(false, branch.else_body);
  const bool same = cond.same_as(branch.cond) && then_body.same_as(branch.then_body) &&
                    else_body.same_as(branch.else_body);
  return same ? stmt : ir::if_(cond, then_body, else_body);
}

}  // namespace tw::pass
