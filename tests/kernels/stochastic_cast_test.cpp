#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/quant_testing.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/stochastic.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using test::error_of;
using test::on;
using test::random_tensor;
using test::values;
using test::Where;
using test::wild_tensor;

constexpr std::pair<DType, DType> kPairs[] = {{f32, bf16}, {f32, f8_e4m3}, {bf16, f8_e4m3}};

void check(DType from, DType to, int64_t m, int64_t k, Where where = Where::cpu) {
  const OwnedTensor x = wild_tensor(from, m, k), y(to, {m, k});
  if (from == bf16) {  // the hash would see which NaN it is
    std::vector<double> list = values(x);
    for (double& v : list) v = std::isnan(v) ? 0x1p-10 : v;
    test::assign(x, list);
  }
  kernels::stochastic_cast(on(where, x), on(where, y));
  const std::vector<double> in = values(x), out = values(y);
  for (size_t i = 0; i < in.size(); i += 4) {
    std::array<float, 4> quad = {};
    for (size_t j = 0; j < 4; ++j) quad[j] = static_cast<float>(in[i + j]);
    const auto wanted = reference::stochastic_cast(quad, static_cast<uint32_t>(i / 4), to);
    for (size_t j = 0; j < 4; ++j) {
      ASSERT_TRUE(same_value(encode(out[i + j], to), wanted[j], to))
          << format("{}: {} to {} [{}, {}], element {}: {} gives {}, wanted {}", name_of(where),
                    from, to, m, k, i + j, quad[j], out[i + j], decode(wanted[j], to));
    }
  }
}

TEST(StochasticCast, IsBitwiseTheReference) {
  for (const auto& [from, to] : kPairs) {
    for (const int64_t k : {0, 4, 128, 132, 4100, 10000}) check(from, to, 5, k);
  }
}

TEST(StochasticCast, IsBitwiseTheReferenceOnThreads) {
  const test::AlsoToCubin cubins;
  for (const auto& [from, to] : kPairs) {
    for (const int64_t k : {4, 460, 1024}) check(from, to, 5, k, Where::twin);
  }
}

TEST(StochasticCast, TheExamplesOfItsContract) {
  struct Case {
    std::array<float, 4> values;
    uint32_t quad;
    std::array<uint32_t, 2> words;
  };
  for (const Case& c : {Case{{1, 2, 3, 4}, 0, {0x307561DA, 0x742DAA96}},
                        {{1, 2, 3, 4}, 1, {0x9FDF8BF1, 0x384681EA}},
                        {{0.1F, 0.2F, 0.3F, 0.4F}, 7, {0xA0643B3E, 0x410A9D4F}},
                        {{-1.1F, 2.2F, -3.3F, 4.4F}, 123456, {0x28F79B97, 0x50468ED3}},
                        {{}, 0, {0, 0}}}) {
    EXPECT_EQ(reference::random_words(c.values, c.quad), c.words);
  }
  const OwnedTensor x(f32, {32}), y(bf16, {32});
  test::assign(x, std::vector<double>(32, 0.0));
  test::assign(x->slice(0, 28, 4), {0.1F, 0.2F, 0.3F, 0.4F});
  kernels::stochastic_cast(x, y);
  const uint16_t* codes = y->data_as<uint16_t>();
  EXPECT_EQ(std::vector(codes + 28, codes + 32),
            (std::vector<uint16_t>{0x3DCD, 0x3E4D, 0x3E9A, 0x3ECD}));
}

TEST(StochasticCast, HasNoBiasAndKeepsWhatIsRepresentable) {
  constexpr int64_t kCount = 1 << 20;
  for (const auto& [from, to] : kPairs) {
    const OwnedTensor x = random_tensor(from, {kCount}, 5, 1, 2), y(to, {kCount}),
                      z(from, {kCount}), again(to, {kCount});
    kernels::stochastic_cast(x, y);
    const std::vector<double> in = values(x), out = values(y);
    const double step = to == bf16 ? 0x1p-7 : 0x1p-3;
    double mean = 0, square = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const double error = out[i] - in[i];
      ASSERT_LT(std::fabs(error), step);
      mean += error / kCount;
      square += error * error / kCount;
    }
    EXPECT_LT(std::fabs(mean), 4 * std::sqrt(square / kCount)) << format("{} to {}", from, to);
    kernels::cast(y, z);
    kernels::stochastic_cast(z, again);
    EXPECT_EQ(values(again), out);
    kernels::stochastic_cast(x, again);
    EXPECT_EQ(values(again), out);
  }
}

TEST(StochasticCast, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {3, 4}), y(bf16, {3, 4}), odd(f32, {3, 5}), half(f16, {3, 4});
  const auto error = [](const Tensor& from, const Tensor& to) {
    return error_of([&] { kernels::stochastic_cast(from, to); });
  };
  EXPECT_EQ(error(half, y), "stochastic_cast: x is f16 [3, 4], it must be f32 or bf16");
  EXPECT_EQ(error(x, half), "stochastic_cast: y is f16 [3, 4], it must be bf16 or e4m3");
  EXPECT_EQ(error(y, OwnedTensor(bf16, {3, 4})),
            "stochastic_cast: x and y are both bf16, y must have fewer bits");
  EXPECT_EQ(error(x, OwnedTensor(bf16, {4, 3})),
            "stochastic_cast: y is bf16 [4, 3], it must be [3, 4] like x");
  EXPECT_EQ(error(odd, OwnedTensor(bf16, {3, 5})),
            "stochastic_cast: x has 15 elements, the number must be a multiple of 4; pad x");
  EXPECT_EQ(error(x->transpose(0, 1), OwnedTensor(bf16, {4, 3})),
            "stochastic_cast: x is f32 [4, 3] strides [1, 4], it must be contiguous");
}

}  // namespace
}  // namespace tw
