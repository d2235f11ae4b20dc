// Elementary functions in f32 that are hot in kernels, as formulas over a set of operations `M`, so
// that the interpreter (numbers) and a backend (vectors of a register) compute the very same bits.
// Every step is one IEEE operation or integer operation; nothing may be contracted or reordered.
//
// M has: constant(float), add, sub, mul, div, fma (one rounding), abs, copysign(magnitude, sign),
// less(a, b) (false for NaN), select(condition, a, b); and on the 32 bits of a value: bits,
// from_bits, int_constant(int32_t), int_add, int_sub, int_and, shift_left, shift_right
// (arithmetic), to_float; and scale(x, n, k), which is scale_by_power for k, the value of n.
//
// Polynomials are own fits (weighted minimax by Lawson's iteration in 40 digits), rounded to f32.
// Errors are the largest seen in a sweep of the whole range against double precision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tw::formulas {

/// c[0] + x * (c[1] + x * (...)).
template <class M, class V, std::size_t N>
V polynomial(M& m, const V& x, const std::array<float, N>& c) {
  V sum = m.constant(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = m.fma(sum, x, m.constant(c[i]));
  return sum;
}

/// x * 2^n for an integer n in [-252, 254], correctly rounded when the result is subnormal.
template <class M, class V, class I>
V scale_by_power(M& m, const V& x, const I& n) {
  const I half = m.shift_right(n, 1);
  const auto power = [&](const I& k) {
    return m.from_bits(m.shift_left(m.int_add(k, m.int_constant(127)), 23));
  };
  return m.mul(m.mul(x, power(half)), power(m.int_sub(n, half)));
}

/// Limits x to [low, high]; NaN stays NaN.
template <class M, class V>
V limit(M& m, const V& x0, float low, float high) {
  const V x = m.select(m.less(m.constant(high), x0), m.constant(high), x0);
  return m.select(m.less(x, m.constant(low)), m.constant(low), x);
}

/// Adding it to |x| < 2^22 rounds x to an integer, which then stands in the low bits.
constexpr float kRoundingShift = 0x1.8p23F;

/// e^x, at most 1 ulp off; overflows to infinity, underflows through the subnormals to 0.
template <class M, class V>
V exp(M& m, const V& x0) {
  // Outside of these the result is 0 or infinity anyway.
  const V x = limit(m, x0, -104.5F, 89.0F);
  // x = n ln 2 + r.
  const V shift = m.constant(kRoundingShift);
  const V shifted = m.fma(x, m.constant(0x1.715476p+0F), shift);
  const V n = m.sub(shifted, shift);
  V r = m.fma(n, m.constant(-0x1.62e4p-1F), x);
  r = m.fma(n, m.constant(-0x1.7f7d1cp-20F), r);
  // e^r = 1 + r + r^2 q(r), |r| <= ln 2 / 2.
  constexpr std::array<float, 5> kQ = {0x1.fffffcp-2F, 0x1.55549p-3F, 0x1.5558f6p-5F,
                                       0x1.123a76p-7F, 0x1.6a22f4p-10F};
  const V q = polynomial(m, r, kQ);
  const V p = m.add(m.fma(q, m.mul(r, r), r), m.constant(1.0F));
  return m.scale(p, n, m.int_sub(m.bits(shifted), m.bits(shift)));
}

/// 2^x, at most 1 ulp off, exact for integers; overflows and underflows as exp does.
template <class M, class V>
V exp2(M& m, const V& x0) {
  const V x = limit(m, x0, -151.0F, 129.0F);
  const V shift = m.constant(kRoundingShift);
  const V shifted = m.add(x, shift);
  const V n = m.sub(shifted, shift);
  const V r = m.sub(x, n);  // exact
  // 2^r = 1 + r p(r), |r| <= 1/2.
  constexpr std::array<float, 6> kP = {0x1.62e43p-1F,  0x1.ebfbdcp-3F,  0x1.c6af7ap-5F,
                                       0x1.3b2dd2p-7F, 0x1.5f0948p-10F, 0x1.417a9cp-13F};
  const V p = m.fma(polynomial(m, r, kP), r, m.constant(1.0F));
  return m.scale(p, n, m.int_sub(m.bits(shifted), m.bits(shift)));
}

/// Natural logarithm, at most 1 ulp off; -infinity at 0, NaN below.
template <class M, class V>
V log(M& m, const V& x0) {
  const auto tiny = m.less(x0, m.constant(0x1p-126F));  // subnormal, 0 or negative
  const V x = m.select(tiny, m.mul(x0, m.constant(0x1p23F)), x0);
  // x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
  const auto offset = m.int_sub(m.bits(x), m.int_constant(0x3f3504f3));
  const auto e_bits = m.int_and(offset, m.int_constant(static_cast<int32_t>(0xff800000)));
  const V f = m.sub(m.from_bits(m.int_sub(m.bits(x), e_bits)), m.constant(1.0F));
  const V e = m.sub(m.to_float(m.shift_right(e_bits, 23)),
                    m.select(tiny, m.constant(23.0F), m.constant(0.0F)));
  // log(1 + f) = f - f^2 / 2 + f^3 p(f).
  constexpr std::array<float, 8> kP = {0x1.555554p-2F,  -0x1.000228p-2F, 0x1.99a002p-3F,
                                       -0x1.547228p-3F, 0x1.22dab2p-3F,  -0x1.0d86dep-3F,
                                       0x1.0557f2p-3F,  -0x1.38a45ep-4F};
  const V square = m.mul(f, f);
  V tail = m.mul(m.mul(square, f), polynomial(m, f, kP));
  tail = m.fma(e, m.constant(0x1.7f7d1cp-20F), tail);
  tail = m.fma(m.constant(-0.5F), square, tail);
  V result = m.fma(e, m.constant(0x1.62e4p-1F), m.add(f, tail));
  const V infinity = m.constant(__builtin_inff()), zero = m.constant(0.0F);
  result = m.select(m.less(x0, infinity), result, x0);                 // infinity, NaN
  result = m.select(m.less(zero, x0), result, m.sub(zero, infinity));  // 0
  result = m.select(m.less(x0, zero), m.constant(__builtin_nanf("")), result);
  return m.select(m.less(m.abs(x0), m.constant(__builtin_inff())), result,  // keeps NaN operands
                  m.select(m.less(x0, zero), m.constant(__builtin_nanf("")), x0));
}

/// Gauss error function, at most 1 ulp off.
template <class M, class V>
V erf(M& m, const V& x) {
  const V t = m.abs(x);
  // |x| < 0.92: x + x p(x^2).
  constexpr std::array<float, 7> kSmall = {0x1.06eba8p-3F, -0x1.812744p-2F, 0x1.ce2e3p-4F,
                                           -0x1.b811cp-6F, 0x1.54e63cp-8F,  -0x1.ab4824p-11F,
                                           0x1.60384cp-14F};
  const V near_zero = m.fma(polynomial(m, m.mul(x, x), kSmall), x, x);
  // Beyond: 1 - exp(-t q(t)); from 4 on it is 1.
  constexpr std::array<float, 8> kLarge = {0x1.20e8d6p+0F,   0x1.45700ep-1F, 0x1.af319p-4F,
                                           -0x1.73a6b4p-6F,  0x1.80d75cp-9F, -0x1.b1fcd4p-15F,
                                           -0x1.7ad4d8p-15F, 0x1.491528p-18F};
  const V limited = m.select(m.less(m.constant(4.0F), t), m.constant(4.0F), t);  // keeps NaN
  const V power = m.mul(m.sub(m.constant(0.0F), limited), polynomial(m, limited, kLarge));
  const V far = m.copysign(m.sub(m.constant(1.0F), exp(m, power)), x);
  return m.select(m.less(t, m.constant(0.9219F)), near_zero, far);
}

/// Hyperbolic tangent, at most 2 ulp off.
template <class M, class V>
V tanh(M& m, const V& x) {
  const V t = m.abs(x);
  // |x| < 0.5625: x + x^3 p(x^2).
  constexpr std::array<float, 5> kP = {-0x1.555548p-2F, 0x1.110c8cp-3F, -0x1.b90d02p-5F,
                                       0x1.584bbap-6F, -0x1.959164p-8F};
  const V square = m.mul(x, x);
  const V near_zero = m.fma(m.mul(polynomial(m, square, kP), square), x, x);
  // Beyond: 1 - 2 / (e^2t + 1).
  const V e = exp(m, m.add(t, t));
  const V far = m.sub(m.constant(1.0F), m.div(m.constant(2.0F), m.add(e, m.constant(1.0F))));
  return m.copysign(m.select(m.less(t, m.constant(0.5625F)), near_zero, far), x);
}

/// The operations on plain numbers.
struct Numbers {
  static float constant(float x) { return x; }
  static int32_t int_constant(int32_t x) { return x; }
  static float add(float a, float b) { return a + b; }
  static float sub(float a, float b) { return a - b; }
  static float mul(float a, float b) { return a * b; }
  static float div(float a, float b) { return a / b; }
  static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static float abs(float a) { return __builtin_fabsf(a); }
  static float copysign(float a, float b) { return __builtin_copysignf(a, b); }
  static bool less(float a, float b) { return a < b; }
  static float select(bool c, float a, float b) { return c ? a : b; }
  static int32_t bits(float a) { return __builtin_bit_cast(int32_t, a); }
  static float from_bits(int32_t a) { return __builtin_bit_cast(float, a); }
  static int32_t int_add(int32_t a, int32_t b) { return wrap(uint32_t(a) + uint32_t(b)); }
  static int32_t int_sub(int32_t a, int32_t b) { return wrap(uint32_t(a) - uint32_t(b)); }
  static int32_t int_and(int32_t a, int32_t b) { return a & b; }
  static int32_t shift_left(int32_t a, int n) { return wrap(uint32_t(a) << n); }
  static int32_t shift_right(int32_t a, int n) { return a >> n; }
  static float to_float(int32_t a) { return static_cast<float>(a); }
  float scale(float x, float /*n*/, int32_t k) { return scale_by_power(*this, x, k); }

 private:
  static int32_t wrap(uint32_t a) { return static_cast<int32_t>(a); }
};

}  // namespace tw::formulas
