// The integer code of the device prelude, compiled for the host, against the conversions and
// element functions that it must agree with.
#include "tilewright/backend/cuda/emit/prelude.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <climits>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tilewright/base/convert.h"
#include "tilewright/ir/element.h"

// What CUDA has and the host lacks.
namespace device {
#define __device__
#define __forceinline__ inline
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
/// The neighbor of `nearest` toward zero if it is beyond the exact value.
template <class Exact>
float toward_zero(Exact x) {
  const auto nearest = static_cast<float>(x);
  const long double exact = x;
  return std::fabs(static_cast<long double>(nearest)) > std::fabs(exact)
             ? std::nextafter(nearest, 0.0f)
             : nearest;
}
inline float __int2float_rz(int x) { return toward_zero(x); }
inline float __uint2float_rz(unsigned x) { return toward_zero(x); }
inline float __ll2float_rz(long long x) { return toward_zero(x); }
inline float __ull2float_rz(unsigned long long x) { return toward_zero(x); }
inline float __double2float_rz(double x) {
  return std::isfinite(x) ? toward_zero(x) : static_cast<float>(x);
}
/// As cvt.rzi does it: saturating, NaN to 0 (with 64 bits, or from f64, to something else).
template <class Int, class Real>
Int to_int(Real x) {
  if (x != x)
    return sizeof(Int) == 8 || sizeof(Real) == 8 ? Int(Int(1) << (8 * sizeof(Int) - 1)) : 0;
  const tw::DType dtype =
      sizeof(Int) == 8 ? (Int(-1) < 0 ? tw::i64 : tw::u64) : (Int(-1) < 0 ? tw::i32 : tw::u32);
  return static_cast<Int>(tw::encode(x, dtype));
}
inline int __float2int_rz(float x) { return to_int<int>(x); }
inline unsigned __float2uint_rz(float x) { return to_int<unsigned>(x); }
inline long long __float2ll_rz(float x) { return to_int<long long>(x); }
inline unsigned long long __float2ull_rz(float x) { return to_int<unsigned long long>(x); }
inline int __double2int_rz(double x) { return to_int<int>(x); }
inline unsigned __double2uint_rz(double x) { return to_int<unsigned>(x); }
inline long long __double2ll_rz(double x) { return to_int<long long>(x); }
inline unsigned long long __double2ull_rz(double x) { return to_int<unsigned long long>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline float __fmaf_rz(float a, float b, float c) {
  return toward_zero(static_cast<long double>(a) * b + c);
}
using std::fmaf;
inline float fabsf(float x) { return std::fabs(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }  // NaN to 0
// As min.f32: of a signaling NaN and a number, the number too.
inline float fminf(float a, float b) { return a != a ? b : std::fmin(a, b); }
/// What instructions do with both halves of words, in f32 exact where it is used.
template <class F>
unsigned both_halves(tw::DType type, F f, unsigned a, unsigned b = 0, unsigned c = 0) {
  const auto half = [&](unsigned shift) {
    const auto real = [&](unsigned word) {
      return static_cast<float>(tw::decode(word >> shift & 0xFFFFu, type));
    };
    const float y = f(real(a), real(b), real(c));
    return y != y ? 0x7FFFu : static_cast<unsigned>(tw::encode(y, type));
  };
  return half(0) | half(16) << 16;
}
inline float max_of(float x, float y, float) { return x != x ? y : std::fmax(x, y); }
inline float min_of(float x, float y, float) { return fminf(x, y); }
inline unsigned abs_bf16x2(unsigned x) { return x & 0x7FFF7FFFu; }
inline unsigned min_bf16x2(unsigned a, unsigned b) { return both_halves(tw::bf16, min_of, a, b); }
inline unsigned max_bf16x2(unsigned a, unsigned b) { return both_halves(tw::bf16, max_of, a, b); }
inline unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  return both_halves(tw::bf16, fmaf, a, b, c);
}
inline unsigned abs_f16x2(unsigned x) { return x & 0x7FFF7FFFu; }
inline unsigned min_f16x2(unsigned a, unsigned b) { return both_halves(tw::f16, min_of, a, b); }
inline unsigned max_f16x2(unsigned a, unsigned b) { return both_halves(tw::f16, max_of, a, b); }
inline unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) {
  return both_halves(tw::f16, fmaf, a, b, c);
}
// clang-format off
#include "tilewright/backend/cuda/emit/prelude/types.cuh"
#include "tilewright/backend/cuda/emit/prelude/convert.cuh"
#include "tilewright/backend/cuda/emit/prelude/integer.cuh"
// clang-format on
#undef __device__
#undef __forceinline__
}  // namespace device

