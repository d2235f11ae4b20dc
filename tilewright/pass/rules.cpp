#include "tilewright/pass/rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "tilewright/ir/build.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpClass;
using ir::OpCode;

#define TW_COUNT(name, operands, op_class) +1
constexpr size_t kOpCount = 0 TW_OPS(TW_COUNT);
#undef TW_COUNT

bool is_ring_op(OpCode code) {
  return code == OpCode::add || code == OpCode::sub || code == OpCode::mul || code == OpCode::neg;
}
bool is_division(OpCode code) {
  return code == OpCode::floordiv || code == OpCode::floormod || code == OpCode::truncdiv ||
         code == OpCode::truncmod;
}

bool admits(Domain domain, DType type) {
  if (type.lanes != 1) return domain == Domain::any;
  switch (domain) {
    case Domain::index:
      return type.is_int();
    case Domain::wrapping:
      return type.is_int() || type.is_bool();
    case Domain::boolean:
      return type.is_bool();
    case Domain::real:  // a tf32 is rounded by any operation
      return type.has_float_arithmetic() && type != tf32;
    case Domain::any:
      return true;
  }
  return false;
}

/// Reads as sums what has no limits.
struct ExactSums : SumReader {
  const Bounds& bounds;
  explicit ExactSums(const Bounds& b) : bounds(b) {}
  bool opens(const Expr& e) const override { return e.is<ir::Op>() && bounds.is_exact(e); }
};

/// One attempt to apply a rule. Where a pattern can match in several ways (order of operands,
/// choice of a term), `pick` takes the first, and the next attempt another.
class Match {
 public:
  Match(Domain domain, const Bounds& bounds, Maker& maker, const Expr& subject)
      : domain_(domain), bounds_(bounds), maker_(maker), subject_(subject) {}

  /// The result of the rule, null if it doesn't apply.
  Expr apply(const Rule& rule);
  /// The same for a rule of one or two terms.
  Expr apply(const Rule& rule, const Linear::Term& a, const Linear::Term* b);

 private:
  template <class Try>
  Expr first_that_holds(const Rule& rule, DType dtype, Try matches);

  bool match(const Pattern& p, const Expr& e);
  bool match_operands(const Pattern& p, const ir::Op& op);
  bool match_sum(const Pattern& p, const Expr& e);
  bool match_scaled(const Pattern& p, const Linear::Term& term);
  bool split(const Linear& sum, const Pattern& quotient, const Pattern& factor,
             const Pattern* rest);
  bool bind(int slot, const Expr& e);
  bool bind(int slot, int64_t number);

  bool holds(const Pattern& condition);
  std::optional<int64_t> evaluate(const Pattern& p) const {
    return number_of(p, numbers_, dtype_.bits());
  }
  Expr build(const Pattern& p, DType dtype);
  Expr build_condition(const Pattern& p) const;
  Expr sum_to_expr(const Linear& sum);

  int pick(int count);
  bool next_attempt();

  Domain domain_;
  const Bounds& bounds_;
  Maker& maker_;
  const Expr& subject_;
  DType dtype_;  // of the wildcards and constants
  std::array<Expr, Pattern::kSlots> wildcards_;
  Numbers numbers_;
  std::array<Expr, Pattern::kSlots> reals_;
  bool failed_ = false;  // a result has no exact value
  struct Choice {
    int taken, count;
  };
  std::vector<Choice> choices_;
  size_t position_ = 0;
};

int Match::pick(int count) {
  if (position_ == choices_.size()) choices_.push_back({0, count});
  return choices_[position_++].taken;
}
bool Match::next_attempt() {
  position_ = 0;
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count) {
    choices_.pop_back();
  }
  if (choices_.empty()) return false;
  ++choices_.back().taken;
  return true;
}

