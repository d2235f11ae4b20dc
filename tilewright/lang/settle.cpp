#include "tilewright/lang/settle.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw {
inline namespace lang {
namespace {

using ir::OpCode;
using Guard = std::vector<Condition>;

bool same(const Condition& a, const Condition& b) {
  return a.holds == b.holds && a.value.same_as(b.value);
}

/// Whether `guard` begins with all conditions of `weaker`.
bool begins_with(const Guard& guard, const Guard& weaker) {
  return weaker.size() <= guard.size() &&
         std::equal(weaker.begin(), weaker.end(), guard.begin(), same);
}

/// Whether the guards differ in whether their last condition holds: then one of the two does.
bool complete_each_other(const Guard& a, const Guard& b) {
  return !a.empty() && a.size() == b.size() &&
         std::equal(a.begin(), a.end() - 1, b.begin(), same) &&
         a.back().value.same_as(b.back().value) && a.back().holds != b.back().holds;
}

/// A condition without value ends a guard of which only the beginning is known: what may do harm
/// then checks for itself that it does none.
constexpr auto is_open = [](const Guard& guard) { return !guard.empty() && !guard.back().value; };

/// Adds a condition, `a && b` as a and b, so that guards of chained operators begin alike.
void add_condition(Guard& guard, const ir::Expr& value, bool holds) {
  const auto* op = value.try_as<ir::Op>();
  if (op != nullptr && op->code == OpCode::lnot) return add_condition(guard, op->args[0], !holds);
  if (op != nullptr && op->code == (holds ? OpCode::land : OpCode::lor)) {
    add_condition(guard, op->args[0], holds);
    add_condition(guard, op->args[1], holds);
    return;
  }
  guard.push_back({value, holds});
}

/// Operands of a node, and what guards the n-th of them in addition to the node's own guard.
const std::vector<ir::Expr>& operands(const ir::Expr& e) {
  static const std::vector<ir::Expr> kNone;
  if (const auto* op = e.try_as<ir::Op>()) return op->args;
  if (const auto* load = e.try_as<ir::Load>()) return load->indices;
  return kNone;
}
void add_operand_guard(Guard& guard, const ir::Expr& e, size_t n) {
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr || !ir::is_lazy(op->code) || n == 0) return;
  const bool holds = op->code == OpCode::land || (op->code == OpCode::if_else && n == 1);
  add_condition(guard, op->args[0], holds);
}

bool is_variable_load(const ir::Expr& e) {
  const auto* load = e.try_as<ir::Load>();
  return load != nullptr && load->indices.empty();
}

/// Whether evaluating a node (its operands apart) is harmless where the author would not.
bool is_harmless(const ir::Expr& e) {
  if (e.is<ir::Load>()) return is_variable_load(e);
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr) return true;
  const bool divides = op->code == OpCode::truncdiv || op->code == OpCode::truncmod ||
                       op->code == OpCode::floordiv || op->code == OpCode::floormod;
  return !divides || (ir::as_int(op->args[1]) && !ir::is_int(op->args[1], -1));
}

/// When a node that is not harmless by itself does no harm.
ir::Expr safe_condition(const ir::Expr& e) {
  const auto* load = e.try_as<ir::Load>();
  if (load == nullptr) {
    const auto& args = e.as<ir::Op>().args;
    const DType dtype = args[1].dtype();
    const auto differs = [](const ir::Expr& a, const ir::Expr& b) {
      return ir::op(OpCode::ne, bool_, {a, b});
    };
    const ir::Expr not_zero = differs(args[1], ir::zero(dtype));
    if (dtype.is_unsigned_int()) return not_zero;
    const int64_t lowest = INT64_MIN >> (64 - dtype.bits());
    const ir::Expr fits = ir::lor(differs(args[1], ir::int_const(dtype, -1)),
                                  differs(args[0], ir::int_const(dtype, lowest)));
    return ir::land(not_zero, fits);
  }
  ir::Expr result;
  const ir::Expr& address = load->buffer.root()->address;
  if (address) result = ir::op(OpCode::ne, bool_, {address, ir::zero(address.dtype())});
  for (size_t d = 0; d < load->indices.size(); ++d) {
    const ir::Expr& i = load->indices[d];
    result =
        ir::land(result, ir::land(ir::le(ir::index(0), i), ir::lt(i, load->buffer.shape()[d])));
  }
  return result;
}

ir::Expr value_if(const ir::Expr& condition, const ir::Expr& value) {
  if (!condition) return value;
  return ir::op(OpCode::if_else, value.dtype(), {condition, value, ir::zero(value.dtype())},
                value.loc());
}

constexpr int kShort = 8;  // nodes of an expression that may be repeated

class Settler {
 public:
  Settler(Trace& trace, const Point& at, SourceLoc where, bool share)
      : trace_(trace), at_(at), where_(where), share_(share) {}

