#include "tilewright/pass/simplify_expr.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/fold.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/simplify.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpClass;
using ir::OpCode;

constexpr int kMaxDepth = 64;  // of rules applied to results of rules
constexpr int kMaxGuards =
    4;  // conditions in each other that are used: what is shared is seen anew

bool is_const(const Expr& e) { return e.is<ir::Const>(); }

/// The count of a shift by a constant of an index (in narrower types a shift is mostly there for
/// its bits); empty for others.
std::optional<int64_t> index_shift(const ir::Op& op) {
  if (op.code != OpCode::shl || op.dtype != i64) return std::nullopt;
  const auto count = ir::as_int(op.args[1]);
  return count && *count >= 0 && *count < 62 ? count : std::nullopt;
}

/// Whether an operation is part of a sum in its own arithmetic.
bool is_sum(const ir::Op& op) {
  if (!op.dtype.is_int() || op.dtype.lanes != 1) return false;
  switch (op.code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::neg:
      return true;
    case OpCode::shl:
      return index_shift(op).has_value();
    default:
      return false;
  }
}
struct RingReader : SumReader {
  bool opens(const Expr& e) const override { return e.is<ir::Op>() && is_sum(e.as<ir::Op>()); }
  bool wraps() const override { return true; }
};
struct ExactReader : SumReader {
  const Bounds& bounds;
  explicit ExactReader(const Bounds& b) : bounds(b) {}
  bool opens(const Expr& e) const override { return e.is<ir::Op>() && bounds.is_exact(e); }
};

/// A number modulo 2^bits, nearest to 0.
int64_t wrapped(int64_t value, DType dtype) {
  const int unused = 64 - dtype.bits();
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}
/// Whether some sum rule has this operation as its second term.
bool may_combine(const Linear::Term& term) {
  const auto* op = term.expr.try_as<ir::Op>();
  return op != nullptr &&
         (op->code == OpCode::floormod || op->code == OpCode::truncmod || op->code == OpCode::max);
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  return ir::make<ir::Op>(e.loc(), [&](ir::Op& n) {
    n = e.as<ir::Op>();
    n.args = std::move(args);
  });
}

}  // namespace

Expr ExprSimplifier::simplify(const Expr& expr) {
  if (!expr || is_const(expr)) return expr;
  if (expr.is<ir::VarNode>()) {
    const auto value = values_.find(expr.get());
    if (value != values_.end()) return value->second;
    if (!expr.dtype().is_int()) return expr;
    const auto single = bounds.values(expr).single();
    return single ? ir::int_const(expr.dtype(), *single, expr.loc()) : expr;
  }
  const auto known = known_.find(expr.get());
  if (known != known_.end()) return known->second.result;
  const Expr result = compute(expr);
  known_[expr.get()] = {expr, result};
  if (!result.same_as(expr)) known_[result.get()] = {result, result};
  return result;
}

void ExprSimplifier::substitute(const ir::Var& var, const Expr& value) {
  values_[var.get()] = value;
}

Expr ExprSimplifier::compute(const Expr& expr) {
  switch (expr.kind()) {
    case ir::Kind::Load:
      return load(expr);
    case ir::Kind::Cast:
      return cast(expr);
    case ir::Kind::Op:
      return operation(expr);
    default:
      return expr;
  }
}

Expr ExprSimplifier::load(const Expr& expr) {
  const auto& old = expr.as<ir::Load>();
  const ir::Buffer from = buffer(old.buffer);
  bool changed = !from.same_as(old.buffer);
  std::vector<Expr> indices;
  for (const Expr& index : old.indices) {
    indices.push_back(simplify(index));
    changed = changed || !indices.back().same_as(index);
  }
  if (!changed) return expr;
  return ir::make<ir::Load>(expr.loc(), [&](ir::Load& n) {
    n = old;
    n.buffer = from;
    n.indices = std::move(indices);
  });
}

// A conversion through a type that holds all values is the conversion from the first.
Expr ExprSimplifier::cast(const Expr& expr) {
  const auto& old = expr.as<ir::Cast>();
  const Expr rbits = simplify(old.rbits);
  Expr value = simplify(old.value);
  if (value.dtype() == expr.dtype()) return value;
  Expr next = expr;
  const auto convert = [&](const Expr& from) {
    next = ir::make<ir::Cast>(expr.loc(), [&](ir::Cast& n) {
      n = old;
      n.value = from;
      n.rbits = rbits;
    });
  };
  if (!value.same_as(old.value) || !rbits.same_as(old.rbits)) convert(value);
  if (is_const(value)) {
    const Expr folded = ir::fold(next);
    return folded ? folded : next;
  }
  const auto* inner = value.try_as<ir::Cast>();
  if (inner == nullptr) return next;
  const DType from = inner->value.dtype(), through = value.dtype(), to = expr.dtype();
  const auto integral = [](DType t) { return t.is_int() || t.is_bool(); };
  const bool low_bits = from.is_int() && through.is_int() && to.is_int();
  const bool exact =
      holds_every(from, through) || (from.is_int() && through.is_int() && bounds.is_exact(value));
  const bool wraps_instead = integral(from) && !integral(through) && integral(to) &&
                             !holds_every(from, to) && !to.is_bool();
  if (!(exact && !wraps_instead) && !(low_bits && through.bits() >= to.bits())) return next;
  // There and back is nothing, but that infinity saturates.
  if (from == to) return to == f8_e5m2 && old.saturate ? next : inner->value;
  if (cast_error(from, to, old.rounding, old.saturate, static_cast<bool>(rbits)) != Code{}) {
    return next;
  }
  convert(inner->value);
  return next;
}