template <class Try>
Expr Match::first_that_holds(const Rule& rule, DType dtype, Try matches) {
  do {
    wildcards_.fill({});
    numbers_.fill({});
    reals_.fill({});
    failed_ = false;
    if (!matches() || (rule.condition && !holds(*rule.condition))) continue;
    const Expr result = build(rule.rhs, dtype);
    if (!failed_ && result.dtype() == dtype) return result;
  } while (next_attempt());
  return {};
}
Expr Match::apply(const Rule& rule) {
  return first_that_holds(rule, subject_.dtype(), [&] { return match(rule.lhs, subject_); });
}
Expr Match::apply(const Rule& rule, const Linear::Term& a, const Linear::Term* b) {
  if (rule.lhs.is(OpCode::add) != (b != nullptr)) return {};
  return first_that_holds(rule, a.expr.dtype(), [&] {
    if (b == nullptr) return match_scaled(rule.lhs, a);
    return match_scaled(rule.lhs.args()[1], *b) && match_scaled(rule.lhs.args()[0], a);
  });
}

bool Match::bind(int slot, const Expr& e) {
  Expr& bound = wildcards_[static_cast<size_t>(slot)];
  if (bound) return same_expr(bound, e);
  bound = e;
  return true;
}
bool Match::bind(int slot, int64_t number) {
  auto& bound = numbers_[static_cast<size_t>(slot)];
  if (bound) return *bound == number;
  bound = number;
  return true;
}

bool Match::match(const Pattern& p, const Expr& e) {
  switch (p.kind()) {
    case Pattern::Kind::wildcard:
      return bind(p.slot(), e);
    case Pattern::Kind::constant: {
      const auto* c = e.try_as<ir::Const>();
      if (c == nullptr || (c->dtype == u64 && c->i < 0)) return false;
      if (!c->dtype.is_float()) return bind(p.slot(), c->i);
      reals_[static_cast<size_t>(p.slot())] = e;
      return true;
    }
    case Pattern::Kind::integer: {
      const auto* c = e.try_as<ir::Const>();
      return c != nullptr && !c->dtype.is_float() &&
             c->i == ir::int_const(c->dtype, p.integer()).as<ir::Const>().i;
    }
    case Pattern::Kind::real: {
      const auto* c = e.try_as<ir::Const>();
      return c != nullptr && c->dtype.is_float() &&
             std::bit_cast<uint64_t>(c->f) == std::bit_cast<uint64_t>(p.real());
    }
    case Pattern::Kind::width:
      return false;
    case Pattern::Kind::operation:
      break;
  }
  if (domain_ == Domain::index && (p.is(OpCode::add) || p.is(OpCode::mul))) return match_sum(p, e);
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr || op->code != p.code() || op->rounding != Rounding::rn) return false;
  if (domain_ == Domain::index && is_ring_op(op->code) && !bounds_.is_exact(e)) return false;
  return match_operands(p, *op);
}

bool Match::match_operands(const Pattern& p, const ir::Op& op) {
  const OpClass kind = ir::op_row(op.code).op_class;
  const bool choice = kind == OpClass::choice;
  if (kind != OpClass::logic || domain_ == Domain::boolean) {
    dtype_ = op.args[choice ? 1 : 0].dtype();
    if (!admits(domain_, dtype_)) return false;
  }
  const auto& args = p.args();
  if (args.size() == 2) {
    // A divisor first: it says what to look for in the sum.
    size_t first = is_division(op.code) ? 1 : 0, second = 1 - first;
    const bool either_order = ir::is_commutative(op.code) && !args[1].is_number() &&
                              !args[0].is_number() &&
                              (domain_ != Domain::real || is_ring_op(op.code));
    const bool swapped = either_order && pick(2) == 1;
    return match(args[first], op.args[swapped ? second : first]) &&
           match(args[second], op.args[swapped ? first : second]);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!match(args[i], op.args[i])) return false;
    if (choice && i == 0) dtype_ = op.args[1].dtype();
  }
  return true;
}

bool Match::match_sum(const Pattern& p, const Expr& e) {
  const ExactSums reader(bounds_);
  if (!admits(domain_, e.dtype())) return false;
  dtype_ = e.dtype();
  const Linear sum = Linear::of(e, reader);
  if (sum.overflowed) return false;
  if (p.is(OpCode::mul)) return split(sum, p.args()[0], p.args()[1], nullptr);
  const Pattern &first = p.args()[0], &rest = p.args()[1];
  if (first.is(OpCode::mul)) return split(sum, first.args()[0], first.args()[1], &rest);
  if (sum.terms.size() + (sum.constant != 0 ? 1 : 0) < 2) return false;
  const int chosen = pick(static_cast<int>(sum.terms.size()));
  Linear one, others = sum;
  const Linear::Term& term = sum.terms[static_cast<size_t>(chosen)];
  one.add(term.expr, term.coefficient);
  others.add(term.expr, -term.coefficient);
  return match(first, sum_to_expr(one)) && match(rest, sum_to_expr(others));
}