  std::vector<ir::Expr> run(const std::vector<ir::Expr>& values) {
    for (const ir::Expr& v : values) visit(v);
    for (const ir::Expr& v : values) use(v, {}, 1);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) use_operands(*node);
    std::vector<ir::Expr> result;
    for (const ir::Expr& v : values) result.push_back(settled(v, {}));
    return result;
  }

 private:
  /// The uses of a node under one guard, or under guards that begin with it.
  struct Uses {
    Guard guard;
    int count = 0;
    ir::Expr settled;      // what the node becomes there; null: not yet known
    int size = 1;          // nodes of that tree, counted up to kShort
    bool harmless = true;  // the tree may be evaluated without its guard
  };
  struct Facts {
    bool harmless = true;  // the node with all below it, as written
    std::vector<Uses> uses;
  };
  Facts& facts(const ir::Expr& e) { return facts_.at(e.get()); }

  /// Lists nodes with operands before their users, left to right.
  bool visit(const ir::Expr& e) {
    if (!e) return true;
    const auto [known, is_new] = facts_.emplace(e.get(), Facts{});
    if (!is_new) return known->second.harmless;
    bool harmless = is_harmless(e);
    for_operands(e,
                 [&](const ir::Expr& operand, size_t) { harmless = visit(operand) && harmless; });
    order_.push_back(e);
    return facts(e).harmless = harmless;
  }

  template <class F>
  static void for_operands(const ir::Expr& e, F&& f) {
    if (const auto* cast = e.try_as<ir::Cast>()) {
      f(cast->value, 0);
      if (cast->rbits) f(cast->rbits, 1);
    }
    const auto& list = operands(e);
    for (size_t n = 0; n < list.size(); ++n) f(list[n], n);
  }

  /// Notes uses of a node. Guards of which one begins with the other are one; two that complete
  /// each other are what they have in common; many are cut to the beginning of all.
  void use(const ir::Expr& e, Guard guard, int count) {
    if (!e) return;
    Facts& f = facts(e);
    if (f.harmless) guard.clear();
    for (size_t n = 0; n < f.uses.size(); ++n) {
      Uses& known = f.uses[n];
      if (begins_with(guard, known.guard)) {
        known.count += count;
        return;
      }
      const bool complete = complete_each_other(guard, known.guard);
      if (!complete && !begins_with(known.guard, guard)) continue;
      count += known.count;
      f.uses.erase(f.uses.begin() + static_cast<std::ptrdiff_t>(n));
      if (complete) guard.pop_back();
      return use(e, std::move(guard), count);
    }
    f.uses.push_back({std::move(guard), count});
    constexpr size_t kMany = 4;
    if (f.uses.size() <= kMany) return;
    Guard common = f.uses[0].guard;
    int total = 0;
    for (const Uses& u : f.uses) {
      while (!begins_with(u.guard, common)) common.pop_back();
      total += u.count;
    }
    if (!is_open(common)) common.push_back({});
    f.uses = {{std::move(common), total}};
  }
  void use_operands(const ir::Expr& e) {
    for (const Uses& uses : facts(e).uses) {
      for_operands(e, [&](const ir::Expr& operand, size_t n) {
        use(operand, operand_guard(uses.guard, e, n), 1);
      });
    }
  }
  static Guard operand_guard(Guard guard, const ir::Expr& e, size_t n) {
    if (!is_open(guard)) add_operand_guard(guard, e, n);
    return guard;
  }

  Uses& uses_under(const ir::Expr& e, const Guard& guard) {
    Facts& f = facts(e);
    for (Uses& u : f.uses) {
      const bool open = is_open(u.guard);
      if (open || f.harmless || begins_with(guard, u.guard)) return u;
    }
    throw_internal("uses", SourceLoc::here(), "a use has not been noted");
  }

  ir::Expr settled(const ir::Expr& e, const Guard& guard) {
    if (!e) return e;
    Uses& uses = uses_under(e, guard);
    if (!uses.settled) uses.settled = settle_node(e, uses);
    return uses.settled;
  }

  ir::Expr settle_node(const ir::Expr& e, Uses& uses) {
    if (e.is<ir::Const>()) return e;
    if (e.is<ir::VarNode>()) {
      trace_.check_visible(e, where_);
      return e;
    }
    if (const auto* load = e.try_as<ir::Load>()) {
      trace_.check_visible(e, where_);
      const Point point = trace_.point_of(e);
      if (trace_.may_change(load->buffer, point, at_)) return bind_load(e, point, uses.guard);
    }
    ir::Expr value = rebuild(e, uses);
    if (!is_harmless(value)) {
      if (is_open(uses.guard)) {
        value = value_if(safe_condition(value), value);
      } else {
        uses.harmless = false;
      }
    }
    if (!share_ || uses.count < 2 || !worth_sharing(value, uses.size)) return value;
    if (!uses.harmless) value = value_if(condition(uses.guard), value);
    uses.size = 1;
    uses.harmless = true;
    return bind(at_, value, e.loc());
  }

  /// The conjunction of a guard's conditions, settled.
  ir::Expr condition(const Guard& guard) {
    ir::Expr result;
    Guard before;
    for (const Condition& c : guard) {
      const ir::Expr value = settled(c.value, before);
      result = ir::land(result, c.holds ? value : ir::lnot(value));
      before.push_back(c);
    }
    return result;
  }

  /// The node with settled operands, itself if nothing changed.
  ir::Expr rebuild(const ir::Expr& e, Uses& uses) {
    bool changed = false;
    const auto next = [&](const ir::Expr& operand, size_t n) {
      const Guard guard = operand_guard(uses.guard, e, n);
      const ir::Expr s = settled(operand, guard);
      const Uses& below = uses_under(operand, guard);
      uses.size = std::min(uses.size + below.size, kShort + 1);
      uses.harmless = uses.harmless && below.harmless;
      changed = changed || !s.same_as(operand);
      return s;
    };
    if (const auto* cast = e.try_as<ir::Cast>()) {
      const ir::Expr value = next(cast->value, 0);
      const ir::Expr rbits = cast->rbits ? next(cast->rbits, 1) : ir::Expr();
      if (!changed) return e;
      auto copy = std::make_unique<ir::Cast>(*cast);
      copy->value = value;
      copy->rbits = rbits;
      return ir::Expr(copy.release());
    }
    std::vector<ir::Expr> list;
    for (const ir::Expr& operand : operands(e)) list.push_back(next(operand, list.size()));
    if (!changed) return e;
    if (const auto* op = e.try_as<ir::Op>()) {
      auto copy = std::make_unique<ir::Op>(*op);
      copy->args = std::move(list);
      return ir::Expr(copy.release());
    }
    auto copy = std::make_unique<ir::Load>(e.as<ir::Load>());
    copy->indices = std::move(list);
    return ir::Expr(copy.release());
  }

  /// Short index arithmetic is repeated, since analyses read it better than a Let; everything that
  /// computes on floats or reads memory is not.
  static bool worth_sharing(const ir::Expr& e, int size) {
    if (e.is<ir::Load>()) return !is_variable_load(e);
    if (!e.is<ir::Op>() && !e.is<ir::Cast>()) return false;
    return e.dtype().is_float() || size > kShort || ir::has_load(e);
  }

  ir::Expr bind(const Point& at, const ir::Expr& value, SourceLoc where) {
    const ir::Var var = ir::Var::make("t", value.dtype(), where);
    trace_.insert(at, ir::let(var, value));
    trace_.declare(var, at);
    return var;
  }

  /// Binds a load at its own point, under that part of its guard that was known there.
  ir::Expr bind_load(const ir::Expr& load, const Point& point, const Guard& guard) {
    auto& known = trace_.bound[load.get()];
    for (const Trace::Bound& b : known) {
      if (begins_with(guard, b.guard)) return b.var;
    }
    ir::Expr condition;
    bool all_known = !is_open(guard);
    for (const Condition& c : guard) {
      all_known = all_known && available(c.value, point);
      if (!all_known) break;
      condition = ir::land(condition, c.holds ? c.value : ir::lnot(c.value));
    }
    if (!all_known) condition = ir::land(condition, safe_condition(load));
    const ir::Expr value = is_variable_load(load) ? load : value_if(condition, load);
    const ir::Expr here = settle(trace_, point, where_, {value})[0];
    const ir::Expr var = bind(point, here, load.loc());
    trace_.bound[load.get()].push_back({guard, ir::Var::of(var)});
    return var;
  }

  /// Whether an expression has the same value at that point as where it was written.
  bool available(const ir::Expr& e, const Point& point) {
    const auto before = [&](const Point& p) {
      return encloses(p.scope, point.scope) && p.time <= point.time;
    };
    bool result = true;
    ir::for_each_expr(e, [&](const ir::Expr& part) {
      if (part.is<ir::VarNode>()) result = result && before(trace_.defined_at(part));
      if (const auto* load = part.try_as<ir::Load>()) {
        const Point written = trace_.point_of(part);
        result = result && (before(written) || (written.scope == point.scope &&
                                                !trace_.may_change(load->buffer, point, written)));
      }
    });
    return result;
  }

  Trace& trace_;
  Point at_;
  SourceLoc where_;
  bool share_;
  std::vector<ir::Expr> order_;
  std::unordered_map<const ir::ExprBase*, Facts> facts_;
};

}  // namespace

std::vector<ir::Expr> settle(Trace& trace, const Point& at, SourceLoc where,
                             const std::vector<ir::Expr>& values, bool share) {
  return Settler(trace, at, where, share).run(values);
}

}  // namespace lang
}  // namespace tw
