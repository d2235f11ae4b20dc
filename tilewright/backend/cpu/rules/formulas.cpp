#include "tilewright/backend/cpu/rules/formulas.h"

#include "tilewright/base/error.h"
#include "tilewright/base/formulas.h"

namespace tw::cpu {
namespace {

/// The operations of a formula, each one instruction that nothing may be fused with.
struct Lanes {
  Builder& b;
  const Target& target;
  int lanes;

  Val constant(float x) { return b.constant(kF32, static_cast<double>(x), lanes); }
  Val int_constant(int32_t x) { return b.constant(kI32, int64_t{x}, lanes); }
  Val add(Val x, Val y) { return fadd(x, y); }
  Val sub(Val x, Val y) { return fsub(x, y); }
  Val mul(Val x, Val y) { return fmul(x, y); }
  Val div(Val x, Val y) { return fdiv(x, y); }
  Val fma(Val x, Val y, Val z) { return cpu::fma(x, y, z); }
  Val abs(Val x) { return b.intrinsic("llvm.fabs", x); }
  Val copysign(Val x, Val sign) {
    const Val args[] = {x, sign};
    return b.intrinsic("llvm.copysign", {&x, 1}, args);
  }
  Val less(Val x, Val y) { return fcmp(FPred::olt, x, y); }
  Val select(Val c, Val x, Val y) { return cpu::select(c, x, y); }
  Val bits(Val x) { return bitcast(x, kI32); }
  Val from_bits(Val x) { return bitcast(x, kF32); }
  Val int_add(Val x, Val y) { return x + y; }
  Val int_sub(Val x, Val y) { return x - y; }
  Val int_and(Val x, Val y) { return x & y; }
  Val shift_left(Val x, int n) { return shl(x, n); }
  Val shift_right(Val x, int n) { return ashr(x, n); }
  Val to_float(Val x) { return sitofp(x, kF32); }
  Val scale(Val x, Val n, Val k) {
    if (!target.avx512 || lanes < 4) return formulas::scale_by_power(*this, x, k);
    const int width = lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
    const Val args[] = {x, n};
    return in_pieces(width, args, [&](std::span<const Val> part) {
      const Val all = b.constant(width == 16 ? kI16 : kI8, int64_t{-1});
      const Val operands[] = {part[0], part[1], part[0], all, b.constant(kI32, kCurrentRounding)};
      const std::string name = format("llvm.x86.avx512.mask.scalef.ps.{}", width * 32);
      return b.plain_intrinsic(name.c_str(), std::span(operands).first(width == 16 ? 5 : 4));
    });
  }
  static constexpr int64_t kCurrentRounding = 4;
};

}  // namespace

std::optional<Val> call_formula(const Target& target, ir::OpCode code, Val x) {
  if (x.elem() != kF32) return std::nullopt;
  Builder& b = x.builder();
  const FloatFlags outside = b.flags;
  b.flags = {};
  Lanes lanes{b, target, x.lanes()};
  std::optional<Val> result;
  if (code == ir::OpCode::exp) result = formulas::exp(lanes, x);
  if (code == ir::OpCode::exp2) result = formulas::exp2(lanes, x);
  if (code == ir::OpCode::log) result = formulas::log(lanes, x);
  if (code == ir::OpCode::erf) result = formulas::erf(lanes, x);
  if (code == ir::OpCode::tanh) result = formulas::tanh(lanes, x);
  b.flags = outside;
  return result;
}

}  // namespace tw::cpu
