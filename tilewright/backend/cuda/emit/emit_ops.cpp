// Operations: which operator or function of CUDA gives what ir/element.h says. Integers narrower
// than int are computed as int and cut back; f16, bf16 and tf32 are computed in f32 and rounded.
#include <bit>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

using ir::OpCode;

/// Cuts an int back to the type.
Text wrapped(DType dtype, const Text& v) {
  return dtype.is_int() && dtype.bits() < 32 ? as_type(dtype, v) : v;
}
DType unsigned_of(DType dtype) {
  switch (dtype.bits()) {
    case 8:
      return u8;
    case 16:
      return u16;
    case 32:
      return u32;
    default:
      return u64;
  }
}
Text number(int64_t n) { return {format("{}", n)}; }

struct Infix {
  OpCode code;
  const char* sign;
  int binding;
};
constexpr Infix kInfix[] = {
    {OpCode::add, " + ", kSum},        {OpCode::sub, " - ", kSum},
    {OpCode::mul, " * ", kProduct},    {OpCode::fdiv, " / ", kProduct},
    {OpCode::bit_and, " & ", kBitAnd}, {OpCode::bit_or, " | ", kBitOr},
    {OpCode::bit_xor, " ^ ", kBitXor}, {OpCode::eq, " == ", kEqual},
    {OpCode::ne, " != ", kEqual},      {OpCode::lt, " < ", kLess},
    {OpCode::le, " <= ", kLess},       {OpCode::gt, " > ", kLess},
    {OpCode::ge, " >= ", kLess},
};
const Infix* infix_of(OpCode code) {
  for (const Infix& row : kInfix) {
    if (row.code == code) return &row;
  }
  return nullptr;
}
Text join_infix(OpCode code, const Text& a, const Text& b) {
  const Infix* row = infix_of(code);
  return infix(a, row->sign, b, row->binding);
}

/// What a u64 of at most 32 bits is made of, as a u32; null for any other.
ir::Expr as_u32(const ir::Expr& e) {
  if (const auto* cast = e.try_as<ir::Cast>()) {
    return cast->value.dtype() == u32 ? cast->value : ir::Expr();
  }
  const auto c = ir::as_int(e);
  return c && *c >= 0 && *c <= 0xFFFFFFFF ? ir::int_const(u32, *c) : ir::Expr();
}

}  // namespace

void Emitter::no_form(const ir::Op& op) {
  throw Error(codes::tgt_03, op.loc, "{} of {} has no lowering on cuda", ir::op_row(op.code).name,
              op.args.back().dtype());
}

Text Emitter::operation(const ir::Op& op) {
  if (op.dtype.lanes > 1 || op.args.back().dtype().lanes > 1) no_form(op);
  const DType operand = op.args.back().dtype();
  const bool is_ieee = op.exactness == ir::Exactness::ieee;
  const ir::Exactness exactness =
      options_.fast_math && !is_ieee ? ir::Exactness::fast : op.exactness;
  switch (ir::op_row(op.code).op_class) {
    case ir::OpClass::compare:
      return compare(op);
    case ir::OpClass::test:
      return test(op);
    case ir::OpClass::choice:
      return {format("{} ? {} : {}", value(op.args[0]).in(kOr), value(op.args[1]).in(kOr),
                     value(op.args[2]).in(kChoice)),
              kChoice};
    case ir::OpClass::reinterpret:
      return bitcast(op);
    case ir::OpClass::dot:
      return call(std::string(ir::op_row(op.code).name),
                  {value(op.args[0]), value(op.args[1]), value(op.args[2])});
    default:
      if (operand.is_bool()) return bool_operation(op);
      return operand.is_int() ? integer_operation(op) : float_operation(op, exactness);
  }
}

std::pair<Text, Text> Emitter::operands(const ir::Op& op) {
  const auto* a = op.args[0].try_as<ir::Const>();
  const auto* b = op.args[1].try_as<ir::Const>();
  const bool is_wide = op.args[0].dtype().is_int() && op.args[0].dtype().bits() >= 32;
  const auto side = [&](const ir::Expr& expr, const ir::Const* own, const ir::Const* other) {
    if (own == nullptr || other != nullptr || !is_wide) return value(expr);
    return int_literal(own->dtype, own->i, true);
  };
  const Text left = side(op.args[0], a, b);
  return {left, side(op.args[1], b, a)};
}

// ---- integers and bool

Text Emitter::bool_operation(const ir::Op& op) {
  const Text a = value(op.args[0]);
  switch (op.code) {
    case OpCode::bit_not:
    case OpCode::lnot:
      return prefix("!", a);
    case OpCode::bit_and:
    case OpCode::min:
      return infix(a, " & ", value(op.args[1]), kBitAnd);
    case OpCode::bit_or:
    case OpCode::max:
      return infix(a, " | ", value(op.args[1]), kBitOr);
    case OpCode::bit_xor:
      return infix(a, " ^ ", value(op.args[1]), kBitXor);
    default:
      no_form(op);
  }
}

