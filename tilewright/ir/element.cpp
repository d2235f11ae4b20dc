#include "tilewright/ir/element.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tilewright/base/convert.h"

namespace tw::ir {
namespace {

// ---- how each class of types is read from and written to a word

template <class T>
struct Int {
  using Value = T;
  using Unsigned = std::make_unsigned_t<T>;
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr bool kSigned = std::is_signed_v<T>;
  static T get(Bits bits) { return static_cast<T>(bits); }
  static Bits put(Bits value) { return static_cast<Unsigned>(value); }
};
struct Bool {
  using Value = bool;
  static bool get(Bits bits) { return bits != 0; }
  static Bits put(bool value) { return value ? 1 : 0; }
};
struct F32 {
  using Value = float;
  static constexpr DType kType = f32;
  static float get(Bits bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
  static Bits put(float value) { return std::bit_cast<uint32_t>(value); }
};
struct F64 {
  using Value = double;
  static constexpr DType kType = f64;
  static double get(Bits bits) { return std::bit_cast<double>(bits); }
  static Bits put(double value) { return std::bit_cast<uint64_t>(value); }
};
/// Types that compute in f32 and are rounded when written.
template <Scalar kScalar>
struct ViaF32 {
  using Value = float;
  static constexpr DType kType{kScalar};
  static float get(Bits bits) { return static_cast<float>(decode(bits, kType)); }
  static Bits put(float value) { return encode(value, kType); }
};

/// Calls f with the class of an integer type.
template <class F>
ElementFn with_int(DType dtype, F f) {
  switch (dtype.scalar) {
    case Scalar::i8:
      return f(Int<int8_t>());
    case Scalar::i16:
      return f(Int<int16_t>());
    case Scalar::i32:
      return f(Int<int32_t>());
    case Scalar::i64:
      return f(Int<int64_t>());
    case Scalar::u8:
      return f(Int<uint8_t>());
    case Scalar::u16:
      return f(Int<uint16_t>());
    case Scalar::u32:
      return f(Int<uint32_t>());
    case Scalar::u64:
      return f(Int<uint64_t>());
    default:
      return nullptr;
  }
}
/// Calls f with the class of a float type.
template <class F>
ElementFn with_float(DType dtype, F f) {
  switch (dtype.scalar) {
    case Scalar::f16:
      return f(ViaF32<Scalar::f16>());
    case Scalar::bf16:
      return f(ViaF32<Scalar::bf16>());
    case Scalar::f32:
      return f(F32());
    case Scalar::tf32:
      return f(ViaF32<Scalar::tf32>());
    case Scalar::f64:
      return f(F64());
    default:
      return nullptr;
  }
}

// ---- integers

template <class I>
typename I::Value floor_div(typename I::Value a, typename I::Value b) {
  using T = typename I::Value;
  if (b == 0) return 0;
  if constexpr (I::kSigned) {
    if (b == -1) return static_cast<T>(Bits{0} - static_cast<Bits>(a));
    const T q = static_cast<T>(a / b);
    return static_cast<T>((a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q);
  } else {
    return static_cast<T>(a / b);
  }
}
template <class I>
typename I::Value trunc_div(typename I::Value a, typename I::Value b) {
  using T = typename I::Value;
  if (b == 0) return 0;
  if constexpr (I::kSigned) {
    if (b == -1) return static_cast<T>(Bits{0} - static_cast<Bits>(a));
  }
  return static_cast<T>(a / b);
}
/// a - (quotient) * b, in wrapping arithmetic.
template <class I>
Bits remainder(typename I::Value a, typename I::Value quotient, typename I::Value b) {
  return b == 0 ? 0
                : I::put(static_cast<Bits>(a) - static_cast<Bits>(quotient) * static_cast<Bits>(b));
}
template <class I>
typename I::Value saturate(__int128 value) {
  using L = std::numeric_limits<typename I::Value>;
  if (value < L::min()) return L::min();
  return value > L::max() ? L::max() : static_cast<typename I::Value>(value);
}
int nth_set(Bits x, Bits n) {
  for (int bit = 0; bit < 64; ++bit) {
    if (((x >> bit) & 1) != 0 && n-- == 0) return bit;
  }
  return -1;
}
template <int kBits>
Bits reverse(Bits x) {
  Bits y = 0;
  for (int bit = 0; bit < kBits; ++bit) y |= ((x >> bit) & 1) << (kBits - 1 - bit);
  return y;
}
Bits byte_permute(Bits a, Bits b, Bits selector) {
  const Bits pool = (b << 32) | (a & 0xFFFFFFFF);
  Bits result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto nibble = static_cast<int>((selector >> (4 * i)) & 15);
    Bits byte = (pool >> (8 * (nibble & 7))) & 0xFF;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <class I>
ElementFn integer_function(OpCode code) {
  constexpr int kBits = I::kBits;
  constexpr Bits kMask = kBits - 1;
  switch (code) {
    case OpCode::add:
      return [](Bits a, Bits b, Bits) { return I::put(a + b); };
    case OpCode::sub:
      return [](Bits a, Bits b, Bits) { return I::put(a - b); };
    case OpCode::mul:
      return [](Bits a, Bits b, Bits) { return I::put(a * b); };
    case OpCode::floordiv:
      return [](Bits a, Bits b, Bits) {
        return I::put(static_cast<Bits>(floor_div<I>(I::get(a), I::get(b))));
      };
    case OpCode::floormod:
      return [](Bits a, Bits b, Bits) {
        return remainder<I>(I::get(a), floor_div<I>(I::get(a), I::get(b)), I::get(b));
      };
    case OpCode::truncdiv:
      return [](Bits a, Bits b, Bits) {
        return I::put(static_cast<Bits>(trunc_div<I>(I::get(a), I::get(b))));
      };
    case OpCode::truncmod:
      return [](Bits a, Bits b, Bits) {
        return remainder<I>(I::get(a), trunc_div<I>(I::get(a), I::get(b)), I::get(b));
      };
    case OpCode::neg:
      return [](Bits a, Bits, Bits) { return I::put(Bits{0} - a); };
    case OpCode::abs:
      if constexpr (!I::kSigned) return [](Bits a, Bits, Bits) { return a; };
      return [](Bits a, Bits, Bits) { return (a >> (kBits - 1)) != 0 ? I::put(Bits{0} - a) : a; };
    case OpCode::min:
      return [](Bits a, Bits b, Bits) { return I::get(b) < I::get(a) ? b : a; };
    case OpCode::max:
      return [](Bits a, Bits b, Bits) { return I::get(b) > I::get(a) ? b : a; };
    case OpCode::mul_high:
      return [](Bits a, Bits b, Bits) {
        using Wide = std::conditional_t<I::kSigned, __int128, unsigned __int128>;
        return I::put(static_cast<Bits>((static_cast<Wide>(I::get(a)) * I::get(b)) >> kBits));
      };
    case OpCode::add_sat:
      return [](Bits a, Bits b, Bits) {
        return I::put(static_cast<Bits>(saturate<I>(static_cast<__int128>(I::get(a)) + I::get(b))));
      };
    case OpCode::sub_sat:
      return [](Bits a, Bits b, Bits) {
        return I::put(static_cast<Bits>(saturate<I>(static_cast<__int128>(I::get(a)) - I::get(b))));
      };
    case OpCode::bit_and:
      return [](Bits a, Bits b, Bits) { return a & b; };
    case OpCode::bit_or:
      return [](Bits a, Bits b, Bits) { return a | b; };
    case OpCode::bit_xor:
      return [](Bits a, Bits b, Bits) { return a ^ b; };
    case OpCode::bit_not:
      return [](Bits a, Bits, Bits) { return I::put(~a); };
    case OpCode::shl:
      return [](Bits a, Bits b, Bits) { return I::put(a << (b & kMask)); };
    case OpCode::shr:
      return
          [](Bits a, Bits b, Bits) { return I::put(static_cast<Bits>(I::get(a) >> (b & kMask))); };
    case OpCode::popcount:
      return [](Bits a, Bits, Bits) { return static_cast<Bits>(std::popcount(a)); };
    case OpCode::clz:
      return
          [](Bits a, Bits, Bits) { return static_cast<Bits>(std::countl_zero(a) - (64 - kBits)); };
    case OpCode::ctz:
      return [](Bits a, Bits, Bits) {
        return static_cast<Bits>(a == 0 ? kBits : std::countr_zero(a));
      };
    case OpCode::ffs:
      return [](Bits a, Bits, Bits) {
        return static_cast<Bits>(a == 0 ? 0 : std::countr_zero(a) + 1);
      };
    case OpCode::nth_set:
      return [](Bits a, Bits b, Bits) { return I::put(static_cast<Bits>(int64_t{nth_set(a, b)})); };
    case OpCode::bit_reverse:
      return [](Bits a, Bits, Bits) { return reverse<kBits>(a); };
    case OpCode::byte_permute:
      if (kBits != 32) return nullptr;
      return [](Bits a, Bits b, Bits c) { return byte_permute(a, b, c); };
    case OpCode::funnel_shl:
      return [](Bits a, Bits b, Bits c) {
        const Bits n = c & kMask;
        return n == 0 ? b : I::put((b << n) | (a >> (kBits - n)));
      };
    case OpCode::funnel_shr:
      return [](Bits a, Bits b, Bits c) {
        const Bits n = c & kMask;
        return n == 0 ? a : I::put((a >> n) | (b << (kBits - n)));
      };
    default:
      return nullptr;
  }
}

ElementFn bool_function(OpCode code) {
  switch (code) {
    case OpCode::bit_and:
    case OpCode::land:
    case OpCode::min:
      return [](Bits a, Bits b, Bits) { return a & b; };
    case OpCode::bit_or:
    case OpCode::lor:
    case OpCode::max:
      return [](Bits a, Bits b, Bits) { return a | b; };
    case OpCode::bit_xor:
      return [](Bits a, Bits b, Bits) { return a ^ b; };
    case OpCode::bit_not:
    case OpCode::lnot:
      return [](Bits a, Bits, Bits) { return a ^ 1; };
    default:
      return nullptr;
  }
}

// ---- floats

template <class F>
constexpr Bits kSignBit =
    Bits{1} << (F::kType.scalar == Scalar::f64                                      ? 63
                : F::kType.scalar == Scalar::f32 || F::kType.scalar == Scalar::tf32 ? 31
                                                                                    : 15);

template <class F>
ElementFn float_function(OpCode code) {
  using T = typename F::Value;
  switch (code) {
    case OpCode::add:
      return [](Bits a, Bits b, Bits) { return F::put(F::get(a) + F::get(b)); };
    case OpCode::sub:
      return [](Bits a, Bits b, Bits) { return F::put(F::get(a) - F::get(b)); };
    case OpCode::mul:
      return [](Bits a, Bits b, Bits) { return F::put(F::get(a) * F::get(b)); };
    case OpCode::fdiv:
      return [](Bits a, Bits b, Bits) { return F::put(F::get(a) / F::get(b)); };
    case OpCode::neg:
      return [](Bits a, Bits, Bits) { return a ^ kSignBit<F>; };
    case OpCode::abs:
      return [](Bits a, Bits, Bits) { return a & ~kSignBit<F>; };
    case OpCode::copysign:
      return [](Bits a, Bits b, Bits) { return (a & ~kSignBit<F>) | (b & kSignBit<F>); };
    case OpCode::signbit:
      return [](Bits a, Bits, Bits) { return Bits{(a & kSignBit<F>) != 0}; };
    case OpCode::min:
      return [](Bits a, Bits b, Bits) {
        const T x = F::get(a), y = F::get(b);
        return std::isnan(x) || y < x ? b : a;
      };
    case OpCode::max:
      return [](Bits a, Bits b, Bits) {
        const T x = F::get(a), y = F::get(b);
        return std::isnan(x) || y > x ? b : a;
      };
    case OpCode::min_nan:
      return [](Bits a, Bits b, Bits) {
        const T x = F::get(a), y = F::get(b);
        return std::isnan(y) || y < x ? b : a;
      };
    case OpCode::max_nan:
      return [](Bits a, Bits b, Bits) {
        const T x = F::get(a), y = F::get(b);
        return std::isnan(y) || y > x ? b : a;
      };
    case OpCode::fma:
      return
          [](Bits a, Bits b, Bits c) { return F::put(std::fma(F::get(a), F::get(b), F::get(c))); };
    case OpCode::fmod:
      return [](Bits a, Bits b, Bits) { return F::put(std::fmod(F::get(a), F::get(b))); };
    case OpCode::floor:
      return [](Bits a, Bits, Bits) { return F::put(std::floor(F::get(a))); };
    case OpCode::ceil:
      return [](Bits a, Bits, Bits) { return F::put(std::ceil(F::get(a))); };
    case OpCode::trunc:
      return [](Bits a, Bits, Bits) { return F::put(std::trunc(F::get(a))); };
    case OpCode::round:
      return [](Bits a, Bits, Bits) { return F::put(std::round(F::get(a))); };
    case OpCode::rint:
      return [](Bits a, Bits, Bits) { return F::put(std::nearbyint(F::get(a))); };
    case OpCode::sqrt:
      return [](Bits a, Bits, Bits) { return F::put(std::sqrt(F::get(a))); };
    case OpCode::isnan:
      return [](Bits a, Bits, Bits) { return Bits{std::isnan(F::get(a))}; };
    case OpCode::isinf:
      return [](Bits a, Bits, Bits) { return Bits{std::isinf(F::get(a))}; };
    case OpCode::isfinite:
      return [](Bits a, Bits, Bits) { return Bits{std::isfinite(F::get(a))}; };
    default:
      return nullptr;
  }
}

/// Computes under a rounding mode of the host. The operands are volatile so that the compiler
/// can't move the operation out of the mode.
template <class T, class Compute>
T in_mode(int mode, T a, T b, T c, Compute compute) {
  volatile T x = a, y = b, z = c;
  std::fesetround(mode);
  volatile T result = compute(T{x}, T{y}, T{z});
  std::fesetround(FE_TONEAREST);
  return result;
}
constexpr int mode_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::rz:
      return FE_TOWARDZERO;
    case Rounding::rp:
      return FE_UPWARD;
    case Rounding::rm:
      return FE_DOWNWARD;
    default:
      return FE_TONEAREST;
  }
}
/// The ieee operations with a directed rounding.
template <class F, Rounding kRounding>
ElementFn directed_function(OpCode code) {
  using T = typename F::Value;
  constexpr int kMode = mode_of(kRounding);
  switch (code) {
    case OpCode::add:
      return [](Bits a, Bits b, Bits) {
        return F::put(
            in_mode<T>(kMode, F::get(a), F::get(b), 0, [](T x, T y, T) { return x + y; }));
      };
    case OpCode::sub:
      return [](Bits a, Bits b, Bits) {
        return F::put(
            in_mode<T>(kMode, F::get(a), F::get(b), 0, [](T x, T y, T) { return x - y; }));
      };
    case OpCode::mul:
      return [](Bits a, Bits b, Bits) {
        return F::put(
            in_mode<T>(kMode, F::get(a), F::get(b), 0, [](T x, T y, T) { return x * y; }));
      };
    case OpCode::fdiv:
      return [](Bits a, Bits b, Bits) {
        return F::put(
            in_mode<T>(kMode, F::get(a), F::get(b), 0, [](T x, T y, T) { return x / y; }));
      };
    case OpCode::fma:
      return [](Bits a, Bits b, Bits c) {
        return F::put(in_mode<T>(kMode, F::get(a), F::get(b), F::get(c),
                                 [](T x, T y, T z) { return std::fma(x, y, z); }));
      };
    case OpCode::rcp:
      return [](Bits a, Bits, Bits) {
        return F::put(in_mode<T>(kMode, F::get(a), 0, 0, [](T x, T, T) { return 1 / x; }));
      };
    case OpCode::sqrt:
      return [](Bits a, Bits, Bits) {
        return F::put(in_mode<T>(kMode, F::get(a), 0, 0, [](T x, T, T) { return std::sqrt(x); }));
      };
    default:
      return nullptr;
  }
}
ElementFn directed(OpCode code, DType dtype, Rounding rounding) {
  const auto with_mode = [&]<class F>(F) -> ElementFn {
    switch (rounding) {
      case Rounding::rz:
        return directed_function<F, Rounding::rz>(code);
      case Rounding::rp:
        return directed_function<F, Rounding::rp>(code);
      case Rounding::rm:
        return directed_function<F, Rounding::rm>(code);
      default:
        return nullptr;
    }
  };
  if (dtype == f32) return with_mode(F32());
  return dtype == f64 ? with_mode(F64()) : nullptr;
}

// ---- comparisons

template <class E>
ElementFn compare_function(OpCode code) {
  switch (code) {
    case OpCode::eq:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) == E::get(b)}; };
    case OpCode::ne:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) != E::get(b)}; };
    case OpCode::lt:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) < E::get(b)}; };
    case OpCode::le:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) <= E::get(b)}; };
    case OpCode::gt:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) > E::get(b)}; };
    case OpCode::ge:
      return [](Bits a, Bits b, Bits) { return Bits{E::get(a) >= E::get(b)}; };
    default:
      return nullptr;
  }
}

