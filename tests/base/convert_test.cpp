// Conversions against independent definitions: the representable values of a format are
// listed from its definition, and the result is found among them by search, in long double
// (64 bits of mantissa).
#include "tilewright/base/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tilewright/base/codes.h"

namespace tw {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);

// The magnitudes of a float format in order, one beyond the largest finite value,
// by its definition.
struct Grid {
  std::vector<long double> values;  // index = code of the magnitude
  int sign_bit = 0, padding = 0;

  uint64_t finite_codes() const { return values.size() - 1; }
};

const Grid& grid_of(DType dtype) {
  struct Definition {
    int exponent_bits, mantissa_bits, bias;
    long double largest;
    int padding = 0;
  };
  static const std::map<Scalar, Definition> kDefinitions = {
      {Scalar::f16, {5, 10, 15, 65504}},
      {Scalar::bf16, {8, 7, 127, 0x1.fep127L}},
      {Scalar::tf32, {8, 10, 127, 0x1.ffcp127L, 13}},
      {Scalar::e4m3, {4, 3, 7, 448}},
      {Scalar::e5m2, {5, 2, 15, 57344}},
      {Scalar::e2m1, {2, 1, 1, 6}},
  };
  static std::map<Scalar, Grid> grids;
  Grid& grid = grids[dtype.scalar];
  if (!grid.values.empty()) return grid;
  const Definition d = kDefinitions.at(dtype.scalar);
  grid.sign_bit = d.exponent_bits + d.mantissa_bits;
  grid.padding = d.padding;
  for (int code = 0; grid.values.empty() || grid.values.back() <= d.largest; ++code) {
    const int exponent = code >> d.mantissa_bits;
    const long double fraction =
        std::ldexp(static_cast<long double>(code & ((1 << d.mantissa_bits) - 1)), -d.mantissa_bits);
    grid.values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - d.bias)
                                        : std::ldexp(1 + fraction, exponent - d.bias));
  }
  return grid;
}

// The value of a source, by means of C++ where it has the type.
long double value_of(uint64_t bits, DType dtype) {
  switch (dtype.scalar) {
    case Scalar::boolean:
    case Scalar::u8:
    case Scalar::u16:
    case Scalar::u32:
    case Scalar::u64:
      return bits;
    case Scalar::i8:
      return static_cast<int8_t>(bits);
    case Scalar::i16:
      return static_cast<int16_t>(bits);
    case Scalar::i32:
      return static_cast<int32_t>(bits);
    case Scalar::i64:
      return static_cast<int64_t>(bits);
    case Scalar::f64:
      return std::bit_cast<double>(bits);
    case Scalar::f32:
    case Scalar::tf32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Scalar::e8m0:
      return bits == 0xFF ? NAN : std::ldexp(1.0L, static_cast<int>(bits) - 127);
    default:
      break;
  }
  const Grid& grid = grid_of(dtype);
  const uint64_t magnitude = bits & ((uint64_t{1} << grid.sign_bit) - 1);
  const long double sign = (bits >> grid.sign_bit & 1) != 0 ? -1 : 1;
  if (magnitude < grid.finite_codes()) return sign * grid.values[magnitude];
  const bool infinite = dtype.scalar != Scalar::e4m3 && magnitude == grid.finite_codes();
  return infinite ? sign * INFINITY : NAN;
}

struct Mode {
  Rounding rounding = Rounding::rn;
  bool saturate = true;
  uint32_t random = 0;
};

uint64_t nan_of(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::f64:
      return 0x7FFFFFFFFFFFFFFF;
    case Scalar::f32:
    case Scalar::tf32:
      return 0x7FFFFFFF;
    case Scalar::f16:
    case Scalar::bf16:
      return 0x7FFF;
    case Scalar::e8m0:
      return 0xFF;
    default:
      return dtype == f4_e2m1 ? 0x7 : 0x7F;
  }
}