namespace tw::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Values of f32 around which conversions round: every sign and exponent with mantissas whose
/// trailing bits are a tie or beside one, and random ones.
const std::vector<float>& reals() {
  static const std::vector<float> list = [] {
    std::vector<float> values;
    std::mt19937 random(1);
    for (uint32_t top = 0; top < 512; ++top) {
      for (int bit = 0; bit <= 23; ++bit) {
        for (const uint32_t head : {0u, 1u, 2u, 3u, static_cast<uint32_t>(random())}) {
          for (const uint32_t beside : {~0u, 0u, 1u}) {
            const uint32_t mantissa = (head << bit << 1 | 1u << bit >> 1) + beside;
            values.push_back(std::bit_cast<float>(top << 23 | (mantissa & 0x7FFFFF)));
          }
        }
      }
    }
    for (int i = 0; i < 20000; ++i) {
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    }
    return values;
  }();
  return list;
}
std::vector<double> doubles() {
  std::vector<double> values;
  std::mt19937_64 random(2);
  for (const float x : reals()) {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(x));
    for (const int beside : {-1, 0, 1}) {
      values.push_back(std::bit_cast<double>(bits + static_cast<uint64_t>(int64_t{beside})));
    }
  }
  for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<double>(random()));
  return values;
}

template <class Value, class Convert>
void expect_conversion(const std::vector<Value>& values, DType to, Convert convert,
                       Rounding rounding = Rounding::rn) {
  int failures = 0;
  for (const Value x : values) {
    const uint64_t wanted = encode(x, to, rounding);
    uint64_t found = 0;
    if constexpr (std::is_same_v<decltype(convert(x)), float>) {
      found = std::bit_cast<uint32_t>(convert(x));
    } else {
      const auto result = convert(x);
      found = static_cast<std::make_unsigned_t<decltype(result)>>(result);
    }
    if (same_value(found, wanted, to)) continue;
    ADD_FAILURE() << to_text(to) << " of " << testing::PrintToString(x) << " is " << found
                  << ", must be " << wanted;
    if (++failures == 5) return;
  }
}

TEST(Prelude, ConversionsFromF32AgreeWithTheOracle) {
  expect_conversion(reals(), tf32, device::to_tf32);
  expect_conversion(reals(), bf16, device::to_bf16_rz, Rounding::rz);
  expect_conversion(reals(), bf16, device::to_bf16_rp, Rounding::rp);
  expect_conversion(reals(), bf16, device::to_bf16_rm, Rounding::rm);
  expect_conversion(reals(), f8_e8m0, device::to_e8m0_up);
  expect_conversion(reals(), f8_e8m0, device::to_e8m0_down, Rounding::rm);
  expect_conversion(reals(), f4_e2m1, device::to_e2m1);
  EXPECT_EQ(device::to_e2m1x2(-6.0f, 1.0f), 0x2F);
  expect_conversion(reals(), i8, device::to_i8);
  expect_conversion(reals(), u8, device::to_u8);
  expect_conversion(reals(), i16, device::to_i16);
  expect_conversion(reals(), u16, device::to_u16);
  expect_conversion(reals(), i32, device::to_i32);
  expect_conversion(reals(), u32, device::to_u32);
  expect_conversion(reals(), i64, device::to_i64);
  expect_conversion(reals(), u64, device::to_u64);
}

TEST(Prelude, NearestNumbersOfE2m1AreThoseOfTheirCodes) {
  for (const auto x : reals()) {
    const auto wanted = static_cast<float>(decode(encode(x, f4_e2m1), f4_e2m1));
    ASSERT_EQ(std::bit_cast<uint32_t>(device::nearest_e2m1(x)), std::bit_cast<uint32_t>(wanted))
        << x;
  }
  for (const float x : {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F}) {
    for (const float near : {x, std::nextafter(x, 0.F), std::nextafter(x, 9.F)}) {
      ASSERT_EQ(device::nearest_e2m1(-near), -decode(encode(near, f4_e2m1), f4_e2m1)) << near;
    }
  }
}

TEST(Prelude, PairsOfHalvesBecomeE2m1) {
  const auto expect_codes = [](DType type, auto of_pair, uint32_t six) {
    for (uint32_t x = 0; x < 65536; ++x) {
      const bool is_nan = std::isnan(decode(x, type));
      const uint32_t code = static_cast<uint32_t>(convert_bits(x, type, f4_e2m1));
      const uint32_t wanted = is_nan ? (code & 7U) | (x >> 12 & 8U) : code;  // of its sign
      ASSERT_EQ(of_pair(x << 16 | six), wanted << 4 | 7U) << to_text(type) << " " << x;
      ASSERT_EQ(of_pair(six << 16 | x), 7U << 4 | wanted) << to_text(type) << " " << x;
    }
  };
  expect_codes(bf16, device::to_e2m1x2_of_bf16x2, 0x40C0);
  expect_codes(f16, device::to_e2m1x2_of_f16x2, 0x4600);
}

