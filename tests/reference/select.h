// The largest of rows in plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tw::reference {

/// Indices of the k largest of each row of h, as a stable descending sort gives them; NaN last.
inline std::vector<double> top_k(const std::vector<double>& x, size_t h, size_t k) {
  std::vector<double> indices;
  for (size_t i = 0; i + h <= x.size(); i += h) {
    std::vector<size_t> order(h);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return x[i + a] > x[i + b] || (!std::isnan(x[i + a]) && std::isnan(x[i + b]));
    });
    for (size_t r = 0; r < k; ++r) indices.push_back(static_cast<double>(order[r]));
  }
  return indices;
}

}  // namespace tw::reference
