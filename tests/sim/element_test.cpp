// The element operations, by their laws on all small inputs.
#include "tilewright/sim/element.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tilewright/base/convert.h"

namespace tw::sim {
namespace {

using ir::OpCode;
using ir::ReduceKind;

Bits call(OpCode code, DType dtype, Bits a, Bits b = 0, Bits c = 0) {
  const ElementFn function = element_function(code, dtype);
  TW_CHECK(function != nullptr, "{} of {}", ir::op_row(code).name, dtype);
  return function(a, b, c);
}

/// Calls f(a, b) with all pairs of bytes.
template <class F>
void for_all_bytes(F f) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) f(static_cast<Bits>(a), static_cast<Bits>(b));
  }
}
int as_i8(Bits bits) { return static_cast<int8_t>(bits); }

TEST(Element, EveryOperationIsDefinedForTheTypesOfItsClass) {
#define TW_LIST(name, operands, op_class) OpCode::name,
  for (const OpCode code : {TW_OPS(TW_LIST)}) {
#undef TW_LIST
    for (const DType dtype : all_dtypes()) {
      const bool arithmetic_float = dtype.has_float_arithmetic();
      const bool wanted = [&] {
        switch (ir::op_row(code).op_class) {
          case ir::OpClass::arithmetic:
            return dtype.is_int() || arithmetic_float;
          case ir::OpClass::float_math:
          case ir::OpClass::test:
            return arithmetic_float;
          case ir::OpClass::integer:
            return dtype.is_int() && (code != OpCode::byte_permute || dtype.bits() == 32);
          case ir::OpClass::compare:
            return dtype.is_bool() || dtype.is_int() || arithmetic_float;
          case ir::OpClass::logic:
            return dtype.is_bool();
          case ir::OpClass::dot:
            return dtype == (code == OpCode::dot2_bf16 ? f32 : i32);
          default:
            return true;
        }
      }();
      if (wanted) {
        EXPECT_NE(element_function(code, dtype), nullptr)
            << ir::op_row(code).name << " " << to_text(dtype);
      }
    }
  }
}

TEST(Element, IntegersWrap) {
  for_all_bytes([](Bits a, Bits b) {
    for (const DType dtype : {i8, u8}) {
      ASSERT_EQ(call(OpCode::add, dtype, a, b), (a + b) & 255);
      ASSERT_EQ(call(OpCode::sub, dtype, a, b), (a - b) & 255);
      ASSERT_EQ(call(OpCode::mul, dtype, a, b), (a * b) & 255);
    }
  });
  EXPECT_EQ(call(OpCode::neg, i8, 0x80), 0x80U);
  EXPECT_EQ(call(OpCode::abs, i8, 0x80), 0x80U);
  EXPECT_EQ(call(OpCode::abs, u8, 0x80), 0x80U);
}

TEST(Element, DivisionsRoundDownOrTowardZero) {
  for_all_bytes([](Bits a, Bits b) {
    if (b == 0) return;
    const int x = as_i8(a), y = as_i8(b), quotient = static_cast<int>(std::floor(double(x) / y));
    ASSERT_EQ(as_i8(call(OpCode::floordiv, i8, a, b)), as_i8(static_cast<Bits>(quotient)));
    ASSERT_EQ(as_i8(call(OpCode::truncdiv, i8, a, b)), as_i8(static_cast<Bits>(x / y)));
    ASSERT_EQ(as_i8(call(OpCode::truncmod, i8, a, b)), x % y);
    ASSERT_EQ(as_i8(call(OpCode::floormod, i8, a, b)), x - y * quotient);
    ASSERT_EQ(call(OpCode::floordiv, u8, a, b), a / b);
    ASSERT_EQ(call(OpCode::floormod, u8, a, b), a % b);
  });
  for (const OpCode code :
       {OpCode::floordiv, OpCode::floormod, OpCode::truncdiv, OpCode::truncmod}) {
    EXPECT_EQ(call(code, i64, 5, 0), 0U);
  }
  const auto lowest = static_cast<Bits>(INT64_MIN);
  EXPECT_EQ(call(OpCode::floordiv, i64, lowest, ~Bits{0}), lowest);
  EXPECT_EQ(call(OpCode::floormod, i64, lowest, ~Bits{0}), 0U);
}

