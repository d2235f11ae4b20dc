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

/// The conditions that both guards begin with.
void keep_common(Guard& guard, const Guard& other) {
  size_t n = 0;
  while (n < guard.size() && n < other.size() && same(guard[n], other[n])) ++n;
  guard.resize(n);
}

/// Whether every condition of `weaker` is the beginning of `guard`.
bool begins_with(const Guard& guard, const Guard& weaker) {
  return weaker.size() <= guard.size() &&
         std::equal(weaker.begin(), weaker.end(), guard.begin(), same);
}

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

constexpr int kShort = 8;  // nodes of an expression that may be repeated

class Settler {
 public:
  Settler(Trace& trace, const Point& at, bool share) : trace_(trace), at_(at), share_(share) {}

  std::vector<ir::Expr> run(const std::vector<ir::Expr>& values) {
    for (const ir::Expr& v : values) visit(v);
    for (const ir::Expr& v : values) use(v, {});
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) use_operands(*node);
    for (const ir::Expr& node : order_) facts(node).settled = settled(node);
    std::vector<ir::Expr> result;
    for (const ir::Expr& v : values) result.push_back(v ? facts(v).settled : v);
    return result;
  }

 private:
  struct Facts {
    int uses = 0;
    Guard guard;           // what guards every use
    ir::Expr settled;      // what the node becomes
    int size = 0;          // nodes of the settled tree, counted up to kShort
    bool harmless = true;  // the settled tree may be evaluated without its guard
  };
  Facts& facts(const ir::Expr& e) { return facts_.at(e.get()); }

  /// Lists nodes with operands before their users, left to right.
  void visit(const ir::Expr& e) {
    if (!e || !facts_.emplace(e.get(), Facts{}).second) return;
    for_operands(e, [&](const ir::Expr& operand, size_t) { visit(operand); });
    order_.push_back(e);
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

  void use(const ir::Expr& e, const Guard& guard) {
    if (!e) return;
    Facts& f = facts(e);
    if (f.uses++ == 0) {
      f.guard = guard;
    } else {
      keep_common(f.guard, guard);
    }
  }
  void use_operands(const ir::Expr& e) {
    for_operands(e, [&](const ir::Expr& operand, size_t n) {
      Guard guard = facts(e).guard;
      add_operand_guard(guard, e, n);
      use(operand, guard);
    });
  }

  ir::Expr settled(const ir::Expr& e) {
    Facts& f = facts(e);
    f.size = 1;
    if (e.is<ir::Const>()) return e;
    if (e.is<ir::VarNode>()) {
      trace_.check_visible(e, e.loc());
      return e;
    }
    if (const auto* load = e.try_as<ir::Load>()) {
      trace_.check_visible(e, e.loc());
      const Point point = trace_.point_of(e);
      if (trace_.may_change(load->buffer, point, at_)) return bind_load(e, point, f.guard);
    }
    const ir::Expr rebuilt = rebuild(e);
    f.harmless = is_harmless(rebuilt);
    for_operands(e, [&](const ir::Expr& operand, size_t) {
      const Facts& o = facts(operand);
      f.size = std::min(f.size + o.size, kShort + 1);
      f.harmless = f.harmless && o.harmless;
    });
    if (!share_ || f.uses < 2 || !worth_sharing(rebuilt, f.size)) return rebuilt;
    const ir::Expr value = guarded(rebuilt, f);
    f.size = 1;
    f.harmless = true;
    return bind(at_, value, e.loc());
  }

  ir::Expr rebuild(const ir::Expr& e) {
    bool changed = false;
    const auto next = [&](const ir::Expr& operand) {
      const ir::Expr& s = facts(operand).settled;
      changed = changed || !s.same_as(operand);
      return s;
    };
    if (const auto* cast = e.try_as<ir::Cast>()) {
      const ir::Expr value = next(cast->value),
                     rbits = cast->rbits ? next(cast->rbits) : ir::Expr();
      if (!changed) return e;
      auto copy = std::make_unique<ir::Cast>(*cast);
      copy->value = value;
      copy->rbits = rbits;
      return ir::Expr(copy.release());
    }
    std::vector<ir::Expr> list;
    for (const ir::Expr& operand : operands(e)) list.push_back(next(operand));
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

  /// The node under its guard, if evaluating it elsewhere could harm.
  ir::Expr guarded(const ir::Expr& e, const Facts& f) {
    if (f.harmless || f.guard.empty()) return e;
    ir::Expr guard;
    for (const Condition& c : f.guard) {
      const ir::Expr& value = facts(c.value).settled;
      guard = ir::land(guard, c.holds ? value : ir::lnot(value));
    }
    return ir::op(OpCode::if_else, e.dtype(), {guard, e, ir::zero(e.dtype())}, e.loc());
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
    bool all_known = true;
    for (const Condition& c : guard) {
      if (!available(c.value, point)) {
        all_known = false;
        break;
      }
      condition = ir::land(condition, c.holds ? c.value : ir::lnot(c.value));
    }
    if (!all_known) condition = ir::land(condition, inside(load.as<ir::Load>()));
    ir::Expr value = load;
    if (condition && !is_variable_load(load)) {
      value = ir::op(OpCode::if_else, load.dtype(), {condition, load, ir::zero(load.dtype())},
                     load.loc());
    }
    const ir::Expr here = settle(trace_, point, {value})[0];
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

  /// Whether the element is inside its buffer: the guard of a load whose own guard came later.
  static ir::Expr inside(const ir::Load& load) {
    ir::Expr result;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const ir::Expr& i = load.indices[d];
      result =
          ir::land(result, ir::land(ir::le(ir::index(0), i), ir::lt(i, load.buffer.shape()[d])));
    }
    return result;
  }

  Trace& trace_;
  Point at_;
  bool share_;
  std::vector<ir::Expr> order_;
  std::unordered_map<const ir::ExprBase*, Facts> facts_;
};

}  // namespace

std::vector<ir::Expr> settle(Trace& trace, const Point& at, const std::vector<ir::Expr>& values,
                             bool share) {
  return Settler(trace, at, share).run(values);
}

}  // namespace lang
}  // namespace tw
