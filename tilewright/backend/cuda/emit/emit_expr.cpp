// Expressions: names for what occurs twice, constants, and operands that are evaluated only where
// an earlier one asks for them.
#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

/// Expressions that are higher get a name in between: compilers limit the depth of brackets.
constexpr int32_t kMaxNesting = 32;

/// Local arrays of fp8 and e2m1 are read in words: they begin at whole ones, and end so.
bool in_pairs(const ir::Buffer& b) {
  return (b.dtype() == f8_e4m3 || b.dtype() == f8_e5m2 || b.dtype() == f4_e2m1) && b.rank() > 0 &&
         !b->view_of && b.space() == ir::MemSpace::local;
}

}  // namespace

Text Emitter::value(const ir::Expr& expr) {
  if (const auto* c = expr.try_as<ir::Const>()) return constant(*c);
  if (expr.is<ir::VarNode>()) {
    const auto found = vars_.find(ir::Var::of(expr));
    TW_CHECK(found != vars_.end(), "variable {} is used where it isn't bound",
             expr.as<ir::VarNode>().name);
    return {found->second};
  }
  for (const auto& scope : memo_) {
    if (const auto known = scope.find(expr); known != scope.end()) return known->second;
  }
  if (!deserves_name(expr)) return compute(expr);
  const Text computed = compute(expr);
  const std::string name = names_.make("t");
  line(format("const {} {} = {};", to_text(expr.dtype()), name, computed.s));
  memo_.back()[expr] = {name};
  return {name};
}

/// Whether the text of an expression would otherwise occur twice, or nest too deep.
bool Emitter::deserves_name(const ir::Expr& expr) const {
  if (expr->height % kMaxNesting == 0) return true;
  const auto uses = uses_.find(expr);
  if (uses == uses_.end() || uses->second < 2) return false;
  if (const auto* load = expr.try_as<ir::Load>()) {
    const ir::MemSpace space = load->buffer.root().space();
    return space != ir::MemSpace::variable && (space != ir::MemSpace::local || expr->height > 2);
  }
  const auto* op = expr.try_as<ir::Op>();
  return expr->height > 2 ||
         (op != nullptr && ir::op_row(op->code).op_class == ir::OpClass::float_math);
}

Text Emitter::named(const ir::Expr& expr, const char* wanted) {
  const Text v = value(expr);
  if (expr.is<ir::Const>() || expr.is<ir::VarNode>()) return v;
  const std::string name = names_.make(wanted);
  line(format("const {} {} = {};", to_text(expr.dtype()), name, v.s));
  return {name};
}

Text Emitter::initial(const ir::Expr& expr) {
  const auto* c = expr.try_as<ir::Const>();
  return c != nullptr && c->dtype.is_int() ? int_literal(c->dtype, c->i, true) : value(expr);
}

Text Emitter::compute(const ir::Expr& expr) {
  if (const auto* load = expr.try_as<ir::Load>()) return this->load(*load);
  if (const auto* cast = expr.try_as<ir::Cast>()) return conversion(*cast);
  const auto& op = expr.as<ir::Op>();
  return ir::is_lazy(op.code) ? lazy(op) : operation(op);
}

Text Emitter::constant(const ir::Const& c) {
  const DType dtype = c.dtype;
  if (!dtype.is_float()) return int_literal(dtype, c.i);
  if (dtype == f32 || dtype == f64) return float_literal(dtype, c.f);
  if (dtype == tf32) return float_literal(f32, decode(encode(c.f, tf32), tf32));
  return call(to_text(dtype), {{format("{:#x}", encode(c.f, dtype))}});
}

Text Emitter::real(const ir::Expr& expr) {
  const DType dtype = expr.dtype();
  if (const auto* c = expr.try_as<ir::Const>(); c != nullptr && dtype.scalar != Scalar::tf32) {
    return float_literal(f32, decode(encode(c->f, dtype), dtype));
  }
  if (const auto* load = expr.try_as<ir::Load>(); load != nullptr && in_pairs(load->buffer)) {
    // Neighbors are converted at once, and what isn't used is dropped.
    if (!deserves_name(expr)) {
      const Place at = place(load->buffer, load->indices);
      return call("from_" + to_text(dtype) + "_at", {{at.base}, at.index});
    }
  }
  if (const auto* cast = expr.try_as<ir::Cast>(); cast != nullptr && dtype == f4_e2m1 &&
                                                  cast->rounding == Rounding::rn &&
                                                  !deserves_name(expr)) {
    return call("nearest_e2m1", {unrounded(*cast)});
  }
  const Text v = value(expr);
  return dtype == f32 || dtype == tf32 ? v : call("from_" + to_text(dtype), {v});
}

/// land, lor, if_else: an operand that needs lines of its own goes into a branch.
Text Emitter::lazy(const ir::Op& op) {
  const Text cond = value(op.args[0]);
  const auto side = [&](const ir::Expr& expr) {
    std::pair<Text, std::string> result;
    memo_.emplace_back();
    result.second = captured([&] { indented([&] { result.first = value(expr); }); });
    memo_.pop_back();
    return result;
  };
  const auto [a, before_a] = side(op.args[1]);
  if (op.code != ir::OpCode::if_else) {
    const bool is_and = op.code == ir::OpCode::land;
    if (before_a.empty()) return infix(cond, is_and ? " && " : " || ", a, is_and ? kAnd : kOr);
    const std::string name = names_.make("t");
    line(format("bool {} = {};", name, cond.s));
    line(format("if ({}{}) {{", is_and ? "" : "!", name));
    out_ += before_a;
    indented([&] { line(format("{} = {};", name, a.s)); });
    line("}");
    return {name};
  }
  const auto [b, before_b] = side(op.args[2]);
  if (before_a.empty() && before_b.empty()) {
    return {format("{} ? {} : {}", cond.in(kOr), a.in(kOr), b.in(kChoice)), kChoice};
  }
  const std::string name = names_.make("t");
  line(format("{} {};", to_text(op.dtype), name));
  line(format("if ({}) {{", cond.s));
  out_ += before_a;
  indented([&] { line(format("{} = {};", name, a.s)); });
  line("} else {");
  out_ += before_b;
  indented([&] { line(format("{} = {};", name, b.s)); });
  line("}");
  return {name};
}

}  // namespace tw::cuda