TEST(Element, HighProductsAndSaturation) {
  for_all_bytes([](Bits a, Bits b) {
    const auto clamp = [](int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; };
    const int x = as_i8(a), y = as_i8(b), ua = static_cast<int>(a), ub = static_cast<int>(b);
    ASSERT_EQ(as_i8(call(OpCode::mul_high, i8, a, b)), (x * y) >> 8);
    ASSERT_EQ(call(OpCode::mul_high, u8, a, b), (a * b) >> 8);
    ASSERT_EQ(as_i8(call(OpCode::add_sat, i8, a, b)), clamp(x + y, -128, 127));
    ASSERT_EQ(as_i8(call(OpCode::sub_sat, i8, a, b)), clamp(x - y, -128, 127));
    ASSERT_EQ(static_cast<int>(call(OpCode::add_sat, u8, a, b)), clamp(ua + ub, 0, 255));
    ASSERT_EQ(static_cast<int>(call(OpCode::sub_sat, u8, a, b)), clamp(ua - ub, 0, 255));
  });
  EXPECT_EQ(call(OpCode::mul_high, u64, ~Bits{0}, ~Bits{0}), ~Bits{0} - 1);
  EXPECT_EQ(call(OpCode::mul_high, i64, ~Bits{0}, ~Bits{0}), 0U);
}

TEST(Element, BitOperations) {
  for (Bits a = 0; a < 256; ++a) {
    const auto byte = static_cast<uint8_t>(a);
    ASSERT_EQ(call(OpCode::clz, u8, a), static_cast<Bits>(std::countl_zero(byte)));
    ASSERT_EQ(call(OpCode::ctz, i8, a), static_cast<Bits>(std::countr_zero(byte)));
    ASSERT_EQ(call(OpCode::popcount, i8, a), static_cast<Bits>(std::popcount(byte)));
    ASSERT_EQ(call(OpCode::ffs, u8, a),
              a == 0 ? 0U : static_cast<Bits>(std::countr_zero(byte)) + 1);
    ASSERT_EQ(call(OpCode::bit_not, i8, a), 255 - a);
    ASSERT_EQ(call(OpCode::bit_reverse, u8, call(OpCode::bit_reverse, u8, a)), a);
    for (Bits n = 0; n < 8; ++n) {
      ASSERT_EQ(call(OpCode::shl, i8, a, n), (a << n) & 255);
      ASSERT_EQ(call(OpCode::shr, u8, a, n), a >> n);
      ASSERT_EQ(as_i8(call(OpCode::shr, i8, a, n)), as_i8(a) >> n);
      const int position = as_i8(call(OpCode::nth_set, i8, a, n));
      const auto below =
          static_cast<Bits>(position < 0 ? 0 : std::popcount(a & ((1U << position) - 1)));
      ASSERT_EQ(position >= 0, n < static_cast<Bits>(std::popcount(byte)));
      ASSERT_TRUE(position < 0 || (below == n && ((a >> position) & 1) == 1)) << a << " " << n;
    }
  }
  EXPECT_EQ(call(OpCode::bit_reverse, u8, 0b00010011), 0b11001000U);
  EXPECT_EQ(call(OpCode::byte_permute, u32, 0x33221100, 0x77665544, 0x7410), 0x77441100U);
  EXPECT_EQ(call(OpCode::byte_permute, u32, 0x00008000, 0, 0x9999), 0xFFFFFFFFU);
  EXPECT_EQ(call(OpCode::funnel_shl, u32, 0x80000001, 0x00000002, 1), 0x00000005U);
  EXPECT_EQ(call(OpCode::funnel_shr, u32, 0x80000001, 0x00000003, 1), 0xC0000000U);
}

TEST(Element, MinAndMaxReturnTheNumberBesideANan) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Bits nan = encode(std::nan(""), dtype), one = encode(1.0, dtype),
               two = encode(2.0, dtype);
    for (const OpCode code : {OpCode::min, OpCode::max}) {
      EXPECT_EQ(call(code, dtype, nan, one), one);
      EXPECT_EQ(call(code, dtype, one, nan), one);
      EXPECT_TRUE(is_nan(call(code, dtype, nan, nan), dtype));
    }
    for (const OpCode code : {OpCode::min_nan, OpCode::max_nan}) {
      EXPECT_TRUE(is_nan(call(code, dtype, nan, one), dtype));
      EXPECT_TRUE(is_nan(call(code, dtype, one, nan), dtype));
    }
    EXPECT_EQ(call(OpCode::min, dtype, one, two), one);
    EXPECT_EQ(call(OpCode::min_nan, dtype, two, one), one);
    EXPECT_EQ(call(OpCode::max, dtype, one, two), two);
    EXPECT_EQ(call(OpCode::max_nan, dtype, two, one), two);
  }
}

