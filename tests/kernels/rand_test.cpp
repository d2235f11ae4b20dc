#include "tests/reference/rand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/rand.h"

namespace tw {
namespace {

using kernels::NormalArgs;
using kernels::RandnArgs;
using test::error_of;
using test::on;
using test::values;
using test::Where;

void check(DType dtype, const Shape& shape, const RandnArgs& args = {}, Where where = Where::cpu) {
  const OwnedTensor y = test::filled_tensor(dtype, shape, 77);
  kernels::randn(on(where, y), args);
  const int64_t groups = std::min<int64_t>((y->numel() + 255) / 256, args.most_groups);
  // The angle is rounded to f32 where it is up to 2 pi.
  test::expect_close(y, reference::randn(y->numel(), args.seed, args.offset, groups),
                     reference::unit_roundoff(dtype) + 4e-7, 4e-6,
                     format("{}: {} {}", name_of(where), dtype, shape));
}

TEST(Randn, IsTheReference) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int64_t n : {0, 1, 3, 255, 256, 257, 1000, 5000}) check(dtype, {n}, {.seed = 5});
    check(dtype, {}, {.seed = 1});
    check(dtype, {3, 50, 7}, {.seed = ~uint64_t{0}, .offset = ~uint64_t{3}});
    // Several steps of the same streams, and of a number of groups that blocks don't share out.
    for (const int64_t groups : {1, 3, 4, 9}) {
      check(dtype, {20001}, {.seed = 3, .offset = 1 << 20, .most_groups = groups});
    }
  }
}

TEST(Randn, OnThreads) {
  const test::AlsoToCubin cubins;
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int64_t n : {1, 8, 257, 1500, 1504}) check(dtype, {n}, {.seed = 5}, Where::twin);
    for (const int64_t groups : {1, 5}) {
      for (const int64_t n : {9000, 9001}) {
        check(dtype, {n}, {.seed = 7, .offset = 8, .most_groups = groups}, Where::twin);
      }
    }
  }
}

TEST(Randn, TheExampleOfItsContract) {
  const OwnedTensor y(f32, {6});
  kernels::randn(y, {.seed = 0});
  test::expect_close(y, {-0.92466, -0.42534, -2.64385, 0.14518, -0.12087, -0.57973}, 0, 5e-6, "");
}

TEST(Randn, CallsGoOnWhereTheOneBeforeEnded) {
  // A call of all is two calls, the second from where the first one's words end.
  const OwnedTensor all(f32, {8192}), half(f32, {4096});
  kernels::randn(all, {.seed = 9, .most_groups = 4});
  for (const int64_t part : {0, 1}) {
    kernels::randn(half, {.seed = 9,
                          .offset = static_cast<uint64_t>(part) * kernels::randn_words(4096, 4),
                          .most_groups = 4});
    EXPECT_EQ(values(half), values(all->slice(0, part * 4096, 4096)));
  }
  EXPECT_EQ(kernels::randn_words(0, 4), 0U);
  EXPECT_EQ(kernels::randn_words(1, 4), 4U);
  EXPECT_EQ(kernels::randn_words(4096, 4), 4U);
  EXPECT_EQ(kernels::randn_words(4097, 4), 8U);
  EXPECT_EQ(kernels::randn_words(8192 * 7168, 1056), 220U);
}

/// Mean, variance, correlations and, of z in f32, the distribution of standard normals.
void expect_normal(const Tensor& y, int64_t step) {
  std::vector<double> z = values(y);
  const auto n = static_cast<double>(z.size());
  double mean = 0, square = 0, neighbors = 0, steps = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    mean += z[i] / n;
    square += z[i] * z[i] / n;
    neighbors += z[i] * z[(i + 1) % z.size()] / n;
    steps += z[i] * z[(i + static_cast<size_t>(step)) % z.size()] / n;
  }
  const double root = std::sqrt(n);
  EXPECT_LE(std::fabs(mean), 5 / root);
  EXPECT_LE(std::fabs(square - mean * mean - 1), 8 / root);
  EXPECT_LE(std::fabs(neighbors), 5 / root);
  EXPECT_LE(std::fabs(steps), 5 / root);
  if (y.dtype() != f32) return;  // bf16 has few values: its steps are larger than the bound
  // Kolmogorov and Smirnov: 1.95 is passed by one of a thousand seeds.
  std::sort(z.begin(), z.end());
  double largest = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    const double wanted = std::erfc(-z[i] / std::sqrt(2.0)) / 2, at = static_cast<double>(i);
    largest = std::max({largest, std::fabs(wanted - at / n), std::fabs(wanted - (at + 1) / n)});
  }
  EXPECT_LE(largest * root, 1.95);
}