Text Emitter::integer_operation(const ir::Op& op) {
  const DType dtype = op.dtype, plain = unsigned_of(dtype);
  const int bits = dtype.bits();
  const bool is_signed = dtype.is_signed_int(), is_wide = bits == 64;
  const std::string name(ir::op_row(op.code).name);
  const auto arg = [&](size_t i) { return value(op.args[i]); };
  // The operand's bits in an unsigned int (or long long), zeros above.
  const auto pattern = [&](size_t i) {
    const Text v = arg(i);
    const Text own = is_signed ? as_type(plain, v) : v;
    return bits < 32 ? as_type(u32, own) : own;
  };
  const auto result = [&](const Text& v) { return as_type(dtype, v); };
  const auto constant = op.args.size() > 1 ? ir::as_int(op.args[1]) : std::nullopt;
  switch (op.code) {
    case OpCode::bit_or:
      if (const auto word = word_of_codes(op)) return *word;
      [[fallthrough]];
    case OpCode::add:
    case OpCode::sub:
    case OpCode::bit_and:
    case OpCode::bit_xor: {
      const auto [a, b] = operands(op);
      return wrapped(dtype, join_infix(op.code, a, b));
    }
    case OpCode::mul: {
      // The product of two u16 is no int.
      if (dtype == u16) return result(infix(pattern(0), " * ", arg(1), kProduct));
      if (dtype == u64) {
        const ir::Expr a = as_u32(op.args[0]), b = as_u32(op.args[1]);
        if (a && b && !(a.is<ir::Const>() && b.is<ir::Const>())) {
          return call("mul_wide", {value(a), value(b)});
        }
      }
      const auto [a, b] = operands(op);
      return wrapped(dtype, infix(a, " * ", b, kProduct));
    }
    case OpCode::floordiv:
    case OpCode::floormod: {
      const bool is_div = op.code == OpCode::floordiv;
      const auto u = static_cast<uint64_t>(constant.value_or(0));
      if (constant && *constant > 0 && std::has_single_bit(u)) {
        const Text a = arg(0);
        if (is_div) return wrapped(dtype, infix(a, " >> ", number(std::countr_zero(u)), kShift));
        const Text mask = int_literal(dtype, *constant - 1, bits >= 32);
        return wrapped(dtype, infix(a, " & ", mask, kBitAnd));
      }
      if (!constant && is_div && is_block_index(op.args[0])) {
        return call("floordiv_index", {as_type(u32, arg(0)), arg(1)});
      }
      if (is_signed) return wrapped(dtype, call(name, {arg(0), arg(1)}));
      if (constant && *constant != 0) {
        const auto [a, b] = operands(op);
        return wrapped(dtype, infix(a, is_div ? " / " : " % ", b, kProduct));
      }
      return call(is_div ? "truncdiv" : "truncmod", {result(arg(0)), result(arg(1))});
    }
    case OpCode::truncdiv:
    case OpCode::truncmod: {
      if (!constant && op.code == OpCode::truncdiv && is_block_index(op.args[0])) {
        return call("divide_index", {as_type(u32, arg(0)), arg(1)});
      }
      // Both of one type: literals and what C++ promotes to int aren't.
      const auto typed = [&](size_t i) {
        return bits < 32 || op.args[i].is<ir::Const>() ? result(arg(i)) : arg(i);
      };
      if (!constant || *constant == 0) return call(name, {typed(0), typed(1)});
      const auto [a, b] = operands(op);
      return wrapped(dtype, infix(a, op.code == OpCode::truncdiv ? " / " : " % ", b, kProduct));
    }
    case OpCode::neg:
      return wrapped(dtype, prefix("-", arg(0)));
    case OpCode::abs:
      if (!is_signed) return arg(0);
      return wrapped(dtype, call(is_wide ? "llabs" : "abs", {arg(0)}));
    case OpCode::min:
    case OpCode::max:
      return wrapped(dtype, call(name, {arg(0), arg(1)}));
    case OpCode::mul_high:
      if (is_wide) return call(is_signed ? "__mul64hi" : "__umul64hi", {arg(0), arg(1)});
      if (bits == 32) return call(is_signed ? "__mulhi" : "__umulhi", {arg(0), arg(1)});
      return result(infix(infix(is_signed ? arg(0) : pattern(0), " * ", arg(1), kProduct), " >> ",
                          number(bits), kShift));
    case OpCode::add_sat:
    case OpCode::sub_sat: {
      if (!is_signed) return call(name + "_unsigned", {result(arg(0)), result(arg(1))});
      if (bits >= 32) return call(name + "_" + to_text(dtype), {arg(0), arg(1)});
      const Text sum = infix(arg(0), op.code == OpCode::add_sat ? " + " : " - ", arg(1), kSum);
      const int64_t limit = int64_t{1} << (bits - 1);
      return result(call("clamped", {sum, number(-limit), number(limit - 1)}));
    }
    case OpCode::bit_not:
      return wrapped(dtype, prefix("~", arg(0)));
    case OpCode::shl:
    case OpCode::shr: {
      // Counts are taken modulo the width.
      const Text count = constant ? number(*constant & (bits - 1))
                                  : infix(arg(1), " & ", number(bits - 1), kBitAnd);
      return wrapped(dtype, infix(arg(0), op.code == OpCode::shl ? " << " : " >> ", count, kShift));
    }
    case OpCode::popcount:
      return result(call(is_wide ? "__popcll" : "__popc", {pattern(0)}));
    case OpCode::clz: {
      const Text zeros = call(is_wide ? "__clzll" : "__clz", {pattern(0)});
      return result(bits < 32 ? infix(zeros, " - ", number(32 - bits), kSum) : zeros);
    }
    case OpCode::ctz: {
      if (is_wide) return result(call("__clzll", {call("__brevll", {pattern(0)})}));
      const Text bounded =
          bits == 32 ? pattern(0)
                     : infix(pattern(0), " | ", {format("{:#x}u", uint32_t{1} << bits)}, kBitOr);
      return result(call("__clz", {call("__brev", {bounded})}));
    }
    case OpCode::ffs:
      return result(call(is_wide ? "__ffsll" : "__ffs", {pattern(0)}));
    case OpCode::nth_set:
      return result(call("nth_set", {pattern(0), pattern(1)}));
    case OpCode::bit_reverse: {
      const Text reversed = call(is_wide ? "__brevll" : "__brev", {pattern(0)});
      return result(bits < 32 ? infix(reversed, " >> ", number(32 - bits), kShift) : reversed);
    }
    case OpCode::byte_permute:
      return result(call("byte_permute", {pattern(0), pattern(1), pattern(2)}));
    case OpCode::funnel_shl:
    case OpCode::funnel_shr: {
      const auto count = ir::as_int(op.args[2]);
      const Text n = count ? Text{format("{}u", *count & (bits - 1))}
                           : infix(as_type(u32, arg(2)), " & ", {format("{}u", bits - 1)}, kBitAnd);
      const bool left = op.code == OpCode::funnel_shl;
      const Text a = as_type(plain, arg(0)), b = as_type(plain, arg(1));
      if (bits == 32) {
        return result(call(left ? "__funnelshift_l" : "__funnelshift_r", {a, b, n}));
      }
      return result(call(name, {a, b, n}));
    }
    default:
      no_form(op);
  }
}

