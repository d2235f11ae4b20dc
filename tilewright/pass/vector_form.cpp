#include "tilewright/pass/vector_form.h"

#include <set>

#include "tilewright/ir/visit.h"
#include "tilewright/pass/linear.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

/// Finds what keeps a body from running as vector lanes.
class VectorCheck : public ir::Visitor {
 public:
  explicit VectorCheck(const Var& lane) : lane_(lane) { varying_.insert(lane); }
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    if (reason != nullptr) return;
    switch (stmt.kind()) {
      case ir::Kind::While:
        return fail("a while loop");
      case ir::Kind::Break:
      case ir::Kind::Continue:
        return fail("a jump");
      case ir::Kind::Atomic:
        return fail("an atomic");
      case ir::Kind::Print:
      case ir::Kind::Assert:
        return fail("a print or assert");
      case ir::Kind::Parallel:
        return fail("a parallel loop inside");
      case ir::Kind::Let: {
        const auto& let = stmt.as<ir::Let>();
        if (varies(let.value)) varying_.insert(let.var);
        return;
      }
      case ir::Kind::Alloc: {
        const auto& alloc = stmt.as<ir::Alloc>();
        if (alloc.buffer->view_of) return fail("a view of private memory");
        private_.insert(alloc.buffer);
        return;
      }
      case ir::Kind::For: {
        const auto& loop = stmt.as<ir::For>();
        if (loop.loop == ir::LoopKind::vectorized) return fail("a vector loop inside");
        if (varies(loop.lo) || varies(loop.hi) || varies(loop.step))
          return fail("a varying loop bound");
        inner_.insert(loop.var);
        return children(stmt);
      }
      case ir::Kind::ReducerUpdate:
        return check_update(stmt.as<ir::ReducerUpdate>());
      default:
        return children(stmt);
    }
  }
  void visit(const Expr&) override {}

  const char* reason = nullptr;

 private:
  void fail(const char* why) { reason = why; }

  bool varies(const Expr& expr) const {
    return ir::contains(expr, [&](const Expr& e) {
      if (e.is<ir::VarNode>()) return varying_.contains(Var::of(e));
      const auto* load = e.try_as<ir::Load>();
      return load != nullptr && private_.contains(load->buffer);
    });
  }

  // An update is one per lane where the index is linear in the lane, and is folded over the
  // lanes where it is fixed; then it is made after the vector loop and can't depend on
  // anything bound inside.
  void check_update(const ir::ReducerUpdate& update) {
    bool per_lane = false;
    for (const Expr& index : update.indices) {
      const auto coefficient = Linear::of(index).coefficient_of(lane_);
      if (!coefficient) return fail("an update of a computed element");
      per_lane = per_lane || *coefficient != 0;
    }
    if (per_lane) return;
    for (const Expr& index : update.indices) {
      if (varies(index) || ir::has_load(index)) return fail("an update of a computed element");
      for (const Var& var : inner_) {
        if (uses(index, var)) return fail("an update of an element that an inner loop chooses");
      }
    }
  }

  Var lane_;
  std::set<Var, ir::ById> varying_, inner_;
  std::set<ir::Buffer, ir::ById> private_;
};

}  // namespace

const char* reason_against_vectors(const Stmt& body, const Var& var) {
  VectorCheck check(var);
  check.visit(body);
  return check.reason;
}

}  // namespace tw::pass