// To a format with a grid: the neighbors of |x| by search, and one of them by
// the mode's definition.
uint64_t expected_small_float(long double x, DType to, Mode mode) {
  const Grid& grid = grid_of(to);
  const bool negative = std::signbit(x);
  const long double magnitude = std::fabs(x);
  uint64_t code = grid.finite_codes();  // overflow
  if (magnitude < grid.values.back()) {
    const auto above = std::upper_bound(grid.values.begin(), grid.values.end(), magnitude);
    code = above - grid.values.begin() - 1;
    const long double fraction = (magnitude - grid.values[code]) / (*above - grid.values[code]);
    const bool away = mode.rounding == (negative ? Rounding::rm : Rounding::rp);
    const bool up =
        mode.rounding == Rounding::rn   ? fraction > 0.5L || (fraction == 0.5L && code % 2 == 1)
        : mode.rounding == Rounding::rs ? std::floor(fraction * 65536) + mode.random >= 65536
                                        : away && fraction > 0;
    code += up ? 1 : 0;
  } else if (mode.rounding != Rounding::rn && !std::isinf(x)) {
    // A directed mode overflows only away from zero; the stochastic one never does.
    if (mode.rounding != (negative ? Rounding::rm : Rounding::rp)) code -= 1;
  }
  const bool saturates = mode.rounding == Rounding::rs || to == f4_e2m1 ||
                         (mode.saturate && (to == f8_e4m3 || to == f8_e5m2));
  if (saturates) code = std::min(code, grid.finite_codes() - 1);
  // One beyond the largest finite value is infinity's code, or e4m3's NaN.
  return (uint64_t{negative} << grid.sign_bit | code) << grid.padding;
}

uint64_t expected_e8m0(long double x, Rounding rounding) {
  if (std::isinf(x) && x > 0) return 0xFE;
  const bool up = rounding == Rounding::rn || rounding == Rounding::rp;
  // The first power of two that is not below x, or the last that is not above.
  static const std::vector<long double> kPowers = [] {
    std::vector<long double> powers;
    for (int exponent = -127; exponent <= 128; ++exponent) {
      powers.push_back(std::ldexp(1.0L, exponent));
    }
    return powers;
  }();
  for (int code = 0; code < 0xFF; ++code) {
    if (up ? kPowers[code] >= x : kPowers[code + 1] > x) return code;
  }
  return 0xFE;
}

uint64_t expected_int(long double x, DType to) {
  const int bits = to.bits();
  const long double highest = std::ldexp(1.0L, to.is_signed_int() ? bits - 1 : bits) - 1;
  const long double lowest = to.is_signed_int() ? -std::ldexp(1.0L, bits - 1) : 0;
  const long double whole = std::isnan(x) ? 0 : std::clamp(std::trunc(x), lowest, highest);
  const uint64_t pattern =
      whole < 0 ? static_cast<uint64_t>(static_cast<int64_t>(whole)) : static_cast<uint64_t>(whole);
  return bits == 64 ? pattern : pattern & ((uint64_t{1} << bits) - 1);
}

uint64_t expected(uint64_t bits, DType from, DType to, Mode mode) {
  const long double x = value_of(bits, from);
  if (from == to) return bits;
  if (to.is_bool()) return std::isnan(x) || x != 0;
  if (to.is_int() && from.is_int()) {
    const auto wide =
        x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
    return to.bits() == 64 ? wide : wide % (uint64_t{1} << to.bits());
  }
  if (to.is_int()) return expected_int(x, to);
  if (std::isnan(x)) return nan_of(to);
  if (to == f8_e8m0) return expected_e8m0(x, mode.rounding);
  if (to == f64) return std::bit_cast<uint64_t>(static_cast<double>(x));
  if (to == f32) return std::bit_cast<uint32_t>(static_cast<float>(x));
  return expected_small_float(x, to, mode);
}

// Bit patterns of a source: all of them up to 16 bits; above, where rounding and ranges
// decide, and random.
void add_neighborhood(std::set<uint64_t>& patterns, DType from, long double x) {
  if (from == f64) {
    const auto v = static_cast<double>(x);
    for (const double y : {v, std::nextafter(v, -INFINITY), std::nextafter(v, INFINITY)}) {
      patterns.insert({std::bit_cast<uint64_t>(y), std::bit_cast<uint64_t>(-y)});
    }
  } else {
    const auto v = static_cast<float>(x);
    for (const float y : {v, std::nextafterf(v, -INFINITY), std::nextafterf(v, INFINITY)}) {
      patterns.insert({std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(-y)});
    }
  }
}

