// Rows by index in plain loops.
#pragma once

#include <cstdint>
#include <vector>

namespace tw::reference {

inline std::vector<double> gather_rows(const std::vector<double>& table, size_t h,
                                       const std::vector<double>& index) {
  std::vector<double> y(index.size() * h);
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] * static_cast<double>(h) >= static_cast<double>(table.size()))
      continue;
    for (size_t j = 0; j < h; ++j) y[i * h + j] = table[static_cast<size_t>(index[i]) * h + j];
  }
  return y;
}

inline std::vector<double> scatter_add_rows(std::vector<double> y, const std::vector<double>& x,
                                            size_t h, const std::vector<double>& index) {
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] * static_cast<double>(h) >= static_cast<double>(y.size()))
      continue;
    for (size_t j = 0; j < h; ++j) y[static_cast<size_t>(index[i]) * h + j] += x[i * h + j];
  }
  return y;
}

}  // namespace tw::reference