/// `expr` simplified where the condition is known to hold or fail.
Expr ExprSimplifier::under(const Expr& condition, bool holds, const Expr& expr) {
  if (guards_ >= kMaxGuards) return simplify(expr);
  const Bounds::Scope scope(bounds);
  bounds.assume(condition, holds);
  if (!scope.learned()) return simplify(expr);
  std::unordered_map<const ir::ExprBase*, Known> outside;
  std::swap(outside, known_);
  ++guards_;
  const Expr result = simplify(expr);
  --guards_;
  std::swap(outside, known_);
  return result;
}

Expr ExprSimplifier::operation(const Expr& expr) {
  const auto& op = expr.as<ir::Op>();
  if (is_sum(op)) return sum(expr);
  std::vector<Expr> args;
  bool changed = false;
  const OpClass kind = ir::op_row(op.code).op_class;
  const bool guarded = kind == OpClass::choice || op.code == OpCode::land || op.code == OpCode::lor;
  for (size_t i = 0; i < op.args.size(); ++i) {
    if (guarded && i > 0) {
      const bool holds = op.code != OpCode::lor && i == 1;
      if (is_const(args[0])) {
        // The rules take one operand; the other need not be looked at.
        args.push_back(ir::is_true(args[0]) == holds ? simplify(op.args[i]) : op.args[i]);
      } else if (op.code == OpCode::select && ir::has_load(op.args[i])) {
        args.push_back(simplify(op.args[i]));  // loaded whatever the condition says
      } else {
        args.push_back(under(args[0], holds, op.args[i]));
      }
    } else {
      args.push_back(simplify(op.args[i]));
    }
    changed = changed || !args.back().same_as(op.args[i]);
  }
  return finish(changed ? with_args(expr, std::move(args)) : expr);
}

Expr ExprSimplifier::make(OpCode code, DType dtype, std::vector<Expr> args,
                          const Expr& instead_of) {
  const Expr made = ir::make<ir::Op>(instead_of.loc(), [&](ir::Op& n) {
    n.dtype = dtype;
    n.code = code;
    n.args = std::move(args);
    if (const auto* op = instead_of.try_as<ir::Op>()) n.exactness = op->exactness;
  });
  return is_sum(made.as<ir::Op>()) ? sum(made) : finish(made);
}

Expr ExprSimplifier::finish(const Expr& expr) {
  const auto& op = expr.as<ir::Op>();
  if (std::all_of(op.args.begin(), op.args.end(), is_const)) {
    if (const Expr value = ir::fold(expr)) return value;
  }
  if (op.args.size() == 2 && is_const(op.args[0]) && !is_const(op.args[1]) &&
      ir::is_commutative(op.code) && !op.args[0].dtype().is_float()) {
    return finish(with_args(expr, {op.args[1], op.args[0]}));
  }
  if (depth_ >= kMaxDepth) return expr;
  if (ir::op_row(op.code).op_class == OpClass::compare) return finish_comparison(expr);
  if (op.dtype.is_int() && op.dtype.lanes == 1) {
    if (const auto value = bounds.values(expr).single()) {
      return ir::int_const(op.dtype, *value, expr.loc());
    }
  }
  ++depth_;
  Expr result = apply_rules(expr, bounds, *this);
  if (!result && ir::as_int(op.args.back())) result = finish_division(expr);
  --depth_;
  return result ? result : expr;
}

