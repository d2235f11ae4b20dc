#include "tilewright/pass/unroll_loops.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

/// Whether a break or continue in the body leaves this loop and not one inside it.
bool jumps(const Stmt& body) {
  if (!body) return false;
  switch (body.kind()) {
    case ir::Kind::Break:
    case ir::Kind::Continue:
      return true;
    case ir::Kind::If:
      return jumps(body.as<ir::If>().then_body) || jumps(body.as<ir::If>().else_body);
    case ir::Kind::Seq:
      for (const Stmt& s : body.as<ir::Seq>().stmts) {
        if (jumps(s)) return true;
      }
      return false;
    default:
      return false;
  }
}

/// `count` copies of the body, for var = from, from + step, ...
std::vector<Stmt> copies(const ir::For& loop, const Stmt& body, const Expr& from, int64_t count) {
  std::vector<Stmt> stmts;
  for (int64_t i = 0; i < count; ++i) {
    const Expr at = ir::add(from, ir::mul(loop.step, ir::int_const(loop.var.dtype(), i)));
    stmts.push_back(ir::with_fresh_bindings(ir::substitute(body, {{loop.var, at}})));
  }
  return stmts;
}

Stmt serial(const ir::For& loop, const Stmt& body) {
  return ir::for_(loop.var, loop.lo, loop.hi, loop.step, body);
}

Stmt unroll(const ir::For& loop, const Stmt& body) {
  const auto lo = ir::as_int(loop.lo), hi = ir::as_int(loop.hi), step = ir::as_int(loop.step);
  if (jumps(body) || !step) return serial(loop, body);
  if (loop.factor <= 0) {
    if (!lo || !hi) return serial(loop, body);
    const int64_t span = *step > 0 ? *hi - *lo : *lo - *hi;
    const int64_t count = span <= 0 ? 0 : (span - 1) / std::abs(*step) + 1;
    if (count > kMaxUnrolled) return serial(loop, body);
    return ir::seq(copies(loop, body, loop.lo, count));
  }
  if (loop.factor == 1 || *step < 0) return serial(loop, body);
  // whole groups, then the rest one by one
  const DType dtype = loop.var.dtype();
  const Expr group = ir::int_const(dtype, *step * loop.factor);
  const Expr whole = ir::mul(
      ir::floordiv(ir::cdiv(ir::max(ir::sub(loop.hi, loop.lo), ir::int_const(dtype, 0)), loop.step),
                   ir::int_const(dtype, loop.factor)),
      group);
  const ir::Var first = ir::Var::make(loop.var.name(), dtype, loop.loc);
  const Stmt groups = ir::for_(first, loop.lo, ir::add(loop.lo, whole), group,
                               ir::seq(copies(loop, body, first, loop.factor)));
  const ir::Var rest = ir::Var::make(loop.var.name(), dtype, loop.loc);
  return ir::seq(
      {groups, ir::for_(rest, ir::add(loop.lo, whole), loop.hi, loop.step,
                        ir::with_fresh_bindings(ir::substitute(body, {{loop.var, rest}})))});
}

}  // namespace

ir::Program unroll_loops(const ir::Program& program) {
  return ir::rewrite(program, [](auto& self, const ir::For& loop) -> Stmt {
    const Stmt inner = self.rebuild(loop);
    if (loop.loop != ir::LoopKind::unrolled) return inner;
    return unroll(inner.as<ir::For>(), inner.as<ir::For>().body);
  });
}

}  // namespace tw::pass
