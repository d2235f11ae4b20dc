#include "tilewright/pass/thread/narrow_divisions.h"

#include <bit>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/bounds.h"
#include "tilewright/pass/thread/grid_limits.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;
using ir::Stmt;

constexpr int64_t kMost = UINT32_MAX;

class NarrowDivisions : public ir::Rewriter {
 public:
  explicit NarrowDivisions(const ir::Program& program) : bounds_(program) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    const Expr next = children(expr);
    const auto* op = next.try_as<ir::Op>();
    if (op == nullptr || op->dtype != i64) return next;
    const bool quotient = op->code == OpCode::floordiv || op->code == OpCode::truncdiv;
    const bool rest = op->code == OpCode::floormod || op->code == OpCode::truncmod;
    if (!quotient && !rest) return next;
    const Expr &a = op->args[0], &b = op->args[1];
    const auto constant = ir::as_int(b);
    if (constant && *constant > 0 && std::has_single_bit(static_cast<uint64_t>(*constant))) {
      return next;  // a shift
    }
    if (!bounds_.proves(ir::le(ir::index(0), a)) || !bounds_.proves(ir::lt(ir::index(0), b))) {
      return next;
    }
    if (!bounds_.proves(ir::lt(a, ir::index(kMost)))) {  // no sign to look at, then
      return ir::op(quotient ? OpCode::truncdiv : OpCode::truncmod, i64, {a, b}, expr.loc());
    }
    const bool fits = bounds_.proves(ir::le(b, ir::index(kMost)));
    const Expr divisor = fits ? b : ir::min(b, ir::index(kMost));
    return ir::cast(i64, ir::op(quotient ? OpCode::truncdiv : OpCode::truncmod, u32,
                                {ir::cast(u32, a), ir::cast(u32, divisor)}, expr.loc()));
  }

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* let = stmt.try_as<ir::Let>()) {
      bounds_.bind_value(let->var, let->value);
      return children(stmt);
    }
    if (const auto* fact = stmt.try_as<ir::Assume>()) bounds_.assume(fact->cond);
    if (stmt.is<ir::If>()) return rewrite_if(bounds_, *this, stmt);
    const Bounds::Scope scope(bounds_);
    if (const auto* launch = stmt.try_as<ir::Launch>()) {
      bind_launch(bounds_, *launch);
      const auto proves = [&](const Expr& e) { return bounds_.proves(e); };
      for (const Expr& limit : grid_limits(*launch, proves)) bounds_.assume(limit);
      return ir::make<ir::Launch>(stmt.loc(), [&](ir::Launch& n) {
        n = *launch;  // what the host computes stays as it is
        n.body = rewrite(launch->body);
      });
    } else if (const auto* loop = stmt.try_as<ir::For>()) {
      const auto step = ir::as_int(loop->step);
      if (step && *step > 0) bounds_.bind(loop->var, loop->lo, loop->hi, *step);
    }
    return children(stmt);
  }

 protected:
  // Nor do tensors change: the host computes their sizes, and knows them by their declarations.
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override {
    const bool is_tensor = buffer.space() == ir::MemSpace::global && !buffer->view_of;
    return is_tensor ? buffer : declaration_children(buffer);
  }

 private:
  Bounds bounds_;
};

}  // namespace

ir::Program narrow_divisions(const ir::Program& program) {
  return NarrowDivisions(program).rewrite(program);
}

}  // namespace tw::pass