/// The other factors of a product that has this factor; null if it hasn't.
Expr without_factor(const Expr& product, const Expr& factor) {
  const auto* op = product.try_as<ir::Op>();
  if (op == nullptr || op->code != OpCode::mul) return {};
  for (const size_t i : {0, 1}) {
    if (same_expr(op->args[i], factor)) return op->args[1 - i];
  }
  return {};
}

// Matches a sum with quotient * factor + rest. A constant factor that is not known yet is taken
// from the coefficients.
bool Match::split(const Linear& sum, const Pattern& quotient, const Pattern& factor,
                  const Pattern* rest) {
  Linear multiple, other;
  if (factor.kind() == Pattern::Kind::wildcard) {
    const Expr& known = wildcards_[static_cast<size_t>(factor.slot())];
    if (!known) return false;
    other.constant = sum.constant;
    for (const Linear::Term& term : sum.terms) {
      if (same_expr(term.expr, known)) {
        multiple.add(term.coefficient);
      } else if (const Expr others = without_factor(term.expr, known);
                 others && bounds_.is_exact(term.expr)) {
        multiple.add(others, term.coefficient);
      } else {
        other.add(term.expr, term.coefficient);
      }
    }
  } else {
    std::optional<int64_t> number = evaluate(factor);
    if (!number) {
      std::vector<int64_t> candidates;
      int64_t common = sum.constant;
      for (const Linear::Term& term : sum.terms) {
        const int64_t c = term.coefficient < 0 ? -term.coefficient : term.coefficient;
        common = std::gcd(common, c);
        if (c > 1 && std::find(candidates.begin(), candidates.end(), c) == candidates.end()) {
          candidates.push_back(c);
        }
      }
      if (rest == nullptr) candidates = {common};
      if (candidates.empty()) return false;
      number = candidates[static_cast<size_t>(pick(static_cast<int>(candidates.size())))];
      if (!bind(factor.slot(), *number)) return false;
    }
    const int64_t c = *number;
    if (c == 0 || c == -1) return false;
    multiple.constant = sum.constant / c;
    other.constant = sum.constant % c;
    for (const Linear::Term& term : sum.terms) {
      const bool divides = term.coefficient % c == 0;
      (divides ? multiple : other)
          .add(term.expr, divides ? term.coefficient / c : term.coefficient);
    }
  }
  if (rest == nullptr ? !other.is_constant() || other.constant != 0
                      : multiple.is_constant() && multiple.constant == 0) {
    return false;
  }
  return match(quotient, sum_to_expr(multiple)) &&
         (rest == nullptr || match(*rest, sum_to_expr(other)));
}

bool Match::match_scaled(const Pattern& p, const Linear::Term& term) {
  return match(p.args()[0], term.expr) && bind(p.args()[1].slot(), term.coefficient);
}

/// A sum whose parts don't wrap, as an expression that doesn't either.
Expr Match::sum_to_expr(const Linear& sum) {
  const Expr e = sum.to_expr(dtype_, subject_.loc());
  const auto wraps = [&](auto& self, const Expr& part) -> bool {
    const auto* op = part.try_as<ir::Op>();
    if (op == nullptr || !is_ring_op(op->code)) return false;
    return !bounds_.is_exact(part) || std::any_of(op->args.begin(), op->args.end(),
                                                  [&](const Expr& arg) { return self(self, arg); });
  };
  failed_ = failed_ || (dtype_ != i64 && wraps(wraps, e));
  return e;
}

bool Match::holds(const Pattern& condition) {
  if (failed_) return false;
  if (condition.is(OpCode::land)) {
    return holds(condition.args()[0]) && holds(condition.args()[1]);
  }
  if (domain_ == Domain::real) return ir::is_true(build(condition, bool_));
  if (condition.is_number()) return evaluate(condition).value_or(0) != 0;
  const Expr e = build_condition(condition);
  return e && bounds_.proves(e);
}