// ---- comparisons, tests, reinterpretation

Text Emitter::operand(const ir::Op& op, size_t i) {
  return op.args[i].dtype() == f64 ? value(op.args[i]) : real(op.args[i]);
}

Text Emitter::compare(const ir::Op& op) {
  if (!op.args[0].dtype().is_float()) {
    const auto [a, b] = operands(op);
    return join_infix(op.code, a, b);
  }
  const Text a = operand(op, 0);
  return join_infix(op.code, a, operand(op, 1));
}

Text Emitter::test(const ir::Op& op) {
  const DType dtype = op.args[0].dtype();
  if (op.code == OpCode::signbit) {
    const Text v = value(op.args[0]);
    if (dtype == f64) return infix(call("__double_as_longlong", {v}), " < ", {"0"}, kLess);
    if (dtype == f32 || dtype == tf32) {
      return infix(call("__float_as_int", {v}), " < ", {"0"}, kLess);
    }
    if (dtype == f8_e8m0) return {"false"};
    return infix(infix(v, " >> ", number(dtype.bits() - 1), kShift), " != ", {"0"}, kEqual);
  }
  const Text x = operand(op, 0);
  const char* infinity =
      dtype == f64 ? "__longlong_as_double(0x7ff0000000000000ll)" : "__uint_as_float(0x7f800000u)";
  const Text magnitude = call(dtype == f64 ? "fabs" : "fabsf", {x});
  switch (op.code) {
    case OpCode::isnan:
      return call("isnan", {x});
    case OpCode::isinf:
      return infix(magnitude, " == ", {infinity}, kEqual);
    default:
      return infix(magnitude, " < ", {infinity}, kLess);
  }
}

Text Emitter::bitcast(const ir::Op& op) {
  const DType from = op.args[0].dtype(), to = op.dtype;
  const Text v = value(op.args[0]);
  const auto is_f32 = [](DType t) { return t == f32 || t == tf32; };
  if (from == to || (is_f32(from) && is_f32(to))) return v;
  if (is_f32(from)) return call(to == i32 ? "__float_as_int" : "__float_as_uint", {v});
  if (is_f32(to)) return call("__uint_as_float", {from == u32 ? v : as_type(u32, v)});
  if (from == f64) {
    const Text bits = call("__double_as_longlong", {v});
    return to == i64 ? bits : as_type(to, bits);
  }
  if (to == f64) return call("__longlong_as_double", {from == i64 ? v : as_type(i64, v)});
  if (to.is_bool()) return infix(v, " != ", {"0"}, kEqual);
  return as_type(to, v);
}

}  // namespace tw::cuda
