#include "tilewright/sim/element.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "tilewright/base/convert.h"
#include "tilewright/sim/math.h"

namespace tw::sim {
namespace {

using ir::OpCode;
using ir::ReduceKind;

/// f64 computes in its type, all other floats in f32.
template <Scalar kScalar>
struct Real {
  using Value = std::conditional_t<kScalar == Scalar::f64, double, float>;
  static Value get(Bits bits) { return static_cast<Value>(decode(bits, DType{kScalar})); }
  static Bits put(Value value) { return encode(value, DType{kScalar}); }
};

template <class F, OpCode kCode>
Bits unary_math_on(Bits a, Bits, Bits) {
  using T = typename F::Value;
  static const UnaryMath<T> function = unary_math<T>(kCode);
  return F::put(function(F::get(a)));
}
template <class F, OpCode kCode>
Bits binary_math_on(Bits a, Bits b, Bits) {
  using T = typename F::Value;
  static const BinaryMath<T> function = binary_math<T>(kCode);
  return F::put(function(F::get(a), F::get(b)));
}
template <class F>
ElementFn math_function(OpCode code) {
  using T = typename F::Value;
  switch (code) {
    case OpCode::rsqrt:
      return [](Bits a, Bits, Bits) { return F::put(T{1} / std::sqrt(F::get(a))); };
    case OpCode::rcp:
      return [](Bits a, Bits, Bits) { return F::put(T{1} / F::get(a)); };
#define TW_MATH(op, stem, suffix) \
  case OpCode::op:                \
    return unary_math_on<F, OpCode::op>;
      TW_MATH_UNARY(TW_MATH)
#undef TW_MATH
#define TW_MATH(op, stem, suffix) \
  case OpCode::op:                \
    return binary_math_on<F, OpCode::op>;
      TW_MATH_BINARY(TW_MATH)
#undef TW_MATH
    default:
      return nullptr;
  }
}

}  // namespace

ElementFn element_function(OpCode code, DType operand, ir::Exactness exactness, Rounding rounding) {
  if (const ElementFn exact = ir::exact_function(code, operand, exactness, rounding)) return exact;
  if (exactness == ir::Exactness::ieee && rounding != Rounding::rn) return nullptr;
  switch (operand.scalar) {
    case Scalar::f16:
      return math_function<Real<Scalar::f16>>(code);
    case Scalar::bf16:
      return math_function<Real<Scalar::bf16>>(code);
    case Scalar::f32:
      return math_function<Real<Scalar::f32>>(code);
    case Scalar::tf32:
      return math_function<Real<Scalar::tf32>>(code);
    case Scalar::f64:
      return math_function<Real<Scalar::f64>>(code);
    default:
      return nullptr;
  }
}

bool overflows(OpCode code, DType dtype, Bits a, Bits b) {
  const __int128 x = decode_int(a, dtype), y = decode_int(b, dtype);
  const __int128 limit = __int128{1} << (dtype.bits() - 1);
  const auto outside = [&](__int128 value) { return value < -limit || value >= limit; };
  switch (code) {
    case OpCode::add:
      return outside(x + y);
    case OpCode::sub:
      return outside(x - y);
    case OpCode::mul:
      return outside(x * y);
    case OpCode::neg:
    case OpCode::abs:
      return outside(-x);
    case OpCode::floordiv:
    case OpCode::truncdiv:
    case OpCode::floormod:
    case OpCode::truncmod:
      return y == -1 && outside(-x);
    default:
      return false;
  }
}

Bits reduction_identity(ReduceKind kind, DType dtype) {
  const auto extreme = [&](bool highest) {
    if (dtype.is_bool()) return Bits{highest};
    if (dtype.is_float()) {
      const double infinity = std::numeric_limits<double>::infinity();
      return encode(highest ? infinity : -infinity, dtype);
    }
    const Bits ones = ~Bits{0} >> (64 - dtype.bits());
    if (dtype.is_signed_int()) return highest ? ones >> 1 : (ones >> 1) + 1;
    return highest ? ones : Bits{0};
  };
  switch (kind) {
    case ReduceKind::max:
      return extreme(false);
    case ReduceKind::min:
      return extreme(true);
    case ReduceKind::prod:
      return dtype.is_float() ? encode(1.0, dtype) : Bits{1};
    case ReduceKind::bit_and:
      return dtype.is_bool() ? Bits{1} : ~Bits{0} >> (64 - dtype.bits());
    case ReduceKind::all:
      return 1;
    default:
      return 0;
  }
}

ElementFn reduction_step(ReduceKind kind, DType dtype, bool propagate_nan) {
  const bool nan = propagate_nan && dtype.is_float();
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::abs_sum:
      return element_function(OpCode::add, dtype);
    case ReduceKind::max:
    case ReduceKind::abs_max:
      return element_function(nan ? OpCode::max_nan : OpCode::max, dtype);
    case ReduceKind::min:
      return element_function(nan ? OpCode::min_nan : OpCode::min, dtype);
    case ReduceKind::prod:
      return element_function(OpCode::mul, dtype);
    case ReduceKind::bit_and:
    case ReduceKind::all:
      return element_function(OpCode::bit_and, dtype);
    case ReduceKind::bit_or:
    case ReduceKind::any:
      return element_function(OpCode::bit_or, dtype);
    case ReduceKind::bit_xor:
      return element_function(OpCode::bit_xor, dtype);
  }
  return nullptr;
}

ElementFn atomic_function(ir::AtomicOp op, DType dtype) {
  using ir::AtomicOp;
  if (const auto code = ir::element_op(op)) return element_function(*code, dtype);
  if (op == AtomicOp::load) return [](Bits old, Bits, Bits) { return old; };
  if (op == AtomicOp::compare_exchange) {
    return [](Bits old, Bits desired, Bits expected) { return old == expected ? desired : old; };
  }
  return [](Bits, Bits desired, Bits) { return desired; };  // exchange, store
}

}  // namespace tw::sim