std::vector<uint64_t> make_patterns(DType from) {
  const int bits = from.bits();
  std::set<uint64_t> patterns;
  if (from.is_bool()) return {0, 1};
  if (bits <= 16) {
    for (uint64_t p = 0; p < uint64_t{1} << bits; ++p) patterns.insert(p);
    return {patterns.begin(), patterns.end()};
  }
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) patterns.insert(random() & mask);
  if (from.is_int()) {
    for (const int mantissa : {1, 8, 11, 24, 53}) {  // values, and midpoints, of that many bits
      for (int shift = 0; shift < 64; ++shift) {
        for (uint64_t low = 0; low < 8; ++low) {
          for (uint64_t d = 0; d < 5; ++d) {
            const uint64_t x = (((uint64_t{2} << mantissa) - low) << shift) + d - 2;
            patterns.insert({x & mask, (0 - x) & mask});
          }
        }
      }
    }
    return {patterns.begin(), patterns.end()};
  }
  for (const DType to : {f16, bf16, tf32, f8_e4m3, f8_e5m2, f4_e2m1}) {
    const std::vector<long double>& values = grid_of(to).values;
    const size_t step = to == tf32 ? 37 : to.bits() == 16 ? 5 : 1;
    const auto add = [&](size_t i) {
      add_neighborhood(patterns, from, values[i]);
      add_neighborhood(patterns, from, (values[i] + values[i + 1]) / 2);
    };
    for (size_t i = 0; i + 1 < values.size(); i += step) add(i);
    for (size_t i = 1; i < 6; ++i) add(values.size() - 1 - i);
    add_neighborhood(patterns, from, values.back());
  }
  for (int exponent = -160; exponent <= 130; ++exponent) {  // integers, powers of two
    for (const long double x : {1.0L, 1.5L}) {
      add_neighborhood(patterns, from, std::ldexp(x, exponent));
      add_neighborhood(patterns, from, std::ldexp(1.0L, exponent) - 1);
    }
  }
  if (from == f64) {  // values and midpoints of f32
    for (int i = 0; i < 20000; ++i) {
      const auto x = std::bit_cast<float>(static_cast<uint32_t>(random()));
      if (!std::isfinite(x)) continue;
      const auto next = static_cast<long double>(std::nextafterf(x, INFINITY));
      add_neighborhood(patterns, from, x);
      if (std::isfinite(next)) add_neighborhood(patterns, from, (x + next) / 2);
    }
    add_neighborhood(patterns, from, 0x1.ffffffp127L);
    for (const uint64_t p : {0x7FF0000000000000u, 0xFFF0000000000000u, 0x7FF0000000000001u}) {
      patterns.insert(p);
    }
  } else {
    patterns.insert({0x7F800000u, 0xFF800000u, 0x7F800001u, 0xFFC00000u});
  }
  return {patterns.begin(), patterns.end()};
}

const std::vector<uint64_t>& patterns_of(DType from) {
  static std::map<Scalar, std::vector<uint64_t>> lists;
  std::vector<uint64_t>& list = lists[from.scalar];
  if (list.empty()) list = make_patterns(from);
  return list;
}

void check_pair(DType from, DType to, Mode mode) {
  for (const uint64_t bits : patterns_of(from)) {
    const uint64_t want = expected(bits, from, to, mode);
    const uint64_t got = convert_bits(bits, from, to, mode.rounding, mode.saturate, mode.random);
    ASSERT_EQ(got, want) << std::hex << "bits 0x" << bits << " of " << to_text(from) << " to "
                         << to_text(to) << " " << to_text(mode.rounding) << " saturate "
                         << mode.saturate << " random 0x" << mode.random;
  }
}

TEST(Convert, EveryLegalPairRoundsOnceFromTheExactValue) {
  for (const DType from : all_dtypes()) {
    for (const DType to : all_dtypes()) {
      if (cast_error(from, to) == Code{}) check_pair(from, to, {});
    }
  }
}

TEST(Convert, EveryLegalModeFollowsItsDefinition) {
  int modes = 0;
  for (const DType from : all_dtypes()) {
    for (const DType to : all_dtypes()) {
      for (const Rounding rounding : {Rounding::rz, Rounding::rp, Rounding::rm}) {
        if (cast_error(from, to, rounding) != Code{}) continue;
        check_pair(from, to, {rounding});
        ++modes;
      }
      if (cast_error(from, to, Rounding::rn, false) == Code{}) {
        check_pair(from, to, {Rounding::rn, false});
        ++modes;
      }
      if (cast_error(from, to, Rounding::rs, true, true) != Code{}) continue;
      for (const uint32_t random : {0x0u, 0x1u, 0x1234u, 0x7FFFu, 0x8000u, 0xFFFFu}) {
        check_pair(from, to, {Rounding::rs, true, random});
      }
      ++modes;
    }
  }
  // 3 modes for f32 to f16 and bf16 and for 5 floats to e8m0; 2 fp8 from 5 floats; 5 stochastic.
  EXPECT_EQ(modes, 3 * (2 + 5) + 2 * 5 + 5);
}

