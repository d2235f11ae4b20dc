// Random numbers in plain loops.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "tests/reference/moe_gate.h"

namespace tw::reference {

/// Standard normals as kernels::randn numbers them, in f64. `groups`: of 256 streams.
inline std::vector<double> randn(int64_t numel, uint64_t seed, uint64_t offset, int64_t groups) {
  std::vector<double> z;
  const int64_t streams = groups * 256;
  for (int64_t e = 0; e < numel; ++e) {
    const auto stream = static_cast<uint64_t>(e % streams);
    const auto number = static_cast<size_t>(e / streams % 4);
    const uint64_t block = offset / 4 + static_cast<uint64_t>(e / streams / 4);
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
    const std::array<uint32_t, 4> words =
        philox({low(block), low(block >> 32), low(stream), low(stream >> 32)},
               {low(seed), low(seed >> 32)});
    const uint32_t first = words[number / 2 * 2], second = words[number / 2 * 2 + 1];
    // In (0, 1], the first rounded to f32, whose logarithm feels it where it is nearly 1.
    const auto u = static_cast<double>(static_cast<float>(first) * 0x1p-32F + 0x1p-33F);
    const double angle = (second + 0.5) * 0x1p-31 * std::numbers::pi;
    z.push_back(std::sqrt(-2 * std::log(u)) *
                (number % 2 == 0 ? std::sin(angle) : std::cos(angle)));
  }
  return z;
}

/// kernels::standard_normal in f32, operation by operation.
inline std::vector<double> standard_normal(int64_t numel, uint64_t seed, uint64_t stream) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  const auto sum = [](float x, const std::vector<float>& c) {  // c[0] + x (c[1] + x (...))
    float result = c.back();
    for (size_t i = c.size() - 1; i-- > 0;) result = std::fma(result, x, c[i]);
    return result;
  };
  std::vector<double> z;
  for (int64_t e = 0; e < numel; ++e) {
    const auto block = static_cast<uint64_t>(e / 4);
    const std::array<uint32_t, 4> words =
        philox({low(block), high(block), low(stream), high(stream)}, {low(seed), high(seed)});
    const uint32_t first = words[e % 4 / 2 * 2], second = words[e % 4 / 2 * 2 + 1];
    // The radius. u = 2^n (1 + f) with 1 + f in [2/3, 4/3), the first of which is 0x1.555556p-1.
    const float u = std::fma(static_cast<float>(first), 0x1p-32F, 0x1p-33F);
    int n = std::ilogb(u);
    if (std::scalbn(u, -n) >= 0x1.555556p+0F) ++n;
    const float f = std::scalbn(u, -n) - 1.0F;
    const float log =
        f * sum(f, {-2.0F, 0x1.ffffd6p-1F, -0x1.5554fcp-1F, 0x1.00145p-1F, -0x1.99d3a8p-2F,
                    0x1.503884p-2F, -0x1.1ea94cp-2F, 0x1.3b0e5cp-2F, -0x1.1f243ap-2F});
    const float radius = std::sqrt(std::fma(static_cast<float>(n), -0x1.62e43p+0F, log));
    // The angle: right angles, and pi / 4 times t in (-1, 1).
    const uint32_t right = second / 0x40000000 + second % 0x40000000 / 0x20000000;
    const int64_t rest = int64_t{second} - int64_t{right} * 0x40000000;
    const float t = static_cast<float>(2 * rest + 1) * 0x1p-30F, square = t * t;
    const float sine =
        t * sum(square, {0x1.921fb6p-1F, -0x1.4abc24p-4F, 0x1.4680a4p-9F, -0x1.33198ep-15F});
    const float cosine =
        sum(square, {1.0F, -0x1.3bd3ccp-2F, 0x1.03c1bp-6F, -0x1.55b2b4p-12F, 0x1.d4f632p-19F});
    const std::array<float, 4> turned = {sine, cosine, -sine, -cosine};
    const float x = radius * turned[(right + static_cast<uint32_t>(e % 2)) % 4];
    z.push_back(x == 0 ? 0 : x);  // not -0
  }
  return z;
}

}  // namespace tw::reference
