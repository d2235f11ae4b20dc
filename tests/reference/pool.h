// Pooling in plain loops, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace tw::reference {

inline std::vector<double> masked_mean_pool(const std::vector<double>& x, size_t h,
                                            const std::vector<double>& cu_seqlens,
                                            bool l2_normalize) {
  std::vector<double> y((cu_seqlens.size() - 1) * h);
  for (size_t s = 0; s + 1 < cu_seqlens.size(); ++s) {
    const auto first = static_cast<size_t>(cu_seqlens[s]),
               last = static_cast<size_t>(cu_seqlens[s + 1]);
    double squares = 0;
    for (size_t j = 0; j < h; ++j) {
      double& mean = y[s * h + j];
      for (size_t t = first; t < last; ++t)
        mean += x[t * h + j] / static_cast<double>(last - first);
      squares += mean * mean;
    }
    if (!l2_normalize) continue;
    for (size_t j = 0; j < h; ++j) y[s * h + j] /= std::max(std::sqrt(squares), 1e-12);
  }
  return y;
}

}  // namespace tw::reference
