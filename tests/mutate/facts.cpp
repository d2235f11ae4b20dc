#include "tests/mutate/facts.h"

#include <functional>
#include <optional>

#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/thread/grid_limits.h"

namespace tw::test {
namespace {

using ir::Expr;
using ir::OpCode;

bool is_number(const Expr& e) { return e.dtype().is_int() && e.dtype().lanes == 1; }

}  // namespace

Facts::Facts(const ir::Program& program, const ir::Launch& launch,
             const std::vector<std::string>& conditions) {
  solver_.set("rlimit", kEffort);
  for (const ir::Symbol& s : program.symbols) {
    const z3::expr v = term(s.var);
    solver_.add(v >= c_.int_val(s.min));
    if (s.max != INT64_MAX) solver_.add(v <= c_.int_val(s.max));
    if (s.multiple_of > 1) solver_.add(z3::mod(v, c_.int_val(s.multiple_of)) == 0);
  }
  for (const ir::Param& p : program.params) {
    if (!p.buffer) {
      if (is_number(p.var)) term(p.var);
      continue;
    }
    for (const Expr& extent : p.buffer.shape()) solver_.add(term(extent) >= 0);
  }
  if (launch.guard) assume(launch.guard);
  for (const std::string& text : conditions) {
    assume(ir::rewrite(ir::parse_expr(text, {.infer_free = true}),
                       [&](auto&, const ir::VarNode& var) -> Expr {
                         for (const ir::Symbol& s : program.symbols) {
                           if (s.var.name() == var.name) return s.var;
                         }
                         throw_internal("size", SourceLoc::here(), "there is no size " + var.name);
                       }));
  }
  for (size_t d = 0; d < launch.grid.size(); ++d) {
    const z3::expr block = term(launch.block_vars[d]);
    solver_.add(block >= 0 && block < term(launch.grid[d]));
  }
  const auto proves_it = [&](const Expr& condition) { return proves(condition); };
  for (const Expr& limit : pass::grid_limits(launch, proves_it)) assume(limit);
  int64_t threads = 1;
  for (const int64_t t : launch.threads) threads *= t;
  const z3::expr thread = term(launch.thread);
  solver_.add(thread >= 0 && thread < c_.int_val(threads));
  inner_.clear();
  for (const z3::expr& each : solver_.assertions()) outer_.push_back(each);
}

void Facts::assume(const Expr& condition, bool holds) {
  const z3::expr e = term(condition);
  solver_.add(holds ? e : !e);
}

bool Facts::assume_evaluated(const ir::Op& op, size_t i) {
  if (!ir::is_lazy(op.code) || i == 0) return false;
  const bool first = op.code == OpCode::land || (op.code != OpCode::lor && i == 1);
  assume(op.args[0], first);
  return true;
}

void Facts::define(const ir::Var& var, const Expr& value) {
  if (!is_number(var) && !var.dtype().is_bool()) return;
  solver_.add(term(var) == term(value));
}

void Facts::bind(const ir::For& loop) {
  const z3::expr i = term(loop.var), lo = term(loop.lo), hi = term(loop.hi);
  const std::optional<int64_t> step = ir::as_int(loop.step);
  if (!step || *step == 0) return;
  solver_.add(*step > 0 ? i >= lo && i < hi : i <= lo && i > hi);
  if (*step > 1) solver_.add(z3::mod(i - lo, c_.int_val(*step)) == 0);
}

bool Facts::follows(const z3::expr& e) {
  solver_.push();
  solver_.add(!e);
  z3::check_result result = solver_.check();
  if (result == z3::unknown) {
    z3::solver again(c_);  // not step by step it knows more methods
    again.set("rlimit", kEffort);
    for (const z3::expr& each : solver_.assertions()) again.add(each);
    result = again.check();
  }
  solver_.pop();
  return result == z3::unsat;
}

bool Facts::proves(const Expr& condition, bool holds) {
  const z3::expr e = term(condition);
  return follows(holds ? e : !e);
}

bool Facts::proves_equal(const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype() || !(is_number(a) || a.dtype().is_bool())) return false;
  return follows(term(a) == term(b));
}

bool Facts::is_dead() { return follows(c_.bool_val(false)); }

z3::expr Facts::renamed(const z3::expr& e) {
  z3::expr_vector from(c_), to(c_);
  for (const auto& [name, value] : inner_) {
    from.push_back(value);
    const std::string other = "other " + name;
    to.push_back(c_.constant(other.c_str(), value.get_sort()));
  }
  z3::expr copy = e;
  return copy.substitute(from, to);
}

z3::expr Facts::of_another_step() { return renamed(z3::mk_and(solver_.assertions())); }

bool Facts::excludes(const z3::expr& other, const std::vector<z3::expr>& a,
                     const std::vector<Expr>& b) {
  z3::expr all = other;
  for (size_t i = 0; i < a.size(); ++i) all = all && a[i] == term(b[i]);
  return follows(!all);
}

std::string Facts::key(const Expr& e) const {
  std::string text;
  const std::function<void(const Expr&)> add = [&](const Expr& x) {
    if (const auto* op = x.try_as<ir::Op>()) {
      text += format("{}.{}.{}.{}(", static_cast<int>(op->code), op->dtype,
                     static_cast<int>(op->exactness), static_cast<int>(op->rounding));
      for (const Expr& arg : op->args) add(arg);
      text += ')';
    } else if (const auto* cast = x.try_as<ir::Cast>()) {
      text += format("{}.{}.{}[", cast->dtype, static_cast<int>(cast->rounding), cast->saturate);
      add(cast->value);
      if (cast->rbits) add(cast->rbits);
      text += ']';
    } else if (const auto* load = x.try_as<ir::Load>()) {
      text += format("@{} {}{{", step_, static_cast<const void*>(load->buffer.get()));
      for (const Expr& index : load->indices) add(index);
      text += '}';
    } else if (const auto* value = x.try_as<ir::Const>()) {
      text += format("{}:{}:{} ", x.dtype(), value->i, value->f);
    } else {
      text += format("{} ", static_cast<const void*>(x.get()));
    }
  };
  add(e);
  return text;
}

