// Folds of rows in plain loops.
#pragma once

#include <cmath>
#include <vector>

namespace tw::reference {

/// Calls f(row) with each row of h elements; gives the results.
template <class F>
std::vector<double> each_row(const std::vector<double>& x, size_t h, F f) {
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); i += h) y.push_back(f(x.data() + i));
  return y;
}

inline std::vector<double> sum(const std::vector<double>& x, size_t h) {
  return each_row(x, h, [&](const double* row) {
    double total = 0;
    for (size_t j = 0; j < h; ++j) total += row[j];
    return total;
  });
}

inline std::vector<double> max(const std::vector<double>& x, size_t h, bool propagate_nan) {
  return each_row(x, h, [&](const double* row) {
    double most = -INFINITY;
    for (size_t j = 0; j < h; ++j) {
      if (std::isnan(row[j]) && propagate_nan) return double(NAN);
      if (row[j] > most) most = row[j];
    }
    return most;
  });
}

inline std::vector<double> argmax(const std::vector<double>& x, size_t h) {
  return each_row(x, h, [&](const double* row) {
    size_t first = 0;
    for (size_t j = 1; j < h; ++j) {
      const bool first_number = std::isnan(row[first]) && !std::isnan(row[j]);
      if (row[j] > row[first] || first_number) first = j;
    }
    return static_cast<double>(first);
  });
}

}  // namespace tw::reference
