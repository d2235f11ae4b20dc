#include "tilewright/backend/cpu/rules/integer.h"

#include <bit>

#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

using ir::OpCode;

Val two_way(const char* intrinsic, Val a, Val b) {
  const Val args[] = {a, b};
  return a.builder().intrinsic(intrinsic, {&a, 1}, args);
}

/// Quotient toward zero.
Val quotient(Val a, Val b, const ir::Expr& divisor, bool is_signed) {
  const auto* c = divisor.try_as<ir::Const>();
  if (c != nullptr && c->i > 0) return is_signed ? sdiv(a, b) : udiv(a, b);
  Builder& builder = a.builder();
  const Val zero = builder.zero(a.elem(), a.lanes()),
            one = builder.constant(a.elem(), int64_t{1}, a.lanes());
  const Val by_zero = eq(b, 0);
  if (!is_signed) return select(by_zero, zero, udiv(a, select(by_zero, one, b)));
  const Val by_minus_one = eq(b, -1);
  const Val q = sdiv(a, select(by_zero | by_minus_one, one, b));
  return select(by_zero, zero, select(by_minus_one, -a, q));
}

Val divide(const ir::Op& op, DType dtype, Val a, Val b) {
  const bool is_signed = dtype.is_signed_int();
  const bool floors = is_signed && (op.code == OpCode::floordiv || op.code == OpCode::floormod);
  const bool wants_rest = op.code == OpCode::floormod || op.code == OpCode::truncmod;
  const auto* c = op.args[1].try_as<ir::Const>();
  if (floors && c != nullptr && c->i > 0 && std::has_single_bit(static_cast<uint64_t>(c->i))) {
    const int shift = std::countr_zero(static_cast<uint64_t>(c->i));
    return wants_rest ? a & (c->i - 1) : ashr(a, shift);
  }
  Val q = quotient(a, b, op.args[1], is_signed);
  if (floors) {
    // One less when the rest and the divisor have different signs.
    const Val rest = a - q * b;
    const Val lower = ne(rest, 0) & slt(rest ^ b, 0) & ne(b, 0);
    q = q - zext(lower, q.elem());
  }
  if (!wants_rest) return q;
  const Val zero = a.builder().zero(a.elem(), a.lanes());
  return c != nullptr && c->i != 0 ? a - q * b : select(eq(b, 0), zero, a - q * b);
}

Val bool_op(OpCode code, Val a, Val b) {
  switch (code) {
    case OpCode::bit_and:
    case OpCode::land:
    case OpCode::min:
      return a & b;
    case OpCode::bit_or:
    case OpCode::lor:
    case OpCode::max:
      return a | b;
    case OpCode::bit_xor:
      return a ^ b;
    default:
      return ~a;  // bit_not, lnot
  }
}

/// Position of the set bit that has n set bits below it, or -1: a search that halves the word.
Val nth_set(Val x, Val n) {
  Builder& b = x.builder();
  const int bits = x.bits();
  const Val zero = b.zero(x.elem(), x.lanes());
  const Val found = ult(n, b.intrinsic("llvm.ctpop", x));
  Val position = zero, rest = n;
  for (int width = bits / 2; width >= 1; width /= 2) {
    const Val low = lshr(x, position) & static_cast<int64_t>((uint64_t{1} << width) - 1);
    const Val below = b.intrinsic("llvm.ctpop", low);
    const Val high = icmp(Pred::uge, rest, below);
    position = position + select(high, b.constant(x.elem(), int64_t{width}, x.lanes()), zero);
    rest = rest - select(high, below, zero);
  }
  return select(found, position, b.constant(x.elem(), int64_t{-1}, x.lanes()));
}

/// Byte i is byte (nibble i of s) mod 8 of b:a; bit 3 of the nibble spreads that byte's sign.
Val byte_permute(Val a, Val b, Val s) {
  const Val pool = shl(zext(b, kI64), 32) | zext(a, kI64);
  Val result = a.builder().zero(kI32, a.lanes());
  for (int i = 0; i < 4; ++i) {
    const Val nibble = lshr(s, 4 * i) & 15;
    const Val byte = trunc(lshr(pool, zext(shl(nibble & 7, 3), kI64)), kI8);
    const Val taken = select(ne(nibble & 8, 0), ashr(byte, 7), byte);
    result = result | shl(zext(taken, kI32), 8 * i);
  }
  return result;
}