TEST(Convert, ChecksOfTheSpecification) {
  const auto e4m3 = [](double x) { return encode(x, f8_e4m3); };
  EXPECT_EQ(e4m3(0x1p-10), 0x00u);
  EXPECT_EQ(e4m3(1.01 * 0x1p-10), 0x01u);
  EXPECT_EQ(e4m3(3 * 0x1p-10), 0x02u);
  EXPECT_EQ(e4m3(17), 0x58u);
  EXPECT_EQ(e4m3(19), 0x5Au);
  EXPECT_EQ(e4m3(464), 0x7Eu);
  EXPECT_EQ(e4m3(-500), 0xFEu);
  EXPECT_EQ(e4m3(-0.0), 0x80u);
  EXPECT_EQ(encode(464.0, f8_e4m3, Rounding::rn, false), 0x7Eu);
  EXPECT_EQ(encode(465.0, f8_e4m3, Rounding::rn, false), 0x7Fu);
  EXPECT_EQ(encode(61440.0, f8_e5m2, Rounding::rn, false), 0x7Cu);
  EXPECT_EQ(encode(1e9, f8_e5m2), 0x7Bu);
  EXPECT_EQ(encode(0.26, f4_e2m1), 0x1u);
  EXPECT_EQ(encode(5.0, f4_e2m1), 0x6u);
  EXPECT_EQ(encode(-0.25, f4_e2m1), 0x8u);
  EXPECT_EQ(encode(std::nan(""), f4_e2m1), 0x7u);
  EXPECT_EQ(encode(3.0, f8_e8m0), 129u);
  EXPECT_EQ(encode(3.0, f8_e8m0, Rounding::rm), 128u);
  EXPECT_EQ(decode(0x00, f8_e8m0), 0x1p-127);
  EXPECT_EQ(encode(-7.9, i32), 0xFFFFFFF9u);
  EXPECT_EQ(encode(0x1p62, i32), 0x7FFFFFFFu);
  EXPECT_EQ(encode(-1.0, u8), 0u);
  EXPECT_EQ(encode(300, i8), 44u);
  EXPECT_EQ(encode(65520, f16), 0x7C00u);
  EXPECT_EQ(decode_int(0xFFF0, i8), -16);
  EXPECT_EQ(decode(0xFFFFFFFFFFFFFFFF, u64), 0x1p64);
}

TEST(Convert, DoesNotRoundTwice) {
  // Through f32 the first becomes a tie and goes to the even 1.0; i64 through f64 likewise.
  EXPECT_EQ(encode(1 + 0x1p-8 + 0x1p-40, bf16), 0x3F81u);
  EXPECT_EQ(encode((int64_t{1} << 62) + (int64_t{1} << 54) + 1, bf16), 0x5E81u);
}

TEST(Convert, StochasticRoundingGoesUpWithTheProbabilityOfTheFraction) {
  struct Case {
    DType to;
    float x;
    int ups;  // of 65536
  };
  const Case cases[] = {
      {bf16, 1 + 3 * 0x1p-9f, 49152}, {f16, -(1 + 0x1p-13f), 8192}, {f8_e4m3, 1.03125f, 16384},
      {f8_e4m3, 0x1p-12f, 8192},  // below the smallest subnormal, 2^-9
      {f8_e5m2, -1.0625f, 16384},     {f4_e2m1, 4.5f, 16384},       {f4_e2m1, 3.0f, 0}};
  for (const Case& c : cases) {
    const uint64_t down = encode(c.x, c.to, Rounding::rs, true, 0);
    int ups = 0;
    for (uint32_t r = 0; r < 65536; ++r) {
      const uint64_t y = encode(c.x, c.to, Rounding::rs, true, r);
      ASSERT_TRUE(y == down || y == down + 1) << c.x;
      ups += y != down;
    }
    EXPECT_EQ(ups, c.ups) << c.x << " to " << to_text(c.to);
  }
}

