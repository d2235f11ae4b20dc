// Matrix products in plain loops, in double.
#pragma once

#include <cmath>
#include <vector>

#include "tilewright/kernels/gemm.h"

namespace tw::reference {

inline double activate(kernels::Activation activation, double x) {
  switch (activation) {
    case kernels::Activation::none:
      return x;
    case kernels::Activation::relu:
      return x < 0 ? 0 : x;
    case kernels::Activation::gelu:
      return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case kernels::Activation::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
    case kernels::Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

/// op(a) op(b) with a stored [m, k] or [k, m], b [k, n] or [n, k].
inline std::vector<double> multiply(const std::vector<double>& a, const std::vector<double>& b,
                                    size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  std::vector<double> c(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t q = 0; q < k; ++q) {
        c[i * n + j] += a[trans_a ? q * m + i : i * k + q] * b[trans_b ? j * k + q : q * n + j];
      }
    }
  }
  return c;
}

}  // namespace tw::reference