/// A division of named values, where writing them out leaves no division; else null.
Expr ExprSimplifier::finish_division(const Expr& expr) {
  const auto& op = expr.as<ir::Op>();
  if (named_.empty() || op.dtype != i64 ||
      (op.code != OpCode::floordiv && op.code != OpCode::floormod)) {
    return {};
  }
  const Linear sum = Linear::of(op.args[0]);
  Linear written;
  written.add(sum.constant);
  bool changed = false;
  for (const Linear::Term& term : sum.terms) {
    const auto value = named_.find(term.expr.get());
    changed = changed || value != named_.end();
    written.add(Linear::of(value != named_.end() ? value->second : term.expr), term.coefficient);
  }
  if (!changed || written.overflowed) return {};
  const Expr result =
      make(op.code, op.dtype, {written.to_expr(op.dtype, expr.loc()), op.args[1]}, expr);
  const auto* left = result.try_as<ir::Op>();
  const bool divides = left != nullptr && ir::contains(result, [](const Expr& e) {
                         const auto* part = e.try_as<ir::Op>();
                         return part != nullptr &&
                                (part->code == OpCode::floordiv || part->code == OpCode::floormod);
                       });
  return divides ? Expr() : result;
}

Expr ExprSimplifier::finish_comparison(const Expr& expr) {
  const auto& op = expr.as<ir::Op>();
  if (op.code == OpCode::gt || op.code == OpCode::ge) {
    const OpCode turned = op.code == OpCode::gt ? OpCode::lt : OpCode::le;
    return make(turned, bool_, {op.args[1], op.args[0]}, expr);
  }
  if (bounds.proves(expr)) return ir::int_const(bool_, 1, expr.loc());
  if (bounds.disproves(expr)) return ir::int_const(bool_, 0, expr.loc());
  Expr result = expr;
  if (op.args[0].dtype().is_int() && op.args[0].dtype().lanes == 1) {
    result = without_common_terms(expr);
    if (!result.is<ir::Op>()) return result;
  }
  ++depth_;
  const Expr next = apply_rules(result, bounds, *this);
  --depth_;
  return next ? next : result;
}

// a + i < a + n is i < n; 0 < n - i is i < n. Nothing is added on either side, so that nothing
// overflows that did not before.
Expr ExprSimplifier::without_common_terms(const Expr& comparison) {
  const auto& op = comparison.as<ir::Op>();
  const DType dtype = op.args[0].dtype();
  const ExactReader reader(bounds);
  Linear a = Linear::of(op.args[0], reader), b = Linear::of(op.args[1], reader);
  if (a.overflowed || b.overflowed) return comparison;
  bool changed = false;
  const std::vector<Linear::Term> left = a.terms;
  for (const Linear::Term& term : left) {
    const auto right = std::find_if(b.terms.begin(), b.terms.end(), [&](const Linear::Term& t) {
      return same_expr(t.expr, term.expr);
    });
    if (right == b.terms.end()) continue;
    const int64_t c = right->coefficient;
    if ((c > 0) != (term.coefficient > 0)) continue;
    const int64_t common = c > 0 ? std::min(c, term.coefficient) : std::max(c, term.coefficient);
    b.add(term.expr, -common);
    a.add(term.expr, -common);
    changed = true;
  }
  if (a.constant != 0 && b.constant != 0) {
    const bool to_left = !b.is_constant() && (a.is_constant() || a.constant > b.constant);
    Linear &to = to_left ? a : b, &from = to_left ? b : a;
    to.add(-from.constant);
    from.constant = 0;
    changed = true;
  }
  for (auto [zero, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!zero->is_constant() || zero->constant != 0 || dtype != i64) continue;
    const std::vector<Linear::Term> terms = other->terms;
    for (const Linear::Term& term : terms) {
      if (term.coefficient > 0) continue;
      zero->add(term.expr, -term.coefficient);
      other->add(term.expr, -term.coefficient);
      changed = true;
    }
    if (other->constant < 0 && changed && !zero->is_constant()) {
      zero->add(-other->constant);
      other->constant = 0;
    }
    break;
  }
  // A negated side is compared with a constant turned round.
  const auto negative = [](const Linear& sum) {
    return !sum.is_constant() && std::all_of(sum.terms.begin(), sum.terms.end(),
                                             [](const auto& t) { return t.coefficient < 0; });
  };
  if (dtype == i64 && ((a.is_constant() && negative(b)) || (b.is_constant() && negative(a)))) {
    std::swap(a, b);
    a.scale(-1);
    b.scale(-1);
    changed = true;
  }
  const bool symmetric = op.code == OpCode::eq || op.code == OpCode::ne;
  if (symmetric && a.is_constant()) std::swap(a, b);
  if (!changed || a.overflowed || b.overflowed) return comparison;
  const Expr x = a.to_expr(dtype, comparison.loc()), y = b.to_expr(dtype, comparison.loc());
  if (identical(x, op.args[0]) && identical(y, op.args[1])) return comparison;
  Expr next = with_args(comparison, {x, y});
  if (is_const(x) && is_const(y)) return ir::fold(next);
  return next;
}