// ---- dot products of two pairs

Bits dot2_bf16(Bits sum, Bits a, Bits b) {
  const auto half = [](Bits word, int n) {
    return std::bit_cast<float>(static_cast<uint32_t>((word >> (16 * n)) << 16));
  };
  float x = std::bit_cast<float>(static_cast<uint32_t>(sum));
  for (int n = 0; n < 2; ++n) x = std::fma(half(a, n), half(b, n), x);
  return std::bit_cast<uint32_t>(x);
}
Bits dot2_i16(Bits sum, Bits a, Bits b) {
  auto x = static_cast<uint32_t>(sum);
  for (int n = 0; n < 2; ++n) {
    const auto p = static_cast<int16_t>(a >> (16 * n)), q = static_cast<int16_t>(b >> (16 * n));
    x += static_cast<uint32_t>(int32_t{p} * int32_t{q});
  }
  return x;
}

}  // namespace

ElementFn exact_function(OpCode code, DType operand, Exactness exactness, Rounding rounding) {
  switch (op_row(code).op_class) {
    case OpClass::choice:
      return [](Bits condition, Bits a, Bits b) { return condition != 0 ? a : b; };
    case OpClass::reinterpret:
      return [](Bits a, Bits, Bits) { return a; };
    case OpClass::dot:
      return code == OpCode::dot2_bf16 ? dot2_bf16 : dot2_i16;
    case OpClass::compare:
      if (operand.is_bool()) return compare_function<Bool>(code);
      if (operand.is_int()) {
        return with_int(operand, [&]<class I>(I) { return compare_function<I>(code); });
      }
      return with_float(operand, [&]<class F>(F) { return compare_function<F>(code); });
    default:
      break;
  }
  if (operand.is_bool()) return bool_function(code);
  if (operand.is_int()) {
    return with_int(operand, [&]<class I>(I) { return integer_function<I>(code); });
  }
  if (exactness == Exactness::ieee && rounding != Rounding::rn) {
    return directed(code, operand, rounding);
  }
  return with_float(operand, [&]<class F>(F) { return float_function<F>(code); });
}

}  // namespace tw::ir