/// The type of an operation's operand i, and of its result, where what it
/// computes has type `dtype`.
DType operand_type(OpCode code, size_t i, DType dtype, DType compared) {
  switch (ir::op_row(code).op_class) {
    case OpClass::compare:
      return compared;
    case OpClass::logic:
      return bool_;
    case OpClass::choice:
      return i == 0 ? bool_ : dtype;
    default:
      return dtype;
  }
}
DType result_type(OpCode code, DType dtype) {
  const OpClass kind = ir::op_row(code).op_class;
  return kind == OpClass::compare || kind == OpClass::logic ? bool_ : dtype;
}

Expr Match::build(const Pattern& p, DType dtype) {
  if (p.kind() == Pattern::Kind::wildcard) return wildcards_[static_cast<size_t>(p.slot())];
  if (p.kind() == Pattern::Kind::real) return ir::float_const(dtype, p.real(), subject_.loc());
  if (dtype.is_float() && p.kind() == Pattern::Kind::constant) {
    return reals_[static_cast<size_t>(p.slot())];
  }
  if (p.is_number() && !dtype.is_float() && domain_ != Domain::real) {
    const auto value = evaluate(p);
    if (value && domain_ == Domain::index && ValueSet::of_type(dtype).contains(*value)) {
      return ir::int_const(dtype, *value, subject_.loc());
    }
    if (value && domain_ != Domain::index) return ir::int_const(dtype, *value, subject_.loc());
    failed_ = true;
    return ir::int_const(dtype, 0);
  }
  if (p.kind() == Pattern::Kind::integer) {
    return ir::literal(dtype, static_cast<double>(p.integer()), subject_.loc());
  }
  std::vector<Expr> args;
  for (size_t i = 0; i < p.args().size(); ++i) {
    args.push_back(build(p.args()[i], operand_type(p.code(), i, dtype, dtype_)));
  }
  if (domain_ == Domain::index && dtype != i64 && is_ring_op(p.code())) {
    const ValueSet none = ValueSet::constant(0);
    failed_ = failed_ || !is_exact(p.code(), dtype, bounds_.values(args[0]),
                                   args.size() > 1 ? bounds_.values(args[1]) : none);
  }
  return maker_.make(p.code(), result_type(p.code(), dtype), std::move(args), subject_);
}

/// A condition as an expression, as it is written, in i64; null where a literal is beyond it.
Expr Match::build_condition(const Pattern& p) const {
  if (p.kind() == Pattern::Kind::wildcard) {
    const Expr& e = wildcards_[static_cast<size_t>(p.slot())];
    return e.dtype() == u64 && ir::as_int(e).value_or(0) < 0 ? Expr() : e;
  }
  if (p.is_number()) {
    const auto value = evaluate(p);
    return value ? ir::int_const(i64, *value) : Expr();
  }
  std::vector<Expr> args;
  for (const Pattern& arg : p.args()) {
    Expr e = build_condition(arg);
    if (!e) return {};
    args.push_back(ir::cast(i64, e));
  }
  return ir::op(p.code(), result_type(p.code(), i64), std::move(args));
}

struct IndexedRule {
  const Rule* rule;
  Domain domain;
};
/// The rules by the operation that they match.
const std::array<std::vector<IndexedRule>, kOpCount>& rules_by_operation() {
  static const auto table = [] {
    std::array<std::vector<IndexedRule>, kOpCount> by_operation;
    for (const RuleSet& set : rule_sets()) {
      for (const Rule& r : set.rules) {
        by_operation[static_cast<size_t>(r.lhs.code())].push_back({&r, set.domain});
      }
    }
    return by_operation;
  }();
  return table;
}

}  // namespace

Expr apply_rules(const Expr& operation, const Bounds& bounds, Maker& maker) {
  const auto& op = operation.as<ir::Op>();
  for (const auto& [rule, domain] : rules_by_operation()[static_cast<size_t>(op.code)]) {
    if (Expr result = Match(domain, bounds, maker, operation).apply(*rule)) return result;
  }
  return {};
}

Expr apply_sum_rules(const Linear::Term& a, const Linear::Term* b, const Bounds& bounds,
                     Maker& maker) {
  for (const Rule& rule : sum_rules()) {
    if (Expr result = Match(Domain::index, bounds, maker, a.expr).apply(rule, a, b)) return result;
  }
  return {};
}

}  // namespace tw::pass
