// The gates of a mixture of experts in plain loops, each operation rounded to f32 as the
// specification in tilewright/kernels/moe.h says.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tw::reference {

/// Indices of the k highest keys in order, of equal ones the lower first.
inline std::vector<int64_t> best_of(const std::vector<float>& keys, size_t k) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return keys[static_cast<size_t>(a)] > keys[static_cast<size_t>(b)];
  });
  order.resize(k);
  return order;
}

/// D of up to 32 weights.
inline float denominator(const std::vector<float>& weights) {
  std::array<float, 32> y{};
  std::copy(weights.begin(), weights.end(), y.begin());
  for (size_t s = 16; s >= 1; s /= 2) {
    for (size_t j = 0; j < s; ++j) y[j] = y[j] + y[j + s];
  }
  return y[0] + 1e-20F;
}

}  // namespace tw::reference
