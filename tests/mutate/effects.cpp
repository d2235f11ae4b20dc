#include "tests/mutate/effects.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/simplify.h"

namespace tw::test {
namespace {

using ir::Expr;
using ir::OpCode;
using ir::Stmt;

bool is_local(const ir::Buffer& b) {
  const ir::MemSpace space = b.root().space();
  return space != ir::MemSpace::global && space != ir::MemSpace::workspace &&
         space != ir::MemSpace::shared;
}

}  // namespace

std::vector<Expr> expressions(const Stmt& stmt) {
  struct Collect : ir::Visitor {
    std::vector<Expr> all;
    using Visitor::visit;
    void visit(const Expr& e) override {
      if (e) all.push_back(e);
    }
    void visit(const Stmt&) override {}
    void of(const Stmt& s) { children(s); }
  } collect;
  collect.of(stmt);
  return collect.all;
}

bool Effects::only_asserts(const Stmt& s) const {
  if (!s) return false;
  if (const auto* seq = s.try_as<ir::Seq>()) {
    return std::all_of(seq->stmts.begin(), seq->stmts.end(),
                       [&](const Stmt& each) { return only_asserts(each); });
  }
  const auto* check = s.try_as<ir::Assert>();
  return check != nullptr && !ir::has_load(check->cond) &&
         !ir::contains(check->cond, [&](const Expr& e) { return e.same_as(launch_.thread); });
}

bool Effects::some_thread(const Expr& condition) {
  int64_t threads = 1;
  for (const int64_t t : launch_.threads) threads *= t;
  for (const int64_t t : {int64_t{0}, threads - 1}) {
    const Facts::Scope scope(facts_);
    facts_.assume(ir::eq(launch_.thread, ir::int_const(launch_.thread.dtype(), t)));
    if (facts_.proves(condition)) return true;
  }
  return false;
}

bool Effects::is_doomed() {
  const Facts::Scope scope(facts_);
  for (const Expr& each : asserted_) facts_.assume(each);
  return !asserted_.empty() && facts_.is_dead();
}

void Effects::learn(const Stmt& s) {
  if (const auto* let = s.try_as<ir::Let>()) facts_.define(let->var, let->value);
  if (const auto* assume = s.try_as<ir::Assume>()) facts_.assume(assume->cond);
  if (const auto* check = s.try_as<ir::Assert>()) facts_.assume(check->cond);
  const auto* branch = s.try_as<ir::If>();
  if (branch != nullptr && only_asserts(branch->then_body) && some_thread(branch->cond)) {
    ir::for_each_stmt(branch->then_body, [&](const Stmt& each) {
      if (each.is<ir::Assert>()) asserted_.push_back(each.as<ir::Assert>().cond);
    });
  }
  facts_.step();
}

bool Effects::is_inside(const ir::Buffer& b, const std::vector<Expr>& indices) {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!facts_.proves(ir::land(ir::le(ir::zero(indices[d].dtype()), indices[d]),
                                ir::lt(indices[d], b.shape()[d])))) {
      return false;
    }
  }
  return true;
}

bool Effects::is_harmless(const Expr& e) {
  if (!ir::has_load(e)) return true;
  if (const auto* load = e.try_as<ir::Load>()) {
    for (const Expr& index : load->indices) {
      if (ir::has_load(index) && !is_harmless(index)) return false;
    }
    return is_inside(load->buffer, load->indices);
  }
  if (const auto* op = e.try_as<ir::Op>()) {
    for (size_t i = 0; i < op->args.size(); ++i) {
      const Facts::Scope scope(facts_);
      const bool is_lazy = facts_.assume_evaluated(*op, i);
      if (is_lazy && ir::has_load(op->args[i]) && facts_.is_dead()) continue;
      if (!is_harmless(op->args[i])) return false;
    }
    return true;
  }
  if (const auto* cast = e.try_as<ir::Cast>()) return is_harmless(cast->value);
  return false;
}

