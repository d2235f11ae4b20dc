// Which mutants do the same as the program. A mutant differs from it in one place; what is known
// there decides:
//   - no run comes there;
//   - both values are the same there, or both conditions;
//   - what only one of them executes does nothing: all of it is behind conditions that fail, or it
//     writes local elements which nobody reads who could see that.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "tests/mutate/facts.h"
#include "tests/mutate/mutants.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/unroll_loops.h"

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

/// The expressions of a statement itself, without those of statements inside.
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

class Comparison {
 public:
  Comparison(const ir::Program& program, const ir::Launch& launch,
             const std::map<std::string, int64_t>& sizes)
      : facts_(program, launch, sizes), program_(program), launch_(launch) {}

  std::string same(const Stmt& a, const Stmt& b);

 private:
  bool only_asserts(const Stmt& s) const;
  bool some_thread(const Expr& condition);
  /// Whether an assertion fails, perhaps in another thread, in every run that comes here: then what
  /// is computed doesn't count.
  bool is_doomed();

  std::string same_here(const Stmt& a, const Stmt& b);
  std::string same_branch(const ir::If& a, const ir::If& b);
  std::string same_loop(const ir::For& a, const ir::For& b);
  std::string same_value(const Expr& a, const Expr& b);
  void learn(const Stmt& s);

  /// Whether the statement has no effect here, if it is executed or left out.
  bool does_nothing(const Stmt& s);
  /// Whether to evaluate it neither fails nor leaves its tensors.
  bool is_harmless(const Expr& e);
  bool is_inside(const ir::Buffer& b, const std::vector<Expr>& indices);
  /// The value, or all that a statement does, with all choices made that are known.
  Expr chosen(const Expr& e);
  Stmt chosen(const Stmt& s);
  std::string text_of(const Stmt& s) {
    return ir::print(chosen(s), {.canonical = true, .free = true});
  }
  /// Whether the element keeps its value: that is stored, or what a fold with nothing makes of it.
  bool keeps(const ir::Store& store);
  /// Whether nobody reads this local element who could see that it is written here.
  bool is_unread(const ir::Buffer& b, const std::vector<Expr>& indices);

  Facts facts_;
  const ir::Program& program_;
  const ir::Launch& launch_;
  std::vector<Expr> asserted_;           // by some thread, on the way here
  std::set<const ir::BufferNode*> own_;  // local arrays of what is looked at
};

/// Whether the statement consists of assertions, which are the same for all threads.
bool Comparison::only_asserts(const Stmt& s) const {
  if (!s) return false;
  if (const auto* seq = s.try_as<ir::Seq>()) {
    return std::all_of(seq->stmts.begin(), seq->stmts.end(),
                       [&](const Stmt& each) { return only_asserts(each); });
  }
  const auto* check = s.try_as<ir::Assert>();
  return check != nullptr && !ir::has_load(check->cond) &&
         !ir::contains(check->cond, [&](const Expr& e) { return e.same_as(launch_.thread); });
}

/// Whether some thread is certainly let through.
bool Comparison::some_thread(const Expr& condition) {
  int64_t threads = 1;
  for (const int64_t t : launch_.threads) threads *= t;
  for (const int64_t t : {int64_t{0}, threads - 1}) {
    const Facts::Scope scope(facts_);
    facts_.assume(ir::eq(launch_.thread, ir::int_const(launch_.thread.dtype(), t)));
    if (facts_.proves(condition)) return true;
  }
  return false;
}

bool Comparison::is_doomed() {
  const Facts::Scope scope(facts_);
  for (const Expr& each : asserted_) facts_.assume(each);
  return !asserted_.empty() && facts_.is_dead();
}

