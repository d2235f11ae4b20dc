// Which mutants do the same as the program. A mutant differs from it in one place; what is known
// there decides:
//   - no run comes there;
//   - both values are the same there, or both conditions; the first element of a maximum is that
//     of it and the least number;
//   - what only one of them executes does nothing: all of it is behind conditions that fail, or it
//     writes local elements which nobody reads who could see that.
#include <limits>
#include <map>
#include <optional>

#include "tests/mutate/effects.h"
#include "tests/mutate/mutants.h"
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

class Comparison {
 public:
  Comparison(const ir::Program& program, const ir::Launch& launch,
             const std::vector<std::string>& conditions)
      : effects_(program, launch, conditions), facts_(effects_.facts()) {}

  std::string same(const Stmt& a, const Stmt& b);

 private:
  std::string same_here(const Stmt& a, const Stmt& b);
  std::string same_branch(const ir::If& a, const ir::If& b);
  std::string same_loop(const ir::For& a, const ir::For& b);
  std::string same_value(const Expr& a, const Expr& b);
  void fill(const Stmt& s);
  void enter(const ir::For& loop);
  bool begins_fold(const ir::Op& op) const;
  std::string text_of(const Stmt& s) {
    return ir::print(effects_.chosen(s), {.canonical = true, .free = true});
  }

  Effects effects_;
  Facts& facts_;
  std::map<ir::Buffer, int64_t, ir::ById> filled_;  // local arrays that have one number only
};

/// The statements that write the buffer.
std::vector<Stmt> writers(const Stmt& s, const ir::Buffer& buffer) {
  std::vector<Stmt> list;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    const auto* store = each.try_as<ir::Store>();
    const auto* move = each.try_as<ir::Move>();
    const auto* atomic = each.try_as<ir::Atomic>();
    const ir::Buffer written = store != nullptr    ? store->buffer
                               : move != nullptr   ? move->dst
                               : atomic != nullptr ? atomic->buffer
                                                   : ir::Buffer();
    if (written && written.root().same_as(buffer)) list.push_back(each);
  });
  return list;
}

/// After the statement.
void Comparison::fill(const Stmt& s) {
  std::erase_if(filled_, [&](const auto& each) { return !writers(s, each.first).empty(); });
  const auto* loop = s.try_as<ir::For>();
  const auto* store = (loop != nullptr ? loop->body : s).try_as<ir::Store>();
  if (store == nullptr || store->buffer.space() != ir::MemSpace::local ||
      !store->buffer.same_as(store->buffer.root()) || store->indices.size() != 1 ||
      !store->value.dtype().is_int()) {
    return;
  }
  const std::optional<int64_t> size = ir::as_int(store->buffer.shape()[0]),
                               number = ir::as_int(store->value);
  if (!size || !number) return;
  const bool whole = loop == nullptr
                         ? size == 1
                         : store->indices[0].same_as(loop->var) && ir::as_int(loop->lo) == 0 &&
                               ir::as_int(loop->hi) == size && ir::as_int(loop->step) == 1;
  if (whole) filled_[store->buffer] = *number;
}

/// In a turn of the loop: nothing else is known of what other turns write.
void Comparison::enter(const ir::For& loop) {
  std::erase_if(filled_, [&](const auto& each) {
    const std::vector<Stmt> all = writers(loop.body, each.first);
    if (all.empty()) return false;
    const auto* store = all.size() == 1 ? all[0].try_as<ir::Store>() : nullptr;
    return store == nullptr || !store->indices[0].same_as(loop.var);
  });
}

/// Whether the first operand is an element that is the least number, or the greatest of a minimum.
bool Comparison::begins_fold(const ir::Op& op) const {
  if ((op.code != OpCode::max && op.code != OpCode::min) || op.dtype != i32) return false;
  const auto* load = op.args[0].try_as<ir::Load>();
  const auto filled = load == nullptr ? filled_.end() : filled_.find(load->buffer);
  using Limits = std::numeric_limits<int32_t>;
  return filled != filled_.end() &&
         filled->second == (op.code == OpCode::max ? Limits::min() : Limits::max());
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
      effects_.learn(first->stmts[i]);
      fill(first->stmts[i]);
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
    enter(*loop);
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
    if (effects_.only_asserts(b) && effects_.some_thread(branch->cond))
      return "more threads assert the same";
    const Facts::Scope scope(facts_);
    facts_.assume(branch->cond, false);
    if (effects_.does_nothing(branch->then_body)) return "what the guard keeps off does nothing";
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
  if (effects_.only_asserts(a.then_body) && effects_.some_thread(a.cond) &&
      effects_.some_thread(b.cond)) {
    return "another thread asserts the same";
  }
  const Facts::Scope scope(facts_);
  facts_.assume(ir::eq(a.cond, b.cond), false);
  if (effects_.does_nothing(a.then_body)) return "what the condition decides does nothing";
  return {};
}

std::string Comparison::same_loop(const ir::For& a, const ir::For& b) {
  if (facts_.proves_equal(a.lo, b.lo) && facts_.proves_equal(a.hi, b.hi)) return "the same turns";
  const std::optional<int64_t> step = ir::as_int(a.step);
  if (!step || *step < 1) return {};
  if (a.lo.same_as(b.lo) &&
      facts_.proves(
          ir::lor(ir::eq(a.hi, b.hi), ir::land(ir::le(a.hi, a.lo), ir::le(b.hi, a.lo))))) {
    return "the same turns";
  }
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
  if (facts_.is_dead() || effects_.does_nothing(a.body)) {
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
  if (left != nullptr && begins_fold(*left) && b.same_as(left->args[1])) {
    return "the first of a fold is compared with the limit";
  }
  if (left != nullptr && right != nullptr && left->code == right->code &&
      left->args.size() == right->args.size()) {
    std::string why;
    for (size_t i = 0; i < left->args.size(); ++i) {
      if (left->args[i].same_as(right->args[i])) continue;
      const Facts::Scope scope(facts_);
      facts_.assume_evaluated(*left, i);
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
  Comparison comparison(program, node, launch.facts);
  const std::string why = comparison.same(node.body, other.body);
  if (!why.empty()) return why;
  if (normal_form(program) == normal_form(mutant.program)) return "simplified it is the same";
  return {};
}

}  // namespace tw::test