TEST(Randn, IsDistributedAsItSays) {
  for (const DType dtype : {f32, bf16}) {
    const OwnedTensor y(dtype, {1 << 20});
    kernels::randn(y, {.seed = 11, .most_groups = 16});
    expect_normal(y, 4096);
  }
}

TEST(Randn, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor y(f32, {3, 4}), i(i32, {3});
  EXPECT_EQ(error_of([&] { kernels::randn(i); }),
            "randn: y is i32 [3], it must be f32, bf16 or f16");
  EXPECT_EQ(error_of([&] { kernels::randn(y->transpose(0, 1)); }),
            "randn: y is f32 [4, 3] strides [1, 4], it must be contiguous");
  EXPECT_EQ(error_of([&] { kernels::randn(y, {.offset = 6}); }),
            "randn: the offset is 6, it must be a multiple of 4");
  EXPECT_EQ(error_of([&] { kernels::randn(y, {.most_groups = 0}); }),
            "randn: most_groups is 0, it must be 1 to 16777216");
  EXPECT_EQ(error_of([&] { kernels::randn_words(-1, 4); }),
            "randn_words: numel is -1, it must not be negative");
  EXPECT_EQ(error_of([&] { kernels::randn_words(1, -4); }),
            "randn_words: most_groups is -4, it must be 1 to 16777216");
}

// ---- standard_normal ----
std::vector<double> rounded(DType dtype, const std::vector<double>& z) {
  const OwnedTensor y(dtype, {static_cast<int64_t>(z.size())});
  test::assign(y, z);
  return values(y);
}

void check_normal(DType dtype, const Shape& shape, const NormalArgs& args = {},
                  Where where = Where::cpu) {
  const OwnedTensor y = test::filled_tensor(dtype, shape, 77);
  kernels::standard_normal(on(where, y), args);
  test::expect_same(
      y, rounded(dtype, reference::standard_normal(y->numel(), args.seed, args.subsequence)),
      format("{}: {} {} {} {}", name_of(where), dtype, shape, args.seed, args.subsequence));
}

constexpr std::array<NormalArgs, 5> kArgs = {{{},
                                              {.seed = 5},
                                              {.seed = (uint64_t{7} << 32) + 3, .subsequence = 1},
                                              {.seed = ~uint64_t{0}, .subsequence = ~uint64_t{0}},
                                              {.seed = 9, .subsequence = uint64_t{1} << 32}}};
// Streams whose first word of block 0 under this seed is nearly 2^32, so that u is 1, and nearly 0.
constexpr uint64_t kEdgeSeed = 1, kNoRadius = 9077817, kLargeRadius = 270842;

TEST(StandardNormal, IsTheReferenceBitForBit) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const NormalArgs& args : kArgs) {
      for (const int64_t n : {0, 1, 3, 5, 1000, 4097, 9001}) check_normal(dtype, {n}, args);
    }
    check_normal(dtype, {}, {.seed = 1});
    check_normal(dtype, {3, 0, 7});
    check_normal(dtype, {3, 50, 7}, {.seed = 2});
  }
}

TEST(StandardNormal, OnThreads) {
  const test::AlsoToCubin cubins;
  for (const DType dtype : {f32, bf16, f16}) {
    for (const NormalArgs& args : kArgs) {
      for (const int64_t n : {0, 1, 3, 5, 1000, 4097}) {
        check_normal(dtype, {n}, args, Where::twin);
      }
    }
    check_normal(dtype, {3, 50, 7}, {.seed = 2}, Where::twin);
  }
}

