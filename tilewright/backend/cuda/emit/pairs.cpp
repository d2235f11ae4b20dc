#include "tilewright/backend/cuda/emit/pairs.h"

#include <algorithm>
#include <cmath>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

using ir::Expr;
using ir::OpCode;

bool is_even_constant(const Expr& e) {
  const auto c = ir::as_int(e);
  return c && *c % 2 == 0;
}

bool is_pair_index(const Expr& index, const PairLoop& loop);

/// Whether the number is the same for both iterations.
bool is_shared(const Expr& e, const PairLoop& loop) {
  const auto differs = [&](const Expr& inner) {
    return inner.is<ir::VarNode>() && loop.own.contains(ir::Var::of(inner));
  };
  if (!ir::contains(e, differs)) return true;
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr || op->args.size() != 2) return false;
  if (op->code == OpCode::floordiv) {
    return is_even_constant(op->args[1]) && is_pair_index(op->args[0], loop);
  }
  const bool joins = op->code == OpCode::add || op->code == OpCode::sub || op->code == OpCode::mul;
  return joins && is_shared(op->args[0], loop) && is_shared(op->args[1], loop);
}

/// Whether it is even, whatever its variables are, and the same for both iterations.
bool is_even(const Expr& e, const PairLoop& loop) {
  if (is_even_constant(e)) return true;
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr) return false;
  switch (op->code) {
    case OpCode::add:
    case OpCode::sub:
      return is_even(op->args[0], loop) && is_even(op->args[1], loop);
    case OpCode::mul:
      return (is_even(op->args[0], loop) && is_shared(op->args[1], loop)) ||
             (is_even(op->args[1], loop) && is_shared(op->args[0], loop));
    default:
      return false;
  }
}

/// Whether it is an even number in iteration 2i, and the next one in 2i + 1.
bool is_pair_index(const Expr& index, const PairLoop& loop) {
  if (index.same_as(loop.var)) return true;
  const auto* op = index.try_as<ir::Op>();
  if (op == nullptr) return false;
  if (op->code == OpCode::floormod) {
    return is_even_constant(op->args[1]) && is_pair_index(op->args[0], loop);
  }
  return op->code == OpCode::add &&
         ((is_pair_index(op->args[0], loop) && is_even(op->args[1], loop)) ||
          (is_pair_index(op->args[1], loop) && is_even(op->args[0], loop)));
}

bool is_half(DType dtype) { return dtype == f16 || dtype == bf16; }

/// Whether the value can't be -0: then the order of equal operands doesn't matter if this holds for
/// both, nor if one of them can't be 0 at all.
bool is_never_negative_zero(const Expr& e) {
  if (const auto* c = e.try_as<ir::Const>()) return c->f != 0 || !std::signbit(c->f);
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr) return false;
  if (op->code == OpCode::abs) return true;
  const bool folds = op->code == OpCode::min || op->code == OpCode::max ||
                     op->code == OpCode::min_nan || op->code == OpCode::max_nan;
  return folds && is_never_negative_zero(op->args[0]) && is_never_negative_zero(op->args[1]);
}
bool is_never_zero(const Expr& e) {
  const auto* c = e.try_as<ir::Const>();
  return c != nullptr && c->f != 0;
}

}  // namespace

PairLoop::PairLoop(const ir::For& loop) : var(loop.var), own{loop.var} {
  ir::for_each_stmt(loop.body, [&](const ir::Stmt& s) {
    if (const auto* let = s.try_as<ir::Let>()) own.insert(let->var);
  });
}

bool is_pair(const ir::Buffer& b, const std::vector<Expr>& indices, const PairLoop& loop) {
  if (b.dtype().bits() > 16 || b.space() != ir::MemSpace::local || b->view_of || b->padding != 0 ||
      !b->strides.empty() || b.rank() == 0) {
    return false;
  }
  for (size_t d = 0; d + 1 < indices.size(); ++d) {
    if (!is_shared(indices[d], loop)) return false;
  }
  const bool even_rows = b.rank() == 1 || b.extent(b.rank() - 1) % 2 == 0;
  return even_rows && is_pair_index(indices.back(), loop);
}

bool takes_any_zero(const ir::Op& op) {
  const bool is_max = op.code == OpCode::max || op.code == OpCode::max_nan;
  const Expr &a = op.args[0], &b = op.args[1];
  // The hardware takes -0 as less than 0, so that a first operand of 0 wins a maximum there too.
  return op.exactness == ir::Exactness::fast || is_never_zero(a) || is_never_zero(b) ||
         (is_never_negative_zero(a) && (is_max || is_never_negative_zero(b)));
}

std::string packed_function(const ir::Op& op) {
  if (!is_half(op.dtype)) return "";
  const std::string type = to_text(op.dtype) + "x2";
  switch (op.code) {
    case OpCode::abs:
      return "abs_" + type;
    case OpCode::min:
    case OpCode::max:
      return takes_any_zero(op) ? std::string(ir::op_row(op.code).name) + "_" + type : "";
    case OpCode::mul:  // in f32 it is exact, so that both round once
      return op.rounding == Rounding::rn ? "mul_" + type : "";
    default:
      return "";
  }
}

bool is_packed(const Expr& value, const PairLoop& loop) {
  if (const auto* load = value.try_as<ir::Load>()) {
    return is_half(value.dtype()) && is_pair(load->buffer, load->indices, loop);
  }
  const auto* op = value.try_as<ir::Op>();
  return op != nullptr && !packed_function(*op).empty() &&
         std::any_of(op->args.begin(), op->args.end(),
                     [&](const Expr& arg) { return is_packed(arg, loop); });
}

bool computes_pair(const ir::Store& store, const PairLoop& loop) {
  return store.value.is<ir::Op>() && is_packed(store.value, loop) &&
         is_pair(store.buffer, store.indices, loop);
}

}  // namespace tw::cuda