// What f32 gives for two 16-bit operands, rounded to 16 bits, is the exact result rounded once:
// 24 bits of precision are at least 2 * 11 + 2 (Figueroa, When is double rounding innocuous?).
TEST(Element, SixteenBitArithmeticRoundsTheExactResultOnce) {
  std::mt19937 random(1);
  for (const DType dtype : {f16, bf16}) {
    for (int i = 0; i < 20000; ++i) {
      const Bits a = random() & 0xFFFF, b = random() & 0xFFFF;
      const double x = decode(a, dtype), y = decode(b, dtype);
      ASSERT_TRUE(same_value(call(OpCode::mul, dtype, a, b), encode(x * y, dtype), dtype))
          << x << " * " << y;
      ASSERT_TRUE(same_value(call(OpCode::fdiv, dtype, a, b), encode(x / y, dtype), dtype))
          << x << " / " << y;
      ASSERT_TRUE(same_value(call(OpCode::sqrt, dtype, a), encode(std::sqrt(x), dtype), dtype))
          << x;
      if (std::fabs(std::log2(std::fabs(x / y))) > 40) continue;  // their sum isn't exact in f64
      ASSERT_TRUE(same_value(call(OpCode::add, dtype, a, b), encode(x + y, dtype), dtype))
          << x << " + " << y;
    }
  }
}

TEST(Element, IeeeOperationsRoundAsTold) {
  std::mt19937 random(2);
  for (int i = 0; i < 5000; ++i) {
    // Products and sums of these are exact in f64.
    const auto x = static_cast<float>(static_cast<int32_t>(random())),
               y = static_cast<float>(static_cast<int32_t>(random())) + 0.5F;
    for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rp, Rounding::rm}) {
      const auto with = [&](OpCode code) {
        return element_function(code, f32, ir::Exactness::ieee, rounding)(encode(x, f32),
                                                                          encode(y, f32), 0);
      };
      const auto rounded = [&](double exact) {
        return convert_bits(encode(exact, f64), f64, f32, rounding);
      };
      ASSERT_EQ(with(OpCode::add), rounded(static_cast<double>(x) + y));
      ASSERT_EQ(with(OpCode::mul), rounded(static_cast<double>(x) * y));
      ASSERT_EQ(decode(with(OpCode::sub), f32), decode(rounded(static_cast<double>(x) - y), f32));
    }
  }
  const auto third = [](Rounding rounding) {
    return element_function(OpCode::rcp, f32, ir::Exactness::ieee, rounding)(encode(3.0, f32), 0,
                                                                             0);
  };
  EXPECT_EQ(third(Rounding::rp), third(Rounding::rz) + 1);
  EXPECT_EQ(third(Rounding::rm), third(Rounding::rz));
}

TEST(Element, RoundingFunctions) {
  struct Row {
    double x, floor, ceil, trunc, round, rint;
  };
  for (const Row& row : {Row{2.5, 2, 3, 2, 3, 2}, Row{-2.5, -3, -2, -2, -3, -2},
                         Row{3.5, 3, 4, 3, 4, 4}, Row{-0.25, -1, -0.0, -0.0, -0.0, -0.0}}) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const auto is = [&](OpCode code, double wanted) {
        EXPECT_EQ(call(code, dtype, encode(row.x, dtype)), encode(wanted, dtype))
            << ir::op_row(code).name << " of " << row.x;
      };
      is(OpCode::floor, row.floor);
      is(OpCode::ceil, row.ceil);
      is(OpCode::trunc, row.trunc);
      is(OpCode::round, row.round);
      is(OpCode::rint, row.rint);
    }
  }
}