/// What follows a statement in its sequence may count on.
void Comparison::learn(const Stmt& s) {
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

std::string Comparison::same(const Stmt& a, const Stmt& b) {
  const auto* first = a.try_as<ir::Seq>();
  const auto* second = b.try_as<ir::Seq>();
  if (first != nullptr && second != nullptr && first->stmts.size() == second->stmts.size()) {
    const Facts::Scope scope(facts_);
    for (size_t i = 0; i < first->stmts.size(); ++i) {
      if (!first->stmts[i].same_as(second->stmts[i])) {
        return same(first->stmts[i], second->stmts[i]);
      }
      learn(first->stmts[i]);
    }
    return {};
  }
  const auto* branch = a.try_as<ir::If>();
  const auto* other = b.try_as<ir::If>();
  if (branch != nullptr && other != nullptr && branch->cond.same_as(other->cond)) {
    const Facts::Scope scope(facts_);
    const bool in_then = !branch->then_body.same_as(other->then_body);
    facts_.assume(branch->cond, in_then);
    facts_.step();
    return in_then ? same(branch->then_body, other->then_body)
                   : same(branch->else_body, other->else_body);
  }
  const auto* loop = a.try_as<ir::For>();
  const auto* turned = b.try_as<ir::For>();
  if (loop != nullptr && turned != nullptr && loop->lo.same_as(turned->lo) &&
      loop->hi.same_as(turned->hi)) {
    const Facts::Scope scope(facts_);
    facts_.bind(*loop);
    facts_.step();
    return same(loop->body, turned->body);
  }
  if (facts_.is_dead()) return "no run comes here";
  return same_here(a, b);
}

std::string Comparison::same_here(const Stmt& a, const Stmt& b) {
  const auto* branch = a.try_as<ir::If>();
  const auto* other = b.try_as<ir::If>();
  if (branch != nullptr && other != nullptr) return same_branch(*branch, *other);
  if (branch != nullptr && !branch->else_body && b.same_as(branch->then_body)) {
    if (facts_.proves(branch->cond)) return "the guard always holds";
    if (only_asserts(b) && some_thread(branch->cond)) return "more threads assert the same";
    const Facts::Scope scope(facts_);
    facts_.assume(branch->cond, false);
    if (does_nothing(branch->then_body)) return "what the guard keeps off does nothing";
    return {};
  }
  if (a.is<ir::For>() && b.is<ir::For>()) return same_loop(a.as<ir::For>(), b.as<ir::For>());
  if (a.kind() != b.kind()) return {};
  const std::vector<Expr> left = expressions(a), right = expressions(b);
  if (left.size() != right.size()) return {};
  std::string why;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].same_as(right[i])) continue;
    const std::string each = same_value(left[i], right[i]);
    if (each.empty()) return {};
    why = each;
  }
  return why;
}

std::string Comparison::same_branch(const ir::If& a, const ir::If& b) {
  const std::string why = same_value(a.cond, b.cond);
  if (!why.empty()) return why;
  if (a.else_body) {
    for (const bool first : {true, false}) {
      const Facts::Scope scope(facts_);
      facts_.assume(a.cond, first);
      facts_.assume(b.cond, !first);
      if (!facts_.is_dead() && text_of(a.then_body) != text_of(a.else_body)) return {};
    }
    return "both branches do the same";
  }
  if (only_asserts(a.then_body) && some_thread(a.cond) && some_thread(b.cond)) {
    return "another thread asserts the same";
  }
  const Facts::Scope scope(facts_);
  facts_.assume(ir::eq(a.cond, b.cond), false);
  if (does_nothing(a.then_body)) return "what the condition decides does nothing";
  return {};
}

std::string Comparison::same_loop(const ir::For& a, const ir::For& b) {
  if (facts_.proves_equal(a.lo, b.lo) && facts_.proves_equal(a.hi, b.hi)) return "the same turns";
  const std::optional<int64_t> step = ir::as_int(a.step);
  if (!step || *step < 1) return {};
  // The one turn that only one of them has.
  const Facts::Scope scope(facts_);
  facts_.step();
  const Expr i = a.var;
  if (a.hi.same_as(b.hi)) {
    if (*step != 1) return {};
    facts_.assume(ir::lt(a.lo, a.hi));
    facts_.assume(ir::eq(i, a.lo));
  } else {
    const bool more = facts_.proves(ir::lt(a.hi, b.hi));
    const Expr last = more ? a.hi : b.hi;
    facts_.assume(ir::le(a.lo, last));
    facts_.assume(ir::eq(i, last));
    facts_.assume(ir::eq(ir::floormod(ir::sub(last, a.lo), a.step), ir::zero(i.dtype())));
  }
  if (facts_.is_dead() || does_nothing(a.body)) {
    return a.hi.same_as(b.hi) ? "the first turn does nothing" : "the turn at the end does nothing";
  }
  return {};
}