TEST(Convert, LanesOfAStochasticConversionUseDifferentBits) {
  EXPECT_EQ(lane_random_bits(bf16, 0x12345678, 1), 0x1234u);
  EXPECT_EQ(lane_random_bits(f8_e4m3, 0x12345678, 0), 0x5678u);
  EXPECT_EQ(lane_random_bits(f8_e4m3, 0x12340001, 1), 0x8000u);
  EXPECT_EQ(lane_random_bits(f4_e2m1, 0x12345678, 0), 0x3478u);
  EXPECT_EQ(lane_random_bits(f4_e2m1, 0x12345678, 2), 0x1256u);
  // For every lane of 16, and each pair of lanes of different halves or words, 8 bits are uniform.
  std::mt19937 random(3);
  constexpr int kWords = 1 << 16;
  for (const DType to : {bf16, f16, f8_e4m3, f8_e5m2, f4_e2m1}) {
    std::vector<double> mean(16), square(16);
    std::vector<std::vector<double>> product(16, std::vector<double>(16));
    for (int i = 0; i < kWords; ++i) {
      const uint32_t word = random();
      double u[16];
      for (int lane = 0; lane < 16; ++lane) {
        u[lane] = lane_random_bits(to, word, lane) / 65536.0 - 0.5;
        mean[lane] += u[lane] / kWords;
        square[lane] += u[lane] * u[lane] / kWords;
        for (int other = 0; other < lane; ++other)
          product[lane][other] += u[lane] * u[other] / kWords;
      }
    }
    const double sigma = 1 / std::sqrt(12.0 * kWords);
    for (int lane = 0; lane < 16; ++lane) {
      EXPECT_LT(std::fabs(mean[lane]), 5 * sigma) << to_text(to) << " lane " << lane;
      EXPECT_NEAR(square[lane], 1 / 12.0, 0.002) << to_text(to) << " lane " << lane;
      for (int other = 0; other < lane; ++other) {
        EXPECT_LT(std::fabs(product[lane][other]), 5 / (12 * std::sqrt(1.0 * kWords)))
            << to_text(to) << " lanes " << lane << ", " << other;
      }
    }
  }
}

TEST(Convert, ATypeThatHoldsEveryValueOfAnotherKeepsThem) {
  const auto has_fixed_bits = [](DType t) { return t != f8_e8m0 && t != tf32; };
  for (const DType from : all_dtypes()) {
    if (from.bits() > 16 || !has_fixed_bits(from)) continue;  // all values can be tried
    for (const DType to : all_dtypes()) {
      if (!has_fixed_bits(to) || to.is_bool()) continue;
      bool same = true;
      const uint64_t count = from.is_bool() ? 2 : uint64_t{1} << from.bits();
      for (uint64_t bits = 0; bits < count && same; ++bits) {
        const uint64_t converted = convert_bits(bits, from, to);
        same = same_value(convert_bits(converted, to, f64), convert_bits(bits, from, f64), f64);
      }
      EXPECT_EQ(holds_every(from, to), same) << to_text(from) << " in " << to_text(to);
    }
  }
  EXPECT_TRUE(holds_every(u32, f64) && holds_every(f32, f64) && holds_every(tf32, tf32));
  EXPECT_FALSE(holds_every(i32, f32) || holds_every(i64, f64) || holds_every(i64, u64));
  EXPECT_FALSE(holds_every(f8_e8m0, f32) ||
               holds_every(DType(Scalar::i8, 2), DType(Scalar::i16, 2)));
}

TEST(Convert, RefusedCastsHaveTheirCode) {
  const auto refused = [](DType from, DType to, Rounding rounding = Rounding::rn,
                          bool saturate = true, bool word = false) {
    return std::string(cast_error(from, to, rounding, saturate, word).text);
  };
  EXPECT_EQ(refused(i32, f8_e4m3), "E-COPY-03");
  EXPECT_EQ(refused(f8_e4m3, f8_e5m2), "E-COPY-03");
  EXPECT_EQ(refused(bool_, f8_e8m0), "E-COPY-03");
  EXPECT_EQ(refused(f4_e2m1, f8_e4m3), "");
  EXPECT_EQ(refused(f32, f16, Rounding::rz), "");
  EXPECT_EQ(refused(f64, f16, Rounding::rz), "E-CAST-01");
  EXPECT_EQ(refused(f32, i32, Rounding::rp), "E-CAST-01");
  EXPECT_EQ(refused(bf16, f8_e4m3, Rounding::rs, true, true), "E-CAST-01");
  EXPECT_EQ(refused(f32, f8_e5m2, Rounding::rn, false), "");
  EXPECT_EQ(refused(f32, f4_e2m1, Rounding::rn, false), "E-CAST-02");
  EXPECT_EQ(refused(f32, bf16, Rounding::rs, false, true), "E-CAST-02");
  EXPECT_EQ(refused(f32, bf16, Rounding::rs, true, true), "");
  EXPECT_EQ(refused(f32, bf16, Rounding::rs), "E-CAST-03");
  EXPECT_EQ(refused(f32, bf16, Rounding::rn, true, true), "E-CAST-03");
}

TEST(Convert, AnyTwoNaNsAreTheSameValue) {
  EXPECT_TRUE(same_value(0x7E01, 0xFFFF, f16));
  EXPECT_FALSE(same_value(0x0000, 0x8000, f16));
  EXPECT_TRUE(is_nan(0xFF, f8_e8m0));
  EXPECT_FALSE(is_nan(0x7F, i8));
}

}  // namespace
}  // namespace tw