TEST(StandardNormal, AtTheEndsOfTheRadius) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const OwnedTensor y = test::filled_tensor(f32, {4}, 77);
    kernels::standard_normal(on(where, y), {.seed = kEdgeSeed, .subsequence = kNoRadius});
    EXPECT_EQ(values(y)[0], 0);
    EXPECT_EQ(values(y)[1], 0);
    EXPECT_FALSE(std::signbit(values(y)[0]) || std::signbit(values(y)[1]));
    kernels::standard_normal(on(where, y), {.seed = kEdgeSeed, .subsequence = kLargeRadius});
    EXPECT_GT(std::hypot(values(y)[0], values(y)[1]), 5.9);
    for (const uint64_t stream : {kNoRadius, kLargeRadius}) {
      check_normal(f32, {5}, {.seed = kEdgeSeed, .subsequence = stream}, where);
    }
  }
}

TEST(StandardNormal, IsTheFormula) {
  constexpr int64_t kCount = 1 << 18;
  const uint64_t seed = 21, stream = 4;
  const OwnedTensor y(f32, {kCount});
  kernels::standard_normal(y, {.seed = seed, .subsequence = stream});
  const std::vector<double> z = values(y);
  for (int64_t i = 0; i < kCount; i += 2) {
    const std::array<uint32_t, 4> words =
        reference::philox({static_cast<uint32_t>(i / 4), 0, static_cast<uint32_t>(stream), 0},
                          {static_cast<uint32_t>(seed), 0});
    const size_t at = static_cast<size_t>(i % 4);
    // The logarithm feels the rounding of u where it is nearly 1.
    const double u = std::fma(static_cast<float>(words[at]), 0x1p-32F, 0x1p-33F);
    const double angle = (words[at + 1] + 0.5) * 0x1p-31 * std::numbers::pi;
    const double radius = std::sqrt(-2 * std::log(u));
    for (const int64_t odd : {0, 1}) {
      const double wanted = radius * (odd == 0 ? std::sin(angle) : std::cos(angle));
      const double ulp = std::scalbn(1.0, std::ilogb(wanted) - 23);
      ASSERT_LE(std::fabs(z[static_cast<size_t>(i + odd)] - wanted), 5 * ulp) << i + odd;
    }
  }
}

TEST(StandardNormal, APrefixOfALongerTensorIsTheShorterOne) {
  const OwnedTensor all(f32, {5000});
  kernels::standard_normal(all, {.seed = 3, .subsequence = 2});
  for (const int64_t n : {1, 4, 1023, 1026, 4096}) {
    const OwnedTensor part(f32, {n});
    kernels::standard_normal(part, {.seed = 3, .subsequence = 2});
    EXPECT_EQ(values(part), values(all->slice(0, 0, n)));
  }
}

TEST(StandardNormal, IsDistributedAsItSays) {
  for (const DType dtype : {f32, bf16}) {
    const OwnedTensor y(dtype, {1 << 20}), other(dtype, {1 << 20});
    kernels::standard_normal(y, {.seed = 11});
    expect_normal(y, 4096);
    kernels::standard_normal(other, {.seed = 11, .subsequence = 1});
    const std::vector<double> a = values(y), b = values(other);
    double both = 0;
    for (size_t i = 0; i < a.size(); ++i) both += a[i] * b[i] / static_cast<double>(a.size());
    EXPECT_LE(std::fabs(both), 5 / std::sqrt(static_cast<double>(a.size())));
  }
}

TEST(StandardNormal, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor y(f32, {3, 4}), i(i32, {3});
  EXPECT_EQ(error_of([&] { kernels::standard_normal(i); }),
            "standard_normal: y is i32 [3], it must be f32, bf16 or f16");
  EXPECT_EQ(error_of([&] { kernels::standard_normal(y->transpose(0, 1)); }),
            "standard_normal: y is f32 [4, 3] strides [1, 4], it must be contiguous");
}

}  // namespace
}  // namespace tw
