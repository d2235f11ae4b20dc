#include "tilewright/pass/guard_bounds.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/bounds.h"
#include "tilewright/pass/thread/plan_box.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

bool is_checked(const ir::Buffer& buffer) {
  return buffer.space() == ir::MemSpace::global || buffer.space() == ir::MemSpace::workspace;
}

/// A loop index of the box being versioned, with its range.
struct BoxIndex {
  Var var;
  Expr lo, hi;  // hi exclusive
  bool is_lane = false;
};

class GuardBounds : public ir::Rewriter {
 public:
  explicit GuardBounds(const ir::Program& program) : bounds_(program) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    if (const auto* load = expr.try_as<ir::Load>()) return guard_load(expr, *load);
    if (const auto* op = expr.try_as<ir::Op>(); op != nullptr && ir::is_lazy(op->code)) {
      return rewrite_lazy(expr, *op);
    }
    return children(expr);
  }

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    switch (stmt.kind()) {
      case ir::Kind::Launch: {
        const auto& launch = stmt.as<ir::Launch>();
        const Bounds::Scope scope(bounds_);
        bind_launch(bounds_, launch);
        return children(stmt);
      }
      case ir::Kind::For: {
        if (!in_box_ && is_plain_nest(stmt)) {
          in_nest_ = true;
          Stmt next = version(stmt, [&] { return rewrite_loop(stmt); });
          in_nest_ = false;
          return next;
        }
        return rewrite_loop(stmt);
      }
      case ir::Kind::Let: {
        const auto& let = stmt.as<ir::Let>();
        bounds_.bind_value(let.var, let.value);
        return children(stmt);
      }
      case ir::Kind::If:
        return rewrite_if(bounds_, *this, stmt);
      case ir::Kind::Assume:
        bounds_.assume(stmt.as<ir::Assume>().cond);
        return stmt;
      case ir::Kind::Parallel:
        return version_box(stmt, stmt.as<ir::Parallel>());
      case ir::Kind::Store:
        return guard_store(stmt, stmt.as<ir::Store>());
      case ir::Kind::Seq: {
        std::vector<Stmt> next;
        for (const Stmt& s : stmt.as<ir::Seq>().stmts) {
          if (s.is<ir::Atomic>()) {
            guard_atomic(s, s.as<ir::Atomic>(), next);
          } else {
            next.push_back(rewrite(s));
          }
        }
        return with_stmts(stmt, std::move(next));
      }
      case ir::Kind::Atomic: {
        std::vector<Stmt> next;
        guard_atomic(stmt, stmt.as<ir::Atomic>(), next);
        return ir::seq(std::move(next));
      }
      case ir::Kind::AsyncCopy:
        return guard_copy(stmt, stmt.as<ir::AsyncCopy>());
      default:
        return children(stmt);
    }
  }

 private:
  /// What is not proven of an access being inside; null when nothing is left to check.
  Expr open_condition(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
    Expr open;
    for (size_t d = 0; d < indices.size(); ++d) {
      for (const Expr& condition : {ir::le(ir::index(0), ir::cast(i64, indices[d])),
                                    ir::lt(ir::cast(i64, indices[d]), buffer.shape()[d])}) {
        if (bounds_.proves(condition)) continue;
        if (in_box_) {
          if (const Expr whole = over_whole_box(condition)) {
            if (trusted_) continue;  // the box's test covers it
            hoisted_ = ir::land(hoisted_, whole);
          }
        }
        open = ir::land(open, condition);
      }
    }
    return open;
  }

  /// The condition at the box's worst corner, free of the box's indices; null when it is not linear
  /// in them or mentions something bound inside.
  Expr over_whole_box(const Expr& condition) const {
    if (ir::is_false(condition)) return {};  // certainly outside
    const auto& op = condition.as<ir::Op>();
    Linear margin = Linear::of(op.args[1]);  // must be >= 0
    margin.add(Linear::of(op.args[0]), -1);
    if (op.code == ir::OpCode::lt) margin.constant -= 1;
    for (auto index = box_.rbegin(); index != box_.rend(); ++index) {
      const auto coefficient = margin.coefficient_of(index->var);
      if (!coefficient) return {};
      if (*coefficient == 0) continue;
      Linear corner = Linear::of(*coefficient > 0 ? index->lo : index->hi);
      if (*coefficient < 0) corner.constant -= 1;
      margin = margin.without(index->var).add(corner, *coefficient);
    }
    for (const Linear::Term& term : margin.terms) {
      if (ir::has_load(term.expr)) return {};
      for (const Var& var : bound_inside_) {
        if (uses(term.expr, var)) return {};
      }
    }
    return ir::le(ir::index(0), margin.to_expr());
  }

  /// Whether lo and hi bound the index.
  static bool ascends(const ir::For& loop) { return ir::as_int(loop.step).value_or(0) > 0; }

  Stmt rewrite_loop(const Stmt& stmt) {
    const auto& loop = stmt.as<ir::For>();
    const Bounds::Scope scope(bounds_);
    if (!ascends(loop)) return children(stmt);
    bounds_.bind(loop.var, loop.lo, loop.hi, *ir::as_int(loop.step));
    if (in_box_)
      box_.push_back({loop.var, loop.lo, loop.hi, loop.loop == ir::LoopKind::vectorized});
    Stmt next = children(stmt);
    if (in_box_) box_.pop_back();
    return next;
  }

  /// A loop nest of element statements, as of a multiply: doubled as a whole, like a box.
  static bool is_plain_nest(const Stmt& stmt) {
    bool plain = true;
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      plain = plain && !s.is<ir::Parallel>() && !s.is<ir::While>() && !s.is<ir::Atomic>() &&
              !s.is<ir::Break>() && !s.is<ir::Continue>() && !s.is<ir::Barrier>() &&
              !s.is<ir::WarpOp>() && !s.is<ir::AsyncCopy>() && !s.is<ir::Sync>();
    });
    return plain;
  }

  Stmt version_box(const Stmt& stmt, const ir::Parallel& loop) {
    const Bounds::Scope scope(bounds_);
    for (size_t d = 0; d < loop.vars.size(); ++d) {
      bounds_.bind(loop.vars[d], ir::index(0), loop.extents[d]);
      box_.push_back({loop.vars[d], ir::index(0), loop.extents[d]});
    }
    // A nested one belongs to the box of the outer. Where each thread has one vector of it, a guard
    // of that costs as little as one of the box.
    const bool whole = in_box_ || (!loop.layout.empty() && has_one_run(loop));
    Stmt result = whole ? children(stmt) : version(stmt, [&] { return children(stmt); });
    box_.resize(box_.size() - loop.vars.size());
    return result;
  }

  /// What `guard` makes of a loop, with a version for boxes that lie inside as a whole beside it.
  template <class Guard>
  Stmt version(const Stmt& stmt, Guard guard) {
    bound_inside_.clear();
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      if (const auto* let = s.try_as<ir::Let>()) bound_inside_.push_back(let->var);
      if (const auto* loop = s.try_as<ir::For>(); loop != nullptr && !ascends(*loop)) {
        bound_inside_.push_back(loop->var);
      }
      if (const auto* atomic = s.try_as<ir::Atomic>(); atomic != nullptr && atomic->result) {
        bound_inside_.push_back(atomic->result);
      }
      // Loops that aren't part of the box.
      const auto* loop = s.try_as<ir::For>();
      if (loop != nullptr && ir::as_int(loop->step).value_or(0) <= 0) {
        bound_inside_.push_back(loop->var);
      }
    });
    in_box_ = true;
    hoisted_ = {};
    Stmt result = guard();
    if (hoisted_) {
      const Expr test = hoisted_;
      trusted_ = true;
      result = ir::if_(test, ir::with_fresh_bindings(guard()), result);
      trusted_ = false;
    }
    in_box_ = false;
    return result;
  }

  Expr guard_load(const Expr& expr, const ir::Load& load) {
    const Expr inner = children(expr);
    if (load.unchecked || !is_checked(load.buffer)) return inner;
    const Expr open = open_condition(load.buffer, load.indices);
    std::vector<Expr> indices = inner.as<ir::Load>().indices;
    const bool clamped = open && clamp_in_nest(load, indices);
    const Expr inside = ir::make<ir::Load>(expr.loc(), [&](ir::Load& n) {
      n = inner.as<ir::Load>();
      n.indices = indices;
      n.unchecked = true;
    });
    if (!open) return inside;
    const Expr safe = load.buffer->safe_value ? load.buffer->safe_value : ir::zero(load.dtype);
    if (clamped) return ir::op(ir::OpCode::select, load.dtype, {open, inside, safe}, expr.loc());
    return ir::op(ir::OpCode::if_else, load.dtype, {rewrite_condition(open), inside, safe},
                  expr.loc());
  }

  /// In a nest of serial loops a branch around a load costs more than the load. Where all
  /// lanes share an index whose first value in the nest is inside, the index is limited
  /// instead, so that the load can be made whatever the guard says. Tells whether that was
  /// possible for all dimensions.
  bool clamp_in_nest(const ir::Load& load, std::vector<Expr>& indices) const {
    if (!in_nest_) return false;
    std::vector<Expr> limited = indices;
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr &index = load.indices[d], &extent = load.buffer.shape()[d];
      if (!bounds_.proves(ir::le(ir::index(0), index))) return false;
      if (bounds_.proves(ir::lt(index, extent))) continue;
      Linear first = Linear::of(index);
      for (auto loop = box_.rbegin(); loop != box_.rend(); ++loop) {
        const auto coefficient = first.coefficient_of(loop->var);
        if (!coefficient || *coefficient < 0 || (*coefficient > 0 && loop->is_lane)) return false;
        if (*coefficient > 0)
          first = first.without(loop->var).add(Linear::of(loop->lo), *coefficient);
      }
      if (!bounds_.proves(ir::lt(first.to_expr(), extent))) return false;
      limited[d] = ir::min(indices[d], ir::sub(extent, ir::index(1)));
    }
    indices = std::move(limited);
    return true;
  }

  /// Indices that are loads themselves are guarded inside the condition too.
  Expr rewrite_condition(const Expr& condition) {
    return ir::has_load(condition) ? rewrite(condition) : condition;
  }

  Stmt guard_store(const Stmt& stmt, const ir::Store& store) {
    const Stmt inner = children(stmt);
    if (store.unchecked || !is_checked(store.buffer)) return inner;
    const Expr open = open_condition(store.buffer, store.indices);
    const Stmt inside = ir::make<ir::Store>(stmt.loc(), [&](ir::Store& n) {
      n = inner.as<ir::Store>();
      n.unchecked = true;
    });
    return open ? ir::if_(rewrite_condition(open), inside) : inside;
  }

  /// An engine brings zeros for what may be outside. In bulk it isn't, and descriptors see to it.
  Stmt guard_copy(const Stmt& stmt, const ir::AsyncCopy& copy) {
    const Stmt inner = children(stmt);
    if (copy.engine != ir::CopyEngine::elements || copy.src.unchecked) return inner;
    std::vector<Expr> last;
    for (size_t d = 0; d < copy.src.begin.size(); ++d) {
      last.push_back(ir::sub(ir::add(copy.src.begin[d], copy.src.extent[d]), ir::index(1)));
    }
    Expr open = open_condition(copy.src.buffer, copy.src.begin);
    open = ir::land(open, open_condition(copy.src.buffer, last));
    if (!open) return inner;
    return ir::make<ir::AsyncCopy>(stmt.loc(), [&](ir::AsyncCopy& n) {
      n = inner.as<ir::AsyncCopy>();
      n.valid = ir::land(n.valid, rewrite_condition(open));
    });
  }

  /// The sequence itself when no statement changed.
  static Stmt with_stmts(const Stmt& stmt, std::vector<Stmt> next) {
    const auto& old = stmt.as<ir::Seq>().stmts;
    bool same = old.size() == next.size();
    for (size_t i = 0; same && i < old.size(); ++i) same = old[i].same_as(next[i]);
    if (same) return stmt;
    return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(next); });
  }

  // The result of an atomic is bound for the rest of the sequence, so a guarded one passes it on
  // through a variable.
  void guard_atomic(const Stmt& stmt, const ir::Atomic& atomic, std::vector<Stmt>& out) {
    const Stmt inner = children(stmt);
    const Expr open =
        is_checked(atomic.buffer) ? open_condition(atomic.buffer, atomic.indices) : Expr();
    if (!open) return out.push_back(inner);
    if (!atomic.result) return out.push_back(ir::if_(rewrite_condition(open), inner));
    const DType dtype = atomic.result.dtype();
    const ir::Buffer held =
        ir::make_buffer(atomic.result.name(), dtype, ir::MemSpace::variable, std::vector<Expr>{});
    const Var previous = Var::make("previous", dtype);
    const Stmt access = ir::make<ir::Atomic>(stmt.loc(), [&](ir::Atomic& n) {
      n = inner.as<ir::Atomic>();
      n.result = previous;
    });
    out.push_back(ir::alloc(held, ir::zero(dtype)));
    out.push_back(
        ir::if_(rewrite_condition(open), ir::seq({access, ir::store(held, {}, previous)})));
    out.push_back(ir::let(atomic.result, ir::load(held, {})));
  }

  Expr rewrite_lazy(const Expr& expr, const ir::Op& op) {
    std::vector<Expr> args{rewrite(op.args[0])};
    const auto under = [&](bool holds, const Expr& arg) {
      const Bounds::Scope scope(bounds_);
      bounds_.assume(op.args[0], holds);
      args.push_back(rewrite(arg));
    };
    under(op.code != ir::OpCode::lor, op.args[1]);
    if (op.args.size() == 3) under(false, op.args[2]);
    bool changed = false;
    for (size_t i = 0; i < args.size(); ++i) changed = changed || !args[i].same_as(op.args[i]);
    return changed ? ir::op(op.code, op.dtype, std::move(args), expr.loc()) : expr;
  }

  Bounds bounds_;
  std::vector<BoxIndex> box_;
  std::vector<Var> bound_inside_;
  Expr hoisted_;
  bool in_box_ = false;
  bool in_nest_ = false;  // the box is a nest of serial loops
  bool trusted_ = false;
};

}  // namespace

ir::Program guard_bounds(const ir::Program& program) {
  return GuardBounds(program).rewrite(program);
}

}  // namespace tw::pass