Val count_zeros(const char* intrinsic, Val a) {
  const Val args[] = {a, a.builder().constant(kI1, int64_t{0})};
  return a.builder().intrinsic(intrinsic, {&a, 1}, args);
}

/// The high half of the double-width product.
Val mul_high(Val a, Val b, bool is_signed) {
  const Elem wide{2 * a.bits()};
  const auto widen = [&](Val v) { return is_signed ? sext(v, wide) : zext(v, wide); };
  return trunc(lshr(widen(a) * widen(b), a.bits()), a.elem());
}

}  // namespace

Val integer_op(const ir::Op& op, DType dtype, std::span<const Val> args) {
  const Val a = args[0];
  const Val b = args.size() > 1 ? args[1] : a;
  const bool is_signed = dtype.is_signed_int();
  if (dtype.is_bool()) return bool_op(op.code, a, b);
  Builder& builder = a.builder();
  const auto count = [&](Val v) { return v & (a.bits() - 1); };
  switch (op.code) {
    case OpCode::add:
      return a + b;
    case OpCode::sub:
      return a - b;
    case OpCode::mul:
      return a * b;
    case OpCode::floordiv:
    case OpCode::floormod:
    case OpCode::truncdiv:
    case OpCode::truncmod:
      return divide(op, dtype, a, b);
    case OpCode::neg:
      return -a;
    case OpCode::abs:
      return is_signed ? select(slt(a, 0), -a, a) : a;
    case OpCode::min:
      return is_signed ? smin(a, b) : umin(a, b);
    case OpCode::max:
      return is_signed ? smax(a, b) : umax(a, b);
    case OpCode::mul_high:
      return mul_high(a, b, is_signed);
    case OpCode::add_sat:
      return two_way(is_signed ? "llvm.sadd.sat" : "llvm.uadd.sat", a, b);
    case OpCode::sub_sat:
      return two_way(is_signed ? "llvm.ssub.sat" : "llvm.usub.sat", a, b);
    case OpCode::bit_and:
      return a & b;
    case OpCode::bit_or:
      return a | b;
    case OpCode::bit_xor:
      return a ^ b;
    case OpCode::bit_not:
      return ~a;
    case OpCode::shl:
      return shl(a, count(b));
    case OpCode::shr:
      return is_signed ? ashr(a, count(b)) : lshr(a, count(b));
    case OpCode::popcount:
      return builder.intrinsic("llvm.ctpop", a);
    case OpCode::clz:
      return count_zeros("llvm.ctlz", a);
    case OpCode::ctz:
      return count_zeros("llvm.cttz", a);
    case OpCode::ffs:
      return select(eq(a, 0), builder.zero(a.elem(), a.lanes()), count_zeros("llvm.cttz", a) + 1);
    case OpCode::nth_set:
      return nth_set(a, b);
    case OpCode::bit_reverse:
      return builder.intrinsic("llvm.bitreverse", a);
    case OpCode::byte_permute:
      return byte_permute(a, b, args[2]);
    case OpCode::funnel_shl:
    case OpCode::funnel_shr: {
      // LLVM's fshl(x, y, n) is the upper half of (x:y) << n, fshr the lower half of (x:y) >> n.
      const Val operands[] = {b, a, args[2]};
      return builder.intrinsic(op.code == OpCode::funnel_shl ? "llvm.fshl" : "llvm.fshr", {&a, 1},
                               operands);
    }
    default:
      throw Error(codes::tgt_03, op.loc, "{} of {}: no lowering on cpu", ir::op_row(op.code).name,
                  dtype);
  }
}

Val reinterpret(Val value, DType from, DType to) {
  if (from.is_bool()) value = zext(value, kI8);
  if (to.is_bool()) return ne(bitcast(value, kI8), 0);
  return bitcast(value, register_elem(to));
}

}  // namespace tw::cpu