TEST(Prelude, ConversionsFromF64AgreeWithTheOracle) {
  const std::vector<double> values = doubles();
  // Rounded to odd, then as the hardware rounds an f32.
  const auto through_odd = [](DType to, Rounding rounding = Rounding::rn) {
    return [=](double x) { return encode(device::odd_f64(x), to, rounding); };
  };
  for (const DType to : {f16, bf16, f8_e4m3, f8_e5m2, tf32, f4_e2m1, f8_e8m0}) {
    expect_conversion(values, to, through_odd(to));
  }
  expect_conversion(values, f8_e8m0, through_odd(f8_e8m0, Rounding::rz), Rounding::rz);
  expect_conversion(values, i8, device::i8_of_f64);
  expect_conversion(values, u8, device::u8_of_f64);
  expect_conversion(values, i16, device::i16_of_f64);
  expect_conversion(values, u16, device::u16_of_f64);
  expect_conversion(values, i32, device::i32_of_f64);
  expect_conversion(values, u32, device::u32_of_f64);
  expect_conversion(values, i64, device::i64_of_f64);
  expect_conversion(values, u64, device::u64_of_f64);
}

TEST(Prelude, WholeNumbersRoundOnce) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    // Few bits, then a tie or what is beside one.
    const int shift = static_cast<int>(random() % 56);
    const uint64_t bits = ((random() % 1024 * 2 + 1) << shift) + (random() % 3 - 1);
    for (const DType to : {bf16, tf32}) {
      const auto expect = [&](auto x, float odd) {
        ASSERT_EQ(encode(odd, to), encode(x, to)) << to_text(to) << " of " << x;
      };
      expect(static_cast<int64_t>(bits), device::odd_i64(static_cast<int64_t>(bits)));
      expect(bits, device::odd_u64(bits));
      expect(static_cast<int32_t>(bits), device::odd_i32(static_cast<int32_t>(bits)));
      expect(static_cast<uint32_t>(bits), device::odd_u32(static_cast<uint32_t>(bits)));
    }
    // f16 needs no odd bit.
    ASSERT_EQ(encode(static_cast<float>(bits), f16), encode(bits, f16)) << bits;
  }
}

TEST(Prelude, EveryNarrowFloatIsRead) {
  for (uint64_t bits = 0; bits < 256; ++bits) {
    const float x = device::from_e8m0(static_cast<uint8_t>(bits));
    EXPECT_TRUE(same_value(std::bit_cast<uint32_t>(x), convert_bits(bits, f8_e8m0, f32), f32));
  }
  for (uint64_t bits = 0; bits < 65536; ++bits) {
    const float x = device::from_bf16(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::bit_cast<uint32_t>(x), bits << 16);
  }
}

TEST(Prelude, RandomRoundingAgreesWithTheOracle) {
  std::mt19937 random(4);
  const auto expect = [&](DType to, auto round) {
    int failures = 0;
    for (const float x : reals()) {
      const uint32_t word = random();
      const uint64_t wanted = encode(x, to, Rounding::rs, true, word);
      if (same_value(round(x, word), wanted, to)) continue;
      ADD_FAILURE() << to_text(to) << " of " << x << " with " << word << " is "
                    << int{round(x, word)} << ", must be " << wanted;
      if (++failures == 5) return;
    }
  };
  expect(f16, device::to_f16_rs);
  expect(bf16, device::to_bf16_rs);
  expect(f8_e4m3, device::to_e4m3_rs);
  expect(f8_e5m2, device::to_e5m2_rs);
  expect(f4_e2m1, device::to_e2m1_rs);
}

