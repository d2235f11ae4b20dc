// Values and codes for tests of casts with scale factors.
#pragma once

#include <cfloat>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/kernels/tensors.h"

namespace tw::test {

/// Codes of NaN, which may have any sign, become 0x7F.
inline std::vector<uint8_t> any_sign(std::vector<uint8_t> list) {
  for (uint8_t& code : list) {
    if ((code & 0x7F) == 0x7F) code = 0x7F;
  }
  return list;
}

/// The codes of a matrix, row by row, of NaN with any sign.
inline std::vector<uint8_t> codes(const Tensor& q) {
  std::vector<uint8_t> list;
  const int width = q.dtype().bits();
  for (int64_t i = 0; i < q.dim(0); ++i) {
    for (int64_t j = 0; j < q.dim(1); ++j) {
      const int64_t bit = (i * q.stride(0) + j) * width;
      list.push_back(q.data_as<uint8_t>()[bit / 8] >> bit % 8 & ((1 << width) - 1));
    }
  }
  return any_sign(std::move(list));
}

/// Values of all magnitudes, and all the special ones.
inline OwnedTensor wild_tensor(DType dtype, int64_t m, int64_t k) {
  OwnedTensor x = random_tensor(dtype, {m, k}, 1);
  std::vector<double> list = values(x);
  const double special[] = {0.0,       -0.0, NAN,       1e-40, -1e-38,   FLT_MAX, INFINITY,
                            -INFINITY, 448,  448.00003, 6.1,   0x1p-149, 1e-4,    -3e20};
  for (size_t i = 0; i < list.size(); ++i) {
    const size_t row = i / static_cast<size_t>(k);
    if (row % 4 == 1) list[i] *= std::exp2(static_cast<double>(i % 60) - 30);
    if (row % 4 == 2 && i % 5 == 0) list[i] = special[i / 5 % std::size(special)];
    if (row % 4 == 3) list[i] = i % 2 == 0 ? 0.0 : -0.0;
  }
  test::assign(x, list);
  return x;
}

}  // namespace tw::test