Expr Effects::chosen(const Expr& e) {
  return ir::rewrite(e, [&](auto& self, const ir::Op& op) -> Expr {
    if (op.code == OpCode::select || op.code == OpCode::if_else) {
      if (facts_.proves(op.args[0])) return self(op.args[1]);
      if (facts_.proves(op.args[0], false)) return self(op.args[2]);
    }
    return self.rebuild(op);
  });
}

Stmt Effects::chosen(const Stmt& s) {
  if (!s) return s;
  const Facts::Scope scope(facts_);
  facts_.step();
  if (const auto* seq = s.try_as<ir::Seq>()) {
    std::vector<Stmt> stmts;
    for (const Stmt& each : seq->stmts) {
      stmts.push_back(chosen(each));
      learn(each);
    }
    return ir::seq(std::move(stmts));
  }
  if (const auto* branch = s.try_as<ir::If>()) {
    if (facts_.proves(branch->cond)) return chosen(branch->then_body);
    if (facts_.proves(branch->cond, false)) {
      return branch->else_body ? chosen(branch->else_body) : ir::seq({});
    }
  }
  if (const auto* loop = s.try_as<ir::For>()) {
    facts_.bind(*loop);
    const Stmt body = chosen(loop->body);
    return ir::for_(loop->var, loop->lo, loop->hi, loop->step, body);
  }
  if (s.is<ir::If>() || s.is<ir::While>()) return s;
  return ir::rewrite(s, [&](auto& self, const ir::Op& op) -> Expr {
    const Expr made = chosen(Expr(&op));
    const auto* other = made.try_as<ir::Op>();
    return other != nullptr ? self.rebuild(*other) : self(made);
  });
}

/// Sums that begin at 0 are never -0, and maxima that begin at a number never NaN.
bool Effects::keeps(const ir::Store& store) {
  const Expr value = pass::simplify(chosen(store.value), pass::Bounds(program_));
  const auto is_old = [&](const Expr& e) {
    const auto* load = e.try_as<ir::Load>();
    if (load == nullptr || !load->buffer.same_as(store.buffer)) return false;
    for (size_t d = 0; d < store.indices.size(); ++d) {
      if (!facts_.proves_equal(load->indices[d], store.indices[d])) return false;
    }
    return true;
  };
  if (is_old(value)) return true;
  const auto* op = value.try_as<ir::Op>();
  if (op == nullptr || op->args.size() != 2) return false;
  for (const size_t old : {0, 1}) {
    const auto* other = op->args[1 - old].try_as<ir::Const>();
    if (other == nullptr || !is_old(op->args[old]) || !other->dtype.is_float()) continue;
    const bool infinite = std::isinf(other->f);
    switch (op->code) {
      case OpCode::add:
        return other->f == 0;
      case OpCode::max:
      case OpCode::max_nan:
        return infinite && other->f < 0;
      case OpCode::min:
      case OpCode::min_nan:
        return infinite && other->f > 0;
      default:
        return false;
    }
  }
  return false;
}

