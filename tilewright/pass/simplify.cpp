#include "tilewright/pass/simplify.h"

#include <algorithm>
#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/simplify_expr.h"
#include "tilewright/pass/simplify_unused.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

/// Whether a break or continue in the statement belongs to a loop around it.
bool jumps_out(const Stmt& stmt) {
  if (!stmt) return false;
  switch (stmt.kind()) {
    case ir::Kind::Break:
    case ir::Kind::Continue:
      return true;
    case ir::Kind::Seq: {
      const auto& stmts = stmt.as<ir::Seq>().stmts;
      return std::any_of(stmts.begin(), stmts.end(), jumps_out);
    }
    case ir::Kind::If:
      return jumps_out(stmt.as<ir::If>().then_body) || jumps_out(stmt.as<ir::If>().else_body);
    default:  // loops keep theirs
      return false;
  }
}
/// Whether what follows the statement is never reached from it.
bool always_jumps(const Stmt& stmt) {
  if (stmt.is<ir::Break>() || stmt.is<ir::Continue>()) return true;
  const auto* seq = stmt.try_as<ir::Seq>();
  return seq != nullptr && !seq->stmts.empty() && always_jumps(seq->stmts.back());
}

class Simplifier : public ir::Rewriter, public ExprSimplifier {
 public:
  Simplifier(const ir::Program& program, bool keeps_apart)
      : ExprSimplifier(Bounds(program)), uses_(program), keeps_apart_(keeps_apart) {}

  ir::Program run(const ir::Program& program) {
    ir::Program next = program;
    Expr skipped;  // the guard of the launch before, which failed if this one runs
    for (Stmt& launch : next.launches) {
      const auto& node = launch.as<ir::Launch>();
      const Expr guard = node.aligned.empty() ? node.guard : Expr();
      const Inside inside(*this);
      if (skipped) bounds.assume(skipped, false);
      launch = rewrite(launch);
      skipped = guard;
    }
    return next;
  }

