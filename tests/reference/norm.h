// Normalisations in plain loops, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace tw::reference {

inline std::vector<double> rms_norm(const std::vector<double>& x, const std::vector<double>& w,
                                    double eps) {
  const size_t h = w.size();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += h) {
    double squares = 0;
    for (size_t j = 0; j < h; ++j) squares += x[row + j] * x[row + j];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(h) + eps);
    for (size_t j = 0; j < h; ++j) y[row + j] = x[row + j] * scale * w[j];
  }
  return y;
}

inline std::vector<double> layer_norm(const std::vector<double>& x, const std::vector<double>& w,
                                      const std::vector<double>& b, double eps) {
  const size_t h = w.size();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += h) {
    double mean = 0, variance = 0;
    for (size_t j = 0; j < h; ++j) mean += x[row + j] / static_cast<double>(h);
    for (size_t j = 0; j < h; ++j) {
      variance += (x[row + j] - mean) * (x[row + j] - mean) / static_cast<double>(h);
    }
    for (size_t j = 0; j < h; ++j)
      y[row + j] = (x[row + j] - mean) / std::sqrt(variance + eps) * w[j] + b[j];
  }
  return y;
}

inline std::vector<double> softmax(const std::vector<double>& x, size_t h, double scale) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += h) {
    double highest = -INFINITY, sum = 0;
    for (size_t j = 0; j < h; ++j) highest = std::max(highest, scale * x[row + j]);
    for (size_t j = 0; j < h; ++j) sum += y[row + j] = std::exp(scale * x[row + j] - highest);
    for (size_t j = 0; j < h; ++j) y[row + j] /= sum;
  }
  return y;
}

}  // namespace tw::reference