template <class T, class F>
void expect_function(ir::OpCode code, DType dtype, F f) {
  std::mt19937_64 random(5);
  std::vector<T> values = {0, 1, 2, 3, 7, 8, T(-1), T(-2), T(-7), T(-8)};
  values.push_back(std::numeric_limits<T>::max());
  values.push_back(T(std::numeric_limits<T>::max() - 1));
  values.push_back(std::numeric_limits<T>::min());
  values.push_back(T(std::numeric_limits<T>::min() + 1));
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<T>(random() >> random() % 64));
  const ir::ElementFn wanted = ir::exact_function(code, dtype);
  using U = std::make_unsigned_t<T>;
  for (const T a : values) {
    for (const T b : values) {
      if (b == T(-1) && a == std::numeric_limits<T>::min()) continue;  // overflows
      for (const T c : {T(0), T(1), T(5), T(sizeof(T) * 8 - 1)}) {
        ASSERT_EQ(static_cast<U>(f(a, b, c)), static_cast<U>(wanted(U(a), U(b), U(c))))
            << ir::op_row(code).name << " of " << to_text(dtype) << ": " << int64_t(a) << ", "
            << int64_t(b) << ", " << int64_t(c);
      }
    }
  }
}
#define TW_BINARY(T, code, dtype, function) \
  expect_function<T>(ir::OpCode::code, dtype, [](T a, T b, T) { return device::function(a, b); })

TEST(Prelude, IntegerFunctionsAgreeWithTheOracle) {
  TW_BINARY(int32_t, floordiv, i32, floordiv);
  TW_BINARY(int32_t, floormod, i32, floormod);
  TW_BINARY(int32_t, truncdiv, i32, truncdiv);
  TW_BINARY(int32_t, truncmod, i32, truncmod);
  TW_BINARY(uint8_t, truncmod, u8, truncmod);
  TW_BINARY(int32_t, add_sat, i32, add_sat_i32);
  TW_BINARY(int32_t, sub_sat, i32, sub_sat_i32);
  TW_BINARY(int64_t, add_sat, i64, add_sat_i64);
  TW_BINARY(int64_t, sub_sat, i64, sub_sat_i64);
  TW_BINARY(uint8_t, add_sat, u8, add_sat_unsigned);
  TW_BINARY(uint8_t, sub_sat, u8, sub_sat_unsigned);
  TW_BINARY(uint64_t, add_sat, u64, add_sat_unsigned);
  TW_BINARY(uint64_t, sub_sat, u64, sub_sat_unsigned);
  TW_BINARY(uint64_t, nth_set, u64, nth_set);
  const auto wide = [](int64_t a) { return static_cast<long long>(a); };
  expect_function<int64_t>(ir::OpCode::floordiv, i64, [=](int64_t a, int64_t b, int64_t) {
    return device::floordiv(wide(a), wide(b));
  });
  expect_function<int64_t>(ir::OpCode::floormod, i64, [=](int64_t a, int64_t b, int64_t) {
    return device::floormod(wide(a), wide(b));
  });
  expect_function<uint16_t>(ir::OpCode::funnel_shl, u16, [](uint16_t a, uint16_t b, uint16_t c) {
    return device::funnel_shl(a, b, c & 15u);
  });
  expect_function<uint64_t>(ir::OpCode::funnel_shr, u64, [](uint64_t a, uint64_t b, uint64_t c) {
    return device::funnel_shr(a, b, c & 63u);
  });
}

TEST(Prelude, AnIndexOf32BitsIsDividedByAnySize) {
  const ir::ElementFn wanted = ir::exact_function(ir::OpCode::truncdiv, i64);
  for (const uint32_t a : {0U, 1U, 7U, 1000U, 0x7fffffffU, 0xffffffffU}) {
    for (const long long b : {0LL, 1LL, -1LL, 3LL, -3LL, 1000LL, 0x7fffffffLL, 0xffffffffLL,
                              0x100000000LL, -0x100000001LL, LLONG_MAX, LLONG_MIN}) {
      EXPECT_EQ(static_cast<uint64_t>(device::divide_index(a, b)),
                wanted(a, static_cast<uint64_t>(b), 0))
          << a << " / " << b;
    }
  }
}

TEST(Prelude, ATextGetsWhatItMentions) {
  EXPECT_EQ(prelude_for("x = y;"), "");
  const std::string text = prelude_for("y = to_bf16(x);  // not to_f16");
  EXPECT_THAT(text, HasSubstr("bf16 to_bf16(f32 x)"));
  EXPECT_THAT(text, HasSubstr("typedef unsigned short bf16;"));
  EXPECT_THAT(text, Not(HasSubstr("f16 to_f16(")));
  EXPECT_LT(text.find("typedef"), text.find("to_bf16("));
}

TEST(Prelude, WhatASnippetUsesComesFirst) {
  const std::string text = prelude_for("to_bf16_rp");
  EXPECT_LT(text.find(" bits_of("), text.find(" bf16_toward("));
  EXPECT_LT(text.find(" bf16_toward("), text.find(" to_bf16_rp("));
}

}  // namespace
}  // namespace tw::cuda