TEST(Element, SignOperationsWorkOnTheBit) {
  for (const DType dtype : {f16, bf16, f32, tf32, f64}) {
    const Bits minus_zero = encode(-0.0, dtype), two = encode(2.0, dtype),
               minus_two = encode(-2.0, dtype);
    EXPECT_EQ(call(OpCode::neg, dtype, encode(0.0, dtype)), minus_zero);
    EXPECT_EQ(call(OpCode::abs, dtype, minus_two), two);
    EXPECT_EQ(call(OpCode::copysign, dtype, two, minus_zero), minus_two);
    EXPECT_EQ(call(OpCode::signbit, dtype, minus_zero), 1U);
    EXPECT_EQ(call(OpCode::signbit, dtype, two), 0U);
  }
}

TEST(Element, ComparisonsWithNanAreFalseButForNotEqual) {
  const Bits nan = encode(std::nan(""), f32), one = encode(1.0, f32);
  for (const OpCode code : {OpCode::eq, OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge}) {
    EXPECT_EQ(call(code, f32, nan, one), 0U);
    EXPECT_EQ(call(code, f32, nan, nan), 0U);
  }
  EXPECT_EQ(call(OpCode::ne, f32, nan, nan), 1U);
  EXPECT_EQ(call(OpCode::eq, f32, encode(-0.0, f32), encode(0.0, f32)), 1U);
  EXPECT_EQ(call(OpCode::lt, i8, 0xFF, 0), 1U);
  EXPECT_EQ(call(OpCode::lt, u8, 0xFF, 0), 0U);
}

// Each function against the C library's: wrong names in the table would be far off.
TEST(Element, MathematicalFunctionsAreTheOnesTheyAreNamedAfter) {
  struct Row {
    OpCode code;
    double (*wanted)(double);
    double x;
  };
  const Row rows[] = {
      {OpCode::exp, std::exp, 1.7},     {OpCode::exp2, std::exp2, 1.7},
      {OpCode::expm1, std::expm1, 0.1}, {OpCode::log, std::log, 3.3},
      {OpCode::log2, std::log2, 3.3},   {OpCode::log10, std::log10, 3.3},
      {OpCode::log1p, std::log1p, 0.3}, {OpCode::cbrt, std::cbrt, 9.1},
      {OpCode::sin, std::sin, 2.2},     {OpCode::cos, std::cos, 2.2},
      {OpCode::tan, std::tan, 1.1},     {OpCode::asin, std::asin, 0.4},
      {OpCode::acos, std::acos, 0.4},   {OpCode::atan, std::atan, 3.0},
      {OpCode::sinh, std::sinh, 1.3},   {OpCode::cosh, std::cosh, 1.3},
      {OpCode::tanh, std::tanh, 0.9},   {OpCode::asinh, std::asinh, 0.9},
      {OpCode::acosh, std::acosh, 1.9}, {OpCode::atanh, std::atanh, 0.6},
      {OpCode::erf, std::erf, 0.7},     {OpCode::erfc, std::erfc, 0.7},
      {OpCode::sqrt, std::sqrt, 2.0},
  };
  for (const Row& row : rows) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const double x = decode(encode(row.x, dtype), dtype), wanted = row.wanted(x);
      const double unit = dtype == f64   ? 0x1p-52
                          : dtype == f32 ? 0x1p-23
                          : dtype == f16 ? 0x1p-10
                                         : 0x1p-7;
      EXPECT_NEAR(decode(call(row.code, dtype, encode(x, dtype)), dtype), wanted,
                  2 * unit * std::fabs(wanted))
          << ir::op_row(row.code).name << " of " << to_text(dtype);
    }
  }
  const auto binary = [](OpCode code, double x, double y) {
    return decode(call(code, f64, encode(x, f64), encode(y, f64)), f64);
  };
  EXPECT_NEAR(binary(OpCode::pow, 2.5, 1.5), std::pow(2.5, 1.5), 1e-15);
  EXPECT_NEAR(binary(OpCode::hypot, 3, 4), 5, 1e-15);
  EXPECT_NEAR(binary(OpCode::atan2, 1, -2), std::atan2(1, -2), 1e-15);
  EXPECT_EQ(binary(OpCode::fmod, -7.5, 2), -1.5);
  EXPECT_NEAR(decode(call(OpCode::exp10, f64, encode(1.5, f64)), f64), std::pow(10, 1.5), 1e-13);
  EXPECT_EQ(decode(call(OpCode::rsqrt, f32, encode(4.0, f32)), f32), 0.5);
  EXPECT_EQ(decode(call(OpCode::rcp, f32, encode(4.0, f32)), f32), 0.25);
}