bool Effects::does_nothing(const Stmt& s) {
  if (!s) return true;
  if (const auto* seq = s.try_as<ir::Seq>()) {
    const Facts::Scope scope(facts_);
    for (const Stmt& each : seq->stmts) {
      if (!does_nothing(each)) return false;
      learn(each);
    }
    return true;
  }
  if (const auto* let = s.try_as<ir::Let>()) return is_harmless(let->value);
  if (const auto* alloc = s.try_as<ir::Alloc>()) {
    if (alloc->initial && !is_harmless(alloc->initial)) return false;
    if (is_local(alloc->buffer)) own_.insert(alloc->buffer.root().get());
    return true;
  }
  if (const auto* branch = s.try_as<ir::If>()) {
    if (!is_harmless(branch->cond)) return false;
    for (const bool holds : {true, false}) {
      const Stmt& part = holds ? branch->then_body : branch->else_body;
      if (!part) continue;
      const Facts::Scope scope(facts_);
      facts_.assume(branch->cond, holds);
      facts_.step();
      if (!facts_.is_dead() && !does_nothing(part)) return false;
    }
    return true;
  }
  if (const auto* loop = s.try_as<ir::For>()) {
    const Facts::Scope scope(facts_);
    facts_.bind(*loop);
    facts_.step();
    return facts_.is_dead() || does_nothing(loop->body);
  }
  if (const auto* store = s.try_as<ir::Store>()) {
    if (!is_local(store->buffer) || !is_harmless(store->value)) return false;
    return is_inside(store->buffer, store->indices) &&
           (keeps(*store) || is_doomed() || is_unread(store->buffer, store->indices));
  }
  if (const auto* assume = s.try_as<ir::Assume>()) return facts_.proves(assume->cond);
  if (const auto* check = s.try_as<ir::Assert>()) return facts_.proves(check->cond);
  return false;
}

bool Effects::is_unread(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
  if (own_.contains(buffer.root().get())) return true;
  if (!buffer.same_as(buffer.root())) return false;
  std::vector<z3::expr> element;
  for (const Expr& index : indices) element.push_back(facts_.renamed(facts_.term(index)));
  const z3::expr here = facts_.of_another_step();

  // Every place that reads it, with what is known there.
  Facts::Fresh fresh(facts_);
  bool unread = true;
  const auto read = [&](const ir::Buffer& b, const std::vector<Expr>& at, int64_t count) {
    if (!unread || !b.root().same_as(buffer)) return;
    if (!b.same_as(buffer)) {
      unread = false;
      return;
    }
    for (int64_t i = 0; i < count && unread; ++i) {
      std::vector<Expr> each = at;
      if (i > 0) each.back() = ir::add(each.back(), ir::int_const(each.back().dtype(), i));
      unread = facts_.excludes(here, element, each);
    }
  };
  const std::function<void(const Expr&)> walk_expr = [&](const Expr& e) {
    if (!unread || !e) return;
    if (const auto* load = e.try_as<ir::Load>()) {
      for (const Expr& index : load->indices) walk_expr(index);
      return read(load->buffer, load->indices, 1);
    }
    if (const auto* cast = e.try_as<ir::Cast>()) {
      walk_expr(cast->value);
      return walk_expr(cast->rbits);
    }
    const auto* op = e.try_as<ir::Op>();
    if (op == nullptr) return;
    for (size_t i = 0; i < op->args.size(); ++i) {
      const Facts::Scope scope(facts_);
      facts_.assume_evaluated(*op, i);
      walk_expr(op->args[i]);
    }
  };
  const std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (!unread || !s) return;
    if (const auto* seq = s.try_as<ir::Seq>()) {
      const Facts::Scope scope(facts_);
      for (const Stmt& each : seq->stmts) {
        walk(each);
        learn(each);
      }
      return;
    }
    for (const Expr& e : expressions(s)) walk_expr(e);
    if (const auto* branch = s.try_as<ir::If>()) {
      for (const bool holds : {true, false}) {
        const Facts::Scope scope(facts_);
        facts_.assume(branch->cond, holds);
        facts_.step();
        walk(holds ? branch->then_body : branch->else_body);
      }
    } else if (const auto* loop = s.try_as<ir::For>()) {
      const Facts::Scope scope(facts_);
      facts_.bind(*loop);
      facts_.step();
      walk(loop->body);
    } else if (const auto* move = s.try_as<ir::Move>()) {
      read(move->src, move->src_indices, move->count);
    } else if (const auto* loop = s.try_as<ir::While>()) {
      walk(loop->body);
    } else if (s.is<ir::AsyncCopy>() || s.is<ir::Print>()) {
      unread = false;  // not looked into
    }
  };
  walk(launch_.body);
  return unread;
}

}  // namespace tw::test