  using Rewriter::rewrite;
  Expr rewrite(const Expr& expr) override { return simplify(expr); }
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    switch (stmt.kind()) {
      case ir::Kind::Launch:
        return launch(stmt, stmt.as<ir::Launch>());
      case ir::Kind::Seq:
        return sequence(stmt, stmt.as<ir::Seq>());
      case ir::Kind::Let:
        return let(stmt, stmt.as<ir::Let>());
      case ir::Kind::Alloc:
        return alloc(stmt);
      case ir::Kind::Store:
        return store(stmt);
      case ir::Kind::For:
        return loop(stmt, stmt.as<ir::For>());
      case ir::Kind::Parallel:
        return parallel(stmt, stmt.as<ir::Parallel>());
      case ir::Kind::If:
        return branch(stmt, stmt.as<ir::If>());
      case ir::Kind::While:
        return while_loop(stmt);
      case ir::Kind::Copy:
        return box(stmt, stmt.as<ir::Copy>().dst);
      case ir::Kind::Fill:
        return box(stmt, stmt.as<ir::Fill>().dst);
      case ir::Kind::Assert:
        return ir::is_true(simplify(stmt.as<ir::Assert>().cond)) ? ir::seq({}) : children(stmt);
      case ir::Kind::Assume: {
        Stmt next = children(stmt);
        const Expr cond = next.as<ir::Assume>().cond;
        if (ir::is_true(cond)) return ir::seq({});
        bounds.assume(cond);
        forget();
        return next;
      }
      default:
        return children(stmt);
    }
  }

 protected:
  ir::Buffer buffer(const ir::Buffer& b) override { return rewrite(b); }
  // A declaration is simplified with what is known where it stands, not where it happens to be
  // used first; a parameter's is the caller's.
  ir::Buffer rewrite_declaration(const ir::Buffer& b) override {
    return declaring_.same_as(b) ? declaration_children(b) : b;
  }

 private:
  /// Facts learned in its lifetime are forgotten with it.
  class Inside {
   public:
    explicit Inside(Simplifier& s) : s_(s), scope_(s.bounds) {}
    ~Inside() {
      if (scope_.learned()) s_.forget();
    }

   private:
    Simplifier& s_;
    Bounds::Scope scope_;
  };

  // The bounds of a loop and the extents of a grid are simplified outside of it: inside there is
  // one iteration at least.
  Stmt launch(const Stmt& stmt, const ir::Launch& launch) {
    const std::vector<Expr> grid = all(launch.grid);
    const Expr guard = simplify(launch.guard);
    const Inside inside(*this);
    if (guard) bounds.assume(guard);
    for (size_t d = 0; d < grid.size(); ++d) {
      bounds.bind(launch.block_vars[d], ir::index(0), grid[d]);
    }
    forget();
    const Stmt body = rewrite(launch.body);
    if (same(grid, launch.grid) && guard.same_as(launch.guard) && body.same_as(launch.body)) {
      return stmt;
    }
    return ir::make<ir::Launch>(stmt.loc(), [&](ir::Launch& n) {
      n = launch;
      n.grid = grid;
      n.guard = guard;
      n.body = body;
    });
  }

  /// With `in_place` each statement that a plan counts keeps its place.
  Stmt sequence(const Stmt& stmt, const ir::Seq& seq, bool in_place = false) {
    const Inside inside(*this);
    std::vector<Stmt> next;
    bool changed = false;
    for (const Stmt& s : seq.stmts) {
      const Stmt now = rewrite(s);
      changed = changed || !now.same_as(s);
      if (ir::is_empty(now) && !(in_place && is_counted(s))) continue;
      if (!in_place && merge_with_last(next, now)) {
        changed = true;
        continue;
      }
      next.push_back(now);
      if (always_jumps(now) && !in_place) break;
      const auto* branch = now.try_as<ir::If>();
      if (branch != nullptr && always_jumps(branch->then_body)) {
        bounds.assume(branch->cond, false);
        forget();
      }
    }
    if (!changed && next.size() == seq.stmts.size()) return stmt;
    if (!in_place) return with_loc(ir::seq(std::move(next)), stmt);
    return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(next); });
  }

  /// Whether threads may hand values from one to the other through memory: a barrier may have to
  /// go between.
  static bool may_pass_on(const ir::If& first, const ir::If& second) {
    const auto touched = [](const ir::If& branch, bool writes) {
      std::set<ir::Buffer, ir::ById> roots;
      const auto add = [&](const ir::Buffer& buffer) {
        const ir::MemSpace space = buffer.root().space();
        if (space == ir::MemSpace::shared || space == ir::MemSpace::shared_static ||
            space == ir::MemSpace::global || space == ir::MemSpace::workspace) {
          roots.insert(buffer.root());
        }
      };
      for (const Stmt& body : {branch.then_body, branch.else_body}) {
        if (!body) continue;
        ir::for_each_stmt(body, [&](const Stmt& s) {
          const auto* store = s.try_as<ir::Store>();
          if (writes && store != nullptr) add(store->buffer);
          if (const auto* copy = s.try_as<ir::AsyncCopy>()) {
            add(writes ? copy->dst.buffer : copy->src.buffer);
          }
        });
        if (writes) continue;
        ir::for_each_expr(body, [&](const Expr& e) {
          if (const auto* load = e.try_as<ir::Load>()) add(load->buffer);
        });
      }
      return roots;
    };
    const auto meet = [&](bool first_writes, bool second_writes) {
      const auto a = touched(first, first_writes), b = touched(second, second_writes);
      return std::any_of(a.begin(), a.end(), [&](const ir::Buffer& x) { return b.contains(x); });
    };
    return meet(true, false) || meet(false, true);
  }

  /// Two conditional statements under the same condition, on which the first has no influence,
  /// become one.
  bool merge_with_last(std::vector<Stmt>& stmts, const Stmt& stmt) const {
    const auto* second = stmt.try_as<ir::If>();
    const auto* first = stmts.empty() ? nullptr : stmts.back().try_as<ir::If>();
    if (first == nullptr || second == nullptr || ir::has_load(first->cond) ||
        !same_expr(first->cond, second->cond) || jumps_out(stmts.back()) ||
        (keeps_apart_ && may_pass_on(*first, *second))) {
      return false;
    }
    const auto both = [](const Stmt& a, const Stmt& b) {
      return a && b ? ir::seq({a, b}) : (a ? a : b);
    };
    stmts.back() = ir::make<ir::If>(stmts.back().loc(), [&](ir::If& n) {
      n = *first;
      n.then_body = both(first->then_body, second->then_body);
      n.else_body = both(first->else_body, second->else_body);
    });
    return true;
  }

  Stmt let(const Stmt& stmt, const ir::Let& let) {
    const Stmt next = children(stmt);
    const Expr& value = next.as<ir::Let>().value;
    return bind(let.var, value) ? ir::seq({}) : next;
  }
  /// Makes a variable known as a value; whether it needs no binding any more.
  bool bind(const Var& var, const Expr& value) {
    const VarUse use = uses_.of(var);
    const bool plain = value.is<ir::Const>() || value.is<ir::VarNode>();
    constexpr int32_t kHigh = ir::kMaxHeight / 10;  // chains of bindings don't pile up
    const bool once =
        use.count == 1 && !use.in_deeper_loop && !ir::has_load(value) && value->height < kHigh;
    if (plain || once) {
      substitute(var, value);
    } else {
      bounds.bind_value(var, value);
      if (!ir::has_load(value)) name(var, value);
    }
    return (plain || once) && !use.in_declaration;
  }

  Stmt alloc(const Stmt& stmt) {
    declaring_ = stmt.as<ir::Alloc>().buffer;
    const Stmt next = children(stmt);
    declaring_ = {};
    return next;
  }

  Stmt store(const Stmt& stmt) {
    Stmt next = children(stmt);
    const auto& n = next.as<ir::Store>();
    const auto* value = n.value.try_as<ir::Load>();
    if (value == nullptr || !value->buffer.same_as(n.buffer)) return next;
    for (size_t d = 0; d < n.indices.size(); ++d) {
      if (!same_expr(n.indices[d], value->indices[d])) return next;
    }
    return ir::seq({});  // an element as it is
  }

  /// A copy or fill; nothing happens to an empty box.
  Stmt box(const Stmt& stmt, const ir::Region& dst) {
    for (const Expr& extent : dst.extent) {
      if (bounds.proves(ir::le(simplify(extent), ir::zero(extent.dtype())))) return ir::seq({});
    }
    return children(stmt);
  }

  Stmt loop(const Stmt& stmt, const ir::For& loop) {
    const Expr lo = simplify(loop.lo), hi = simplify(loop.hi);
    const Expr stride = simplify(loop.step);
    const int64_t step = ir::as_int(stride).value_or(0);  // 0: not known
    const bool up = step > 0;
    if (up && bounds.proves(ir::le(hi, lo))) return ir::seq({});
    if (up && !jumps_out(loop.body) && bounds.proves(ir::lt(lo, hi)) &&
        bounds.proves(ir::le(hi, ir::add(lo, stride)))) {
      const Stmt binding = bind(loop.var, lo) ? Stmt() : ir::let(loop.var, lo);
      return ir::seq({binding, rewrite(loop.body)});
    }
    const Inside inside(*this);
    const Expr one = ir::int_const(loop.var.dtype(), 1);
    if (up) {
      bounds.bind(loop.var, lo, hi, step);
    } else if (step < 0) {
      bounds.bind(loop.var, ir::add(hi, one), ir::add(lo, one));
    }
    const auto* stmts = loop.body.try_as<ir::Seq>();
    const Stmt body =
        has_plan(loop) && stmts != nullptr ? sequence(loop.body, *stmts, true) : rewrite(loop.body);
    if (ir::is_empty(body)) return ir::seq({});
    if (lo.same_as(loop.lo) && hi.same_as(loop.hi) && stride.same_as(loop.step) &&
        body.same_as(loop.body)) {
      return stmt;
    }
    return ir::make<ir::For>(stmt.loc(), [&](ir::For& n) {
      n = loop;
      n.lo = lo;
      n.hi = hi;
      n.step = stride;
      n.body = body;
    });
  }

  // A box keeps one index at least: what stands outside of a Parallel may be done by every thread.
  Stmt parallel(const Stmt& stmt, const ir::Parallel& box) {
    const std::vector<Expr> all_extents = all(box.extents);
    std::vector<ir::Region> prefetch;
    for (const ir::Region& region : box.prefetch) prefetch.push_back(rewrite(region));
    const Inside inside(*this);
    std::vector<Var> vars;
    std::vector<Expr> extents;
    for (size_t d = 0; d < box.vars.size(); ++d) {
      const Expr& extent = all_extents[d];
      if (bounds.proves(ir::le(extent, ir::zero(extent.dtype())))) return ir::seq({});
      const bool last = d + 1 == box.vars.size() && vars.empty();
      if (ir::is_int(extent, 1) && box.layout.empty() && !last &&
          bind(box.vars[d], ir::zero(box.vars[d].dtype()))) {
        continue;
      }
      bounds.bind(box.vars[d], ir::index(0), extent);
      vars.push_back(box.vars[d]);
      extents.push_back(extent);
    }
    const Stmt body = rewrite(box.body);
    if (ir::is_empty(body) && prefetch.empty()) return ir::seq({});
    const auto unchanged = [](const ir::Region& a, const ir::Region& b) {
      return a.buffer.same_as(b.buffer) && same(a.begin, b.begin) && same(a.extent, b.extent);
    };
    if (same(extents, box.extents) && body.same_as(box.body) &&
        std::equal(prefetch.begin(), prefetch.end(), box.prefetch.begin(), unchanged)) {
      return stmt;
    }
    return ir::make<ir::Parallel>(stmt.loc(), [&](ir::Parallel& n) {
      n = box;
      n.vars = vars;
      n.extents = extents;
      n.body = body;
      n.prefetch = prefetch;
    });
  }

  Stmt branch(const Stmt& stmt, const ir::If& branch) {
    const Expr cond = simplify(branch.cond);
    const auto body = [&](const Stmt& part, bool holds) {
      if (!part) return Stmt();
      const Inside inside(*this);
      bounds.assume(cond, holds);
      forget();
      return rewrite(part);
    };
    if (bounds.proves(cond)) return rewrite(branch.then_body);
    if (bounds.disproves(cond)) return branch.else_body ? rewrite(branch.else_body) : ir::seq({});
    const Stmt then_body = body(branch.then_body, true);
    const Stmt else_body = body(branch.else_body, false);
    if (ir::is_empty(then_body) && ir::is_empty(else_body)) return ir::seq({});
    const bool turned = ir::is_empty(then_body);
    if (!turned && cond.same_as(branch.cond) && then_body.same_as(branch.then_body) &&
        else_body.same_as(branch.else_body)) {
      return stmt;
    }
    return ir::make<ir::If>(stmt.loc(), [&](ir::If& n) {
      n.cond = turned ? simplify(ir::lnot(cond)) : cond;
      n.then_body = turned ? else_body : then_body;
      n.else_body = turned || ir::is_empty(else_body) ? Stmt() : else_body;
    });
  }

  Stmt while_loop(const Stmt& stmt) {
    const Stmt next = children(stmt);
    return ir::is_false(next.as<ir::While>().cond) ? ir::seq({}) : next;
  }

  /// A sequence that a pass made has the position of what it stands for.
  static Stmt with_loc(const Stmt& made, const Stmt& instead_of) {
    const auto* seq = made.try_as<ir::Seq>();
    if (seq == nullptr || made.loc().known()) return made;
    return ir::make<ir::Seq>(instead_of.loc(), [&](ir::Seq& n) { n = *seq; });
  }

  std::vector<Expr> all(const std::vector<Expr>& exprs) {
    std::vector<Expr> next;
    for (const Expr& e : exprs) next.push_back(simplify(e));
    return next;
  }
  static bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& x, const Expr& y) { return x.same_as(y); });
  }

  const VarUses uses_;
  const bool keeps_apart_;
  ir::Buffer declaring_;
};

}  // namespace

ir::Program simplify(const ir::Program& program, bool keeps_apart) {
  return remove_unused(Simplifier(program, keeps_apart).run(program));
}

}  // namespace tw::pass