TEST(Element, TheIdentityOfAFoldChangesNothing) {
  std::mt19937 random(3);
  for (int k = 0; k <= static_cast<int>(ReduceKind::all); ++k) {
    const auto kind = static_cast<ReduceKind>(k);
    const bool magnitude = kind == ReduceKind::abs_sum || kind == ReduceKind::abs_max;
    for (const DType dtype : {bool_, i8, i32, i64, u8, u32, u64, f16, bf16, f32, f64}) {
      const ElementFn fold = reduction_step(kind, dtype, true);
      if (fold == nullptr ||
          (!dtype.is_bool() && (kind == ReduceKind::any || kind == ReduceKind::all)))
        continue;
      for (int i = 0; i < 200; ++i) {
        Bits x = random() | (static_cast<Bits>(random()) << 32);
        x = dtype.is_bool() ? x & 1 : x >> (64 - dtype.bits());
        if (magnitude && !dtype.is_bool()) x = call(OpCode::abs, dtype, x);
        if (magnitude && dtype.is_signed_int() && decode_int(x, dtype) < 0) continue;  // the lowest
        EXPECT_TRUE(same_value(fold(reduction_identity(kind, dtype), x, 0), x, dtype) ||
                    decode(x, dtype) == 0)
            << ir::enum_name(kind) << " " << to_text(dtype) << " " << x;
      }
    }
  }
}

TEST(Element, OverflowIsWhatLeavesTheType) {
  for_all_bytes([](Bits a, Bits b) {
    const int x = as_i8(a), y = as_i8(b);
    const auto outside = [](int value) { return value < -128 || value > 127; };
    ASSERT_EQ(overflows(OpCode::add, i8, a, b), outside(x + y));
    ASSERT_EQ(overflows(OpCode::sub, i8, a, b), outside(x - y));
    ASSERT_EQ(overflows(OpCode::mul, i8, a, b), outside(x * y));
  });
  EXPECT_TRUE(overflows(OpCode::neg, i8, 0x80, 0));
  EXPECT_TRUE(overflows(OpCode::floordiv, i64, static_cast<Bits>(INT64_MIN), ~Bits{0}));
  EXPECT_FALSE(overflows(OpCode::bit_and, i8, 0x80, 0x80));
}

TEST(Element, InverseHyperbolicFunctionsReachTheEndOfTheRange) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr float kLargestF32 = std::numeric_limits<float>::max();
  const auto of_f64 = [](OpCode code, double x) {
    return decode(call(code, f64, encode(x, f64)), f64);
  };
  const auto of_f32 = [](OpCode code, float x) {
    return decode(call(code, f32, encode(x, f32)), f32);
  };
  for (const double x : {0x1p499, 0x1p501, 0x1p1000, kLargest}) {
    EXPECT_DOUBLE_EQ(of_f64(OpCode::asinh, x), std::asinh(x));
    EXPECT_DOUBLE_EQ(of_f64(OpCode::asinh, -x), -std::asinh(x));
    EXPECT_DOUBLE_EQ(of_f64(OpCode::acosh, x), std::acosh(x));
    EXPECT_DOUBLE_EQ(of_f64(OpCode::log1p, x), std::log1p(x));
  }
  for (const float x : {0x1p59F, 0x1p61F, 0x1p126F, kLargestF32}) {
    EXPECT_FLOAT_EQ(static_cast<float>(of_f32(OpCode::asinh, -x)), -std::asinh(x));
    EXPECT_FLOAT_EQ(static_cast<float>(of_f32(OpCode::acosh, x)), std::acosh(x));
    EXPECT_FLOAT_EQ(static_cast<float>(of_f32(OpCode::log1p, x)), std::log1p(x));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of_f64(OpCode::asinh, -kInfinity), -kInfinity);
  EXPECT_EQ(of_f64(OpCode::log1p, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(of_f64(OpCode::acosh, -kLargest)));
  EXPECT_TRUE(std::isnan(of_f64(OpCode::log1p, -kLargest)));
}

}  // namespace
}  // namespace tw::sim