Expr ExprSimplifier::sum(const Expr& expr) {
  Linear total;
  int steps = 64;
  collect(expr, 1, total, steps);
  const DType dtype = expr.dtype();
  for (Linear::Term& term : total.terms) term.coefficient = wrapped(term.coefficient, dtype);
  std::erase_if(total.terms, [](const Linear::Term& term) { return term.coefficient == 0; });
  total.constant = wrapped(total.constant, dtype);
  combine_terms(total, dtype);
  const Expr result = total.to_expr(dtype, expr.loc());
  if (!total.is_constant()) {
    if (const auto value = bounds.values(result).single()) {
      return ir::int_const(dtype, *value, expr.loc());
    }
  }
  return identical(result, expr) ? expr : result;
}

/// Adds factor * expr, with its terms simplified.
void ExprSimplifier::collect(const Expr& expr, int64_t factor, Linear& sum, int& steps) {
  const auto* op = expr.try_as<ir::Op>();
  const auto times = [&](int64_t c) {
    return static_cast<int64_t>(static_cast<uint64_t>(factor) * static_cast<uint64_t>(c));
  };
  if (op == nullptr || !is_sum(*op) || --steps < 0) {
    // What a term has become may be a sum.
    sum.add(Linear::of(simplify(expr), RingReader()), factor);
    return;
  }
  switch (op->code) {
    case OpCode::add:
      collect(op->args[0], factor, sum, steps);
      return collect(op->args[1], factor, sum, steps);
    case OpCode::sub:
      collect(op->args[0], factor, sum, steps);
      return collect(op->args[1], times(-1), sum, steps);
    case OpCode::neg:
      return collect(op->args[0], times(-1), sum, steps);
    case OpCode::shl:
      return collect(op->args[0], times(int64_t{1} << index_shift(*op).value_or(0)), sum, steps);
    default:
      break;
  }
  // A product: constant factors of its operands are taken out.
  if (const auto c = ir::as_int(op->args[1])) return collect(op->args[0], times(*c), sum, steps);
  if (const auto c = ir::as_int(op->args[0])) return collect(op->args[1], times(*c), sum, steps);
  Linear a, b;
  collect(op->args[0], 1, a, steps);
  collect(op->args[1], 1, b, steps);
  for (Linear* side : {&a, &b}) {
    Linear& other = side == &a ? b : a;
    if (!side->is_constant()) continue;
    sum.add(other, times(side->constant));
    return;
  }
  const auto take_out = [&](Linear& side) {
    uint64_t common = side.constant == INT64_MIN || side.overflowed ? 1 : std::abs(side.constant);
    for (const Linear::Term& term : side.terms) {
      const bool lowest = term.coefficient == INT64_MIN;
      common = std::gcd(common, lowest ? uint64_t{1} : std::abs(term.coefficient));
    }
    if (common <= 1) return int64_t{1};
    const auto c = static_cast<int64_t>(common);
    for (Linear::Term& term : side.terms) term.coefficient /= c;
    side.constant /= c;
    return c;
  };
  const int64_t outside = times(static_cast<int64_t>(static_cast<uint64_t>(take_out(a)) *
                                                     static_cast<uint64_t>(take_out(b))));
  const Expr x = a.to_expr(op->dtype, expr.loc()), y = b.to_expr(op->dtype, expr.loc());
  const bool same = identical(x, op->args[0]) && identical(y, op->args[1]);
  sum.add(same ? expr : ir::op(OpCode::mul, op->dtype, {x, y}, expr.loc()), outside);
}

/// Applies the rules for one or two terms: x / 8 * 8 + x % 8 is x.
void ExprSimplifier::combine_terms(Linear& sum, DType dtype) {
  const size_t count = sum.terms.size();
  for (size_t i = 0; i < count && depth_ < kMaxDepth; ++i) {
    if (!sum.terms[i].expr.is<ir::Op>()) continue;
    for (size_t j = 0; j < count; ++j) {  // j = i: the term by itself
      const bool alone = i == j;
      if (!alone && !may_combine(sum.terms[j])) continue;
      ++depth_;
      const Expr both =
          apply_sum_rules(sum.terms[i], alone ? nullptr : &sum.terms[j], bounds, *this);
      --depth_;
      if (!both) continue;
      Linear next(sum.constant);
      for (size_t k = 0; k < count; ++k) {
        if (k == std::min(i, j)) {
          next.add(Linear::of(both, RingReader()));
        } else if (k != i && k != j) {
          next.add(sum.terms[k].expr, sum.terms[k].coefficient);
        }
      }
      for (Linear::Term& term : next.terms) term.coefficient = wrapped(term.coefficient, dtype);
      sum = std::move(next);
      ++depth_;
      combine_terms(sum, dtype);
      --depth_;
      return;
    }
  }
}

Expr simplify(const Expr& expr, const Bounds& bounds) {
  return ExprSimplifier(bounds).simplify(expr);
}

}  // namespace tw::pass
