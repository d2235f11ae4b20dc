// Expressions and accesses.
#include <algorithm>

#include "tilewright/base/convert.h"
#include "tilewright/sim/twin/assemble.h"

namespace tw::sim::twin {

using ir::OpCode;

Reg Assembler::expr(const ir::Expr& e) {
  switch (e.kind()) {
    case ir::Kind::Const: {
      const auto& c = e.as<ir::Const>();
      return constant(c.dtype.is_float() ? encode(c.f, c.dtype) : encode(c.i, c.dtype));
    }
    case ir::Kind::VarNode:
      return reg(ir::Var::of(e));
    case ir::Kind::Op:
      return op(e.as<ir::Op>());
    case ir::Kind::Cast:
      return cast(e.as<ir::Cast>());
    case ir::Kind::Load: {
      const auto& load = e.as<ir::Load>();
      const uint32_t place = access(load.buffer, load.indices, &load);
      const Reg dst = temporary();
      emit(&load, {.code = Code::load, .dst = dst, .a = place});
      return dst;
    }
    default:
      throw_internal("kind", SourceLoc::here(), "no expression");
  }
}

void Assembler::expr_to(Reg dst, const ir::Expr& e) {
  const size_t before = here();
  const Reg value = expr(e);
  // What the last instruction computed for nobody else goes to its place at once. That of a lazy
  // operation is computed in two places.
  Instruction* last = here() > before ? &code_.instructions.back() : nullptr;
  const bool lazy = e.is<ir::Op>() && ir::is_lazy(e.as<ir::Op>().code);
  if (last != nullptr && !lazy && last->dst == value && last->code != Code::jump) {
    last->dst = dst;
  } else {
    emit(e.get(), {.code = Code::copy, .dst = dst, .a = value});
  }
}

Reg Assembler::integer(const ir::Expr& e) {
  const DType dtype = e.dtype();
  if (dtype.bits() == 64 || !dtype.is_signed_int()) return expr(e);
  if (const auto* c = e.try_as<ir::Const>()) return constant(static_cast<Bits>(c->i));
  const Reg value = expr(e), dst = temporary();
  emit(e.get(), {.code = Code::resize,
                 .width = static_cast<uint8_t>(dtype.bits()),
                 .dst = dst,
                 .a = value,
                 .b = 64,
                 .c = 1});
  return dst;
}

IndexOperand Assembler::index(const ir::Expr& e) {
  const DType dtype = e.dtype();
  const int shift = dtype.is_signed_int() ? 64 - dtype.bits() : 0;
  return {expr(e), static_cast<uint8_t>(shift)};
}

uint32_t Assembler::access(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                           const ir::Node* node, int count) {
  Access a;
  a.buffer = this->buffer(buffer);
  for (const ir::Expr& e : indices) a.index.push_back(index(e));
  a.first = a.index.empty() ? IndexOperand{constant(0), 0} : a.index[0];
  a.node = node;
  a.count = count;
  code_.accesses.push_back(std::move(a));
  return static_cast<uint32_t>(code_.accesses.size() - 1);
}

Reg Assembler::cast(const ir::Cast& cast) {
  const DType from = cast.value.dtype(), to = cast.dtype;
  const Reg value = expr(cast.value);
  if (from.is_int() && to.is_int()) {
    const Reg dst = temporary();
    emit(&cast, {.code = Code::resize,
                 .width = static_cast<uint8_t>(from.bits()),
                 .dst = dst,
                 .a = value,
                 .b = static_cast<uint32_t>(to.bits()),
                 .c = from.is_signed_int() ? 1U : 0U});
    return dst;
  }
  const Reg random = cast.rbits ? expr(cast.rbits) : constant(0);
  const Reg dst = temporary();
  CastCode& code = code_.casts.emplace_back(CastCode{from, to, cast.rounding, cast.saturate});
  if (from.bits() == 8 && !cast.rbits) {
    for (Bits bits = 0; bits < 256; ++bits) {
      code.table.push_back(convert_bits(bits, from, to, cast.rounding, cast.saturate));
    }
  }
  emit(&cast, {.code = Code::cast,
               .dst = dst,
               .a = value,
               .b = static_cast<uint32_t>(code_.casts.size() - 1),
               .c = random});
  return dst;
}

/// land, lor and if_else: jumps around what is not asked for.
Reg Assembler::lazy(const ir::Op& op) {
  const Reg dst = temporary();
  const auto value = [&](const ir::Expr& e) {
    emit(&op, {.code = Code::copy, .dst = dst, .a = expr(e)});
  };
  if (op.code != OpCode::if_else) {
    value(op.args[0]);
    const Code skip = op.code == OpCode::land ? Code::jump_unless : Code::jump_if;
    const size_t to_end = emit(&op, {.code = skip, .a = dst});
    value(op.args[1]);
    patch(to_end);
    return dst;
  }
  const size_t to_else = emit(&op, {.code = Code::jump_unless, .a = expr(op.args[0])});
  value(op.args[1]);
  const size_t to_end = emit(&op, {.code = Code::jump});
  patch(to_else);
  value(op.args[2]);
  patch(to_end);
  return dst;
}

Reg Assembler::op(const ir::Op& op) {
  if (is_lazy(op.code)) return lazy(op);
  const DType operand = op.args[0].dtype();
  Instruction in;
  in.fn = element_function(op.code, operand, op.exactness, op.rounding);
  TW_CHECK(in.fn != nullptr, "{} of {} is not defined", ir::op_row(op.code).name, operand);
  in.code = Code::apply;
  in.width = static_cast<uint8_t>(operand.bits());
  in.a = expr(op.args[0]);
  in.b = op.args.size() > 1 ? expr(op.args[1]) : constant(0);
  in.c = op.args.size() > 2 ? expr(op.args[2]) : constant(0);
  switch (op.code) {
    case OpCode::floordiv:
    case OpCode::floormod:
    case OpCode::truncdiv:
    case OpCode::truncmod:
      in.code = Code::divide;
      break;
    case OpCode::shl:
    case OpCode::shr:
      in.code = Code::shift;
      break;
    case OpCode::add:
      if (operand.is_int() && operand.bits() == 64) in.code = Code::add;
      break;
    case OpCode::mul:
      if (operand.is_int() && operand.bits() == 64) in.code = Code::multiply;
      break;
    default:
      break;
  }
  in.dst = temporary();
  emit(&op, in);
  return in.dst;
}

}  // namespace tw::sim::twin