std::string Comparison::same_value(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return "the same value";
  if (facts_.proves_equal(a, b)) {
    return a.dtype().is_bool() ? "the condition holds in the same cases" : "the same value";
  }
  if (facts_.is_dead()) return "it is never evaluated";
  const auto* left = a.try_as<ir::Op>();
  const auto* right = b.try_as<ir::Op>();
  if (left != nullptr && (left->code == OpCode::select || left->code == OpCode::if_else)) {
    const std::string always = "the choice is always the same";
    if (b.same_as(left->args[1]) && facts_.proves(left->args[0])) return always;
    if (b.same_as(left->args[2]) && facts_.proves(left->args[0], false)) return always;
  }
  if (left != nullptr && right != nullptr && left->code == right->code &&
      left->args.size() == right->args.size()) {
    std::string why;
    for (size_t i = 0; i < left->args.size(); ++i) {
      if (left->args[i].same_as(right->args[i])) continue;
      const Facts::Scope scope(facts_);
      if (ir::is_lazy(left->code) && i > 0) {
        facts_.assume(left->args[0], left->code == OpCode::lor    ? false
                                     : left->code == OpCode::land ? true
                                                                  : i == 1);
      }
      why = same_value(left->args[i], right->args[i]);
      if (why.empty()) return {};
    }
    return why;
  }
  const auto* cast = a.try_as<ir::Cast>();
  const auto* other = b.try_as<ir::Cast>();
  if (cast != nullptr && other != nullptr) return same_value(cast->value, other->value);
  const auto* load = a.try_as<ir::Load>();
  const auto* shifted = b.try_as<ir::Load>();
  if (load != nullptr && shifted != nullptr && load->buffer.same_as(shifted->buffer)) {
    for (size_t i = 0; i < load->indices.size(); ++i) {
      if (!load->indices[i].same_as(shifted->indices[i]) &&
          !facts_.proves_equal(load->indices[i], shifted->indices[i])) {
        return {};
      }
    }
    return "the same element";
  }
  return {};
}

bool Comparison::is_inside(const ir::Buffer& b, const std::vector<Expr>& indices) {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!facts_.proves(ir::land(ir::le(ir::zero(indices[d].dtype()), indices[d]),
                                ir::lt(indices[d], b.shape()[d])))) {
      return false;
    }
  }
  return true;
}

bool Comparison::is_harmless(const Expr& e) {
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
      if (ir::is_lazy(op->code) && i > 0) {
        facts_.assume(op->args[0], op->code == OpCode::lor    ? false
                                   : op->code == OpCode::land ? true
                                                              : i == 1);
        if (ir::has_load(op->args[i]) && facts_.is_dead()) continue;
      }
      if (!is_harmless(op->args[i])) return false;
    }
    return true;
  }
  if (const auto* cast = e.try_as<ir::Cast>()) return is_harmless(cast->value);
  return false;
}

Expr Comparison::chosen(const Expr& e) {
  return ir::rewrite(e, [&](auto& self, const ir::Op& op) -> Expr {
    if (op.code == OpCode::select || op.code == OpCode::if_else) {
      if (facts_.proves(op.args[0])) return self(op.args[1]);
      if (facts_.proves(op.args[0], false)) return self(op.args[2]);
    }
    return self.rebuild(op);
  });
}

Stmt Comparison::chosen(const Stmt& s) {
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
bool Comparison::keeps(const ir::Store& store) {
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

bool Comparison::does_nothing(const Stmt& s) {
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

bool Comparison::is_unread(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
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
      if (ir::is_lazy(op->code) && i > 0) {
        facts_.assume(op->args[0], op->code == OpCode::lor    ? false
                                   : op->code == OpCode::land ? true
                                                              : i == 1);
      }
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

/// The program with loops of few turns written out and without assumptions, in fewest operations.
std::string normal_form(const ir::Program& program) {
  ir::Program p = pass::simplify(program);
  p = pass::unroll_loops(p);
  p = pass::simplify(p);
  p = ir::rewrite(p, [](auto&, const ir::Assume&) -> ir::Stmt { return ir::seq({}); });
  return ir::canonical_text(p);
}

}  // namespace

std::string why_equivalent(const LibraryLaunch& launch, const sim::Mutant& mutant) {
  const ir::Program& program = launch.program;
  const auto& node = program.launches.at(0).as<ir::Launch>();
  const auto& other = mutant.program.launches.at(0).as<ir::Launch>();
  Comparison comparison(program, node, launch.always);
  const std::string why = comparison.same(node.body, other.body);
  if (!why.empty()) return why;
  if (normal_form(program) == normal_form(mutant.program)) return "simplified it is the same";
  return {};
}

}  // namespace tw::test
