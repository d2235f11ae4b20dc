#include "tilewright/backend/cpu/rules/arith.h"

#include <vector>

#include "tilewright/backend/cpu/atoms/dot.h"
#include "tilewright/backend/cpu/atoms/math.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/backend/cpu/rules/formulas.h"
#include "tilewright/backend/cpu/rules/integer.h"
#include "tilewright/backend/cpu/rules/rounding.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/sim/math.h"

namespace tw::cpu {
namespace {

using ir::Exactness;
using ir::OpClass;
using ir::OpCode;

Val compare(OpCode code, DType operand, Val a, Val b) {
  const int which = static_cast<int>(code) - static_cast<int>(OpCode::eq);
  if (operand.is_float()) {
    constexpr FPred kPreds[] = {FPred::oeq, FPred::une, FPred::olt,
                                FPred::ole, FPred::ogt, FPred::oge};
    return fcmp(kPreds[which], a, b);
  }
  constexpr Pred kSigned[] = {Pred::eq, Pred::ne, Pred::slt, Pred::sle, Pred::sgt, Pred::sge};
  constexpr Pred kUnsigned[] = {Pred::eq, Pred::ne, Pred::ult, Pred::ule, Pred::ugt, Pred::uge};
  return icmp((operand.is_signed_int() ? kSigned : kUnsigned)[which], a, b);
}

Val f_const(Val like, double value) {
  return like.builder().constant(like.elem(), value, like.lanes());
}
Val sign_bits(Val a) {  // the value's bits, of which only the sign is left
  const Elem bits{a.bits()};
  return bitcast(a, bits) & (int64_t{1} << (a.bits() - 1));
}

/// min and max by the rules of sim/element.h: an operand that is NaN yields to the other, or wins
/// with `nan_wins`; the first of equal ones. The choice is written with `ord`: with `uno` LLVM 19.1
/// merges the two choices into one, which is slower and, for |x| and 0, wrong (it forgets the | |).
Val min_or_max(FPred pred, Val a, Val b, bool nan_wins) {
  const Val better = select(fcmp(pred, b, a), b, a);  // one instruction; a when either is NaN
  const Val decisive = nan_wins ? b : a;              // when it is a number, `better` is right
  return select(fcmp(FPred::ord, decisive, decisive), better, b);
}

/// Whether the result is an operand but for its sign.
bool keeps_bits(OpCode code) {
  switch (code) {
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::copysign:
    case OpCode::min:
    case OpCode::max:
    case OpCode::min_nan:
    case OpCode::max_nan:
      return true;
    default:
      return false;
  }
}

/// Tests of floats, by their bits.
Val test(OpCode code, Val a) {
  const Val magnitude = a.builder().intrinsic("llvm.fabs", a);
  const Val infinity = f_const(a, __builtin_inf());
  switch (code) {
    case OpCode::isnan:
      return fcmp(FPred::uno, a, a);
    case OpCode::isinf:
      return fcmp(FPred::oeq, magnitude, infinity);
    case OpCode::isfinite:
      return fcmp(FPred::olt, magnitude, infinity);
    default:
      return ne(sign_bits(a), 0);
  }
}

/// The result of log1p, asinh or acosh, but far out their logarithm (sim/math.h).
Val or_log_far_out(const Target& target, OpCode code, const Val& result, const Val& x) {
  const bool is_odd = code == OpCode::asinh;
  const Val magnitude = is_odd ? x.builder().intrinsic("llvm.fabs", x) : x;
  const bool is_double = x.elem() == kF64;
  const Val far =
      fcmp(FPred::ogt, magnitude, f_const(x, is_double ? sim::kFarOut : sim::kFarOutF32));
  const auto formula = call_formula(target, OpCode::log, magnitude);
  const Val log = formula
                      ? *formula
                      : *call_math(target, OpCode::log, ir::Exactness::standard, {&magnitude, 1});
  const Val large = code == OpCode::log1p ? log : fadd(log, f_const(x, sim::kLn2));
  const Val args[] = {large, x};
  return select(far, is_odd ? x.builder().intrinsic("llvm.copysign", {&x, 1}, args) : large,
                result);
}

/// Operations on f32 and f64.
Val float_op(const Target& target, const ir::Op& op, std::span<const Val> args) {
  const Val a = args[0];
  const Val b = args.size() > 1 ? args[1] : Val();
  Builder& builder = a.builder();
  if (op.exactness == Exactness::ieee && op.rounding != Rounding::rn) {
    return directed_op(op.code, op.rounding, args);
  }
  switch (op.code) {
    case OpCode::add:
      return fadd(a, b);
    case OpCode::sub:
      return fsub(a, b);
    case OpCode::mul:
      return fmul(a, b);
    case OpCode::fdiv:
      return fdiv(a, b);
    case OpCode::neg:
      return fneg(a);
    case OpCode::abs:
      return builder.intrinsic("llvm.fabs", a);
    case OpCode::min:
      return min_or_max(FPred::olt, a, b, false);
    case OpCode::max:
      return min_or_max(FPred::ogt, a, b, false);
    case OpCode::min_nan:
      return min_or_max(FPred::olt, a, b, true);
    case OpCode::max_nan:
      return min_or_max(FPred::ogt, a, b, true);
    case OpCode::fma:
      return fma(a, b, args[2]);
    case OpCode::floor:
      return builder.intrinsic("llvm.floor", a);
    case OpCode::ceil:
      return builder.intrinsic("llvm.ceil", a);
    case OpCode::trunc:
      return builder.intrinsic("llvm.trunc", a);
    case OpCode::rint:
      return builder.intrinsic("llvm.rint", a);
    case OpCode::round:
      return builder.intrinsic("llvm.round", a);
    case OpCode::sqrt:
      return builder.intrinsic("llvm.sqrt", a);
    case OpCode::rsqrt:
      return fdiv(f_const(a, 1.0), builder.intrinsic("llvm.sqrt", a));
    case OpCode::rcp:
      return fdiv(f_const(a, 1.0), a);
    case OpCode::fmod:
      return frem(a, b);  // C's fmod a lane: SLEEF's gives NaN for quotients beyond 2^63
    case OpCode::copysign:
      return builder.intrinsic("llvm.copysign", {&a, 1}, args);
    default:
      break;
  }
  if (const auto v = call_formula(target, op.code, a)) return *v;
  if (const auto v = call_math(target, op.code, op.exactness, args)) {
    return sim::is_log_far_out(op.code) ? or_log_far_out(target, op.code, *v, a) : *v;
  }
  throw Error(codes::tgt_03, op.loc, "{}: no lowering on cpu", ir::op_row(op.code).name);
}

}  // namespace

Val apply(const Target& target, const ir::Op& op, DType operand, std::span<const Val> args) {
  const OpClass op_class = ir::op_row(op.code).op_class;
  if (op_class == OpClass::choice) return select(args[0], args[1], args[2]);
  if (op_class == OpClass::reinterpret) return reinterpret(args[0], operand, op.dtype);
  if (op_class == OpClass::dot) return dot_pairs(target, op.code, args[0], args[1], args[2]);

  // 16-bit floats and tf32 compute in f32, and so does what an author compares without a promotion.
  const DType scalar(operand.scalar);
  if (scalar.is_float() && scalar != f32 && scalar != f64) {
    std::vector<Val> wide;
    for (const Val& arg : args) wide.push_back(convert(target, arg, {scalar, f32}));
    ir::Op in_f32 = op;
    const bool gives_bool = op_class == OpClass::compare || op_class == OpClass::test;
    if (!gives_bool) in_f32.dtype = f32;
    const Val result = apply(target, in_f32, f32, wide);
    if (gives_bool || (scalar == tf32 && keeps_bits(op.code))) return result;
    return convert(target, result, {f32, scalar});
  }
  if (op_class == OpClass::compare) return compare(op.code, scalar, args[0], args[1]);
  if (op_class == OpClass::test) return test(op.code, args[0]);
  return scalar.is_float() ? float_op(target, op, args) : integer_op(op, scalar, args);
}

}  // namespace tw::cpu
