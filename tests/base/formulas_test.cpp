#include "tilewright/base/formulas.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tw {
namespace {

/// Distance in units of the last place of the exact value's f32 neighbourhood.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(static_cast<float>(exact))) return got == static_cast<float>(exact) ? 0 : 1e9;
  const double magnitude = std::max(std::fabs(exact), 0x1p-126);
  const double unit = std::ldexp(1.0, std::ilogb(magnitude) - 23);
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

/// The largest error over every 97th f32 pattern.
template <class F, class G>
double worst(F formula, G exact) {
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double error = ulps(formula(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error;
  }
  return worst;
}

formulas::Numbers numbers;

TEST(Formulas, ExpIsWithinOneUlp) {
  EXPECT_LE(worst([](float x) { return formulas::exp(numbers, x); },
                  [](double x) { return std::exp(x); }),
            1.0);
}
TEST(Formulas, Exp2IsWithinOneUlp) {
  EXPECT_LE(worst([](float x) { return formulas::exp2(numbers, x); },
                  [](double x) { return std::exp2(x); }),
            1.0);
}
TEST(Formulas, Exp2OfIntegersIsExact) {
  for (int n = -160; n <= 140; ++n) {
    EXPECT_EQ(formulas::exp2(numbers, static_cast<float>(n)), std::ldexp(1.0F, n)) << n;
  }
}
TEST(Formulas, LogIsWithinOneUlp) {
  EXPECT_LE(worst([](float x) { return formulas::log(numbers, x); },
                  [](double x) { return std::log(x); }),
            1.0);
}
TEST(Formulas, ErfIsWithinOneUlp) {
  EXPECT_LE(worst([](float x) { return formulas::erf(numbers, x); },
                  [](double x) { return std::erf(x); }),
            1.0);
}
TEST(Formulas, TanhIsWithinTwoUlp) {
  EXPECT_LE(worst([](float x) { return formulas::tanh(numbers, x); },
                  [](double x) { return std::tanh(x); }),
            2.0);
}

TEST(Formulas, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_EQ(formulas::exp(numbers, inf), inf);
  EXPECT_EQ(formulas::exp(numbers, -inf), 0.0F);
  EXPECT_EQ(formulas::exp(numbers, 0.0F), 1.0F);
  EXPECT_TRUE(std::isnan(formulas::exp(numbers, nan)));
  EXPECT_EQ(formulas::exp2(numbers, inf), inf);
  EXPECT_EQ(formulas::exp2(numbers, -inf), 0.0F);
  EXPECT_TRUE(std::isnan(formulas::exp2(numbers, nan)));
  EXPECT_EQ(formulas::log(numbers, 0.0F), -inf);
  EXPECT_EQ(formulas::log(numbers, -0.0F), -inf);
  EXPECT_EQ(formulas::log(numbers, 1.0F), 0.0F);
  EXPECT_EQ(formulas::log(numbers, inf), inf);
  EXPECT_TRUE(std::isnan(formulas::log(numbers, -1.0F)));
  EXPECT_TRUE(std::isnan(formulas::log(numbers, -inf)));
  EXPECT_TRUE(std::isnan(formulas::log(numbers, nan)));
  EXPECT_EQ(formulas::erf(numbers, inf), 1.0F);
  EXPECT_EQ(formulas::erf(numbers, -inf), -1.0F);
  EXPECT_TRUE(std::isnan(formulas::erf(numbers, nan)));
  EXPECT_EQ(formulas::tanh(numbers, -inf), -1.0F);
  EXPECT_TRUE(std::isnan(formulas::tanh(numbers, nan)));
  EXPECT_TRUE(std::signbit(formulas::tanh(numbers, -0.0F)));
}

}  // namespace
}  // namespace tw