z3::expr Facts::unknown(const Expr& e) {
  const std::string name = key(e);
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const z3::expr value =
      e.dtype().is_bool() ? c_.bool_const(name.c_str()) : c_.int_const(name.c_str());
  known_.emplace(name, value);
  inner_.emplace(name, value);
  return value;
}

z3::expr Facts::term(const Expr& e) {
  if (const auto* value = e.try_as<ir::Const>()) {
    return e.dtype().is_bool() ? c_.bool_val(value->i != 0) : c_.int_val(value->i);
  }
  if (const auto* op = e.try_as<ir::Op>()) {
    if (e.dtype().is_bool()) return operation(*op);
    return integer(e);
  }
  if (const auto* cast = e.try_as<ir::Cast>()) {
    if (is_number(e) && is_number(cast->value)) return integer(e);
  }
  return unknown(e);
}

/// An operation on integers, where it is known not to wrap.
z3::expr Facts::integer(const Expr& e) {
  const auto* cast = e.try_as<ir::Cast>();
  const z3::expr result = cast != nullptr ? term(cast->value) : operation(e.as<ir::Op>());
  const int bits = e.dtype().bits();
  if (bits >= 64 || (cast != nullptr && cast->value.dtype() == e.dtype())) return result;
  const bool is_signed = e.dtype().is_signed_int();
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return follows(result >= c_.int_val(low) && result <= c_.int_val(high)) ? result : unknown(e);
}

z3::expr Facts::operation(const ir::Op& op) {
  const Expr whole(&op);
  const auto arg = [&](size_t i) { return term(op.args[i]); };
  const bool numbers = is_number(op.args.back());
  const bool ordered = numbers || op.args.back().dtype().is_bool();
  const auto constant = [&](size_t i) { return ir::as_int(op.args[i]); };
  switch (op.code) {
    case OpCode::land: {
      return arg(0) && arg(1);
    }
    case OpCode::lor:
      return arg(0) || arg(1);
    case OpCode::lnot:
      return !arg(0);
    case OpCode::select:
    case OpCode::if_else:
      if (!ordered) break;
      return z3::ite(arg(0), arg(1), arg(2));
    case OpCode::eq:
      if (!ordered) break;
      return arg(0) == arg(1);
    case OpCode::ne:
      if (!ordered) break;
      return arg(0) != arg(1);
    case OpCode::lt:
      if (!numbers) break;
      return arg(0) < arg(1);
    case OpCode::le:
      if (!numbers) break;
      return arg(0) <= arg(1);
    case OpCode::gt:
      if (!numbers) break;
      return arg(0) > arg(1);
    case OpCode::ge:
      if (!numbers) break;
      return arg(0) >= arg(1);
    case OpCode::add:
      if (!numbers) break;
      return arg(0) + arg(1);
    case OpCode::sub:
      if (!numbers) break;
      return arg(0) - arg(1);
    case OpCode::mul:
      if (!numbers) break;
      return arg(0) * arg(1);
    case OpCode::neg:
      if (!numbers) break;
      return -arg(0);
    case OpCode::min: {
      if (!numbers) break;
      const z3::expr a = arg(0), b = arg(1);
      return z3::ite(b < a, b, a);
    }
    case OpCode::max: {
      if (!numbers) break;
      const z3::expr a = arg(0), b = arg(1);
      return z3::ite(b > a, b, a);
    }
    case OpCode::floordiv:
    case OpCode::floormod:
    case OpCode::truncdiv:
    case OpCode::truncmod: {
      // Z3's div rounds down for positive divisors.
      if (!numbers) break;
      const z3::expr a = arg(0), b = arg(1);
      if (!follows(b > 0)) break;
      const bool truncates = op.code == OpCode::truncdiv || op.code == OpCode::truncmod;
      if (truncates && !follows(a >= 0)) break;
      const bool divides = op.code == OpCode::floordiv || op.code == OpCode::truncdiv;
      if (constant(1)) return divides ? a / b : z3::mod(a, b);
      // Z3 finds more with the quotient as a number of its own.
      const z3::expr q = unknown(ir::floordiv(op.args[0], op.args[1]));
      solver_.add(q * b <= a && a < q * b + b);
      return divides ? q : a - q * b;
    }
    case OpCode::shl:
      if (!numbers || !constant(1) || *constant(1) < 0 || *constant(1) > 31) break;
      return arg(0) * c_.int_val(int64_t{1} << *constant(1));
    case OpCode::shr:
      if (!numbers || !constant(1) || *constant(1) < 0 || *constant(1) > 31) break;
      return arg(0) / c_.int_val(int64_t{1} << *constant(1));
    case OpCode::bit_and: {
      const std::optional<int64_t> mask = numbers ? constant(1) : std::nullopt;
      if (!mask || *mask < 0 || (*mask & (*mask + 1)) != 0) break;
      return z3::mod(arg(0), c_.int_val(*mask + 1));
    }
    default:
      break;
  }
  return unknown(whole);
}

}  // namespace tw::test
