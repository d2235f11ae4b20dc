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

}  // namespace tw::reference
