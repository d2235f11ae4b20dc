// Tensors for tests of kernels: random ones of any dtype, their values, and
// comparison with a reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/runtime/tensor.h"

namespace tw::test {

/// A subscript.
inline size_t at(int64_t i) { return static_cast<size_t>(i); }

/// Uniform values in [low, high], rounded to the dtype; the same for the same seed.
OwnedTensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -2,
                          double high = 2);
OwnedTensor filled_tensor(DType dtype, const Shape& shape, double value);

/// An [n, h] view into rows that are `gap` elements longer than h.
Tensor with_row_gap(const OwnedTensor& storage, int64_t h);

/// All elements in row-major order, exactly.
std::vector<double> values(const Tensor& tensor);
/// Writes values, rounded to the dtype.
void assign(const Tensor& tensor, const std::vector<double>& values);

/// Fails for each of the first few elements whose distance from the wanted value is above
/// relative * |wanted| + absolute. NaN must meet NaN, infinity the same infinity.
void expect_close(const Tensor& got, const std::vector<double>& wanted, double relative,
                  double absolute, const std::string& what);

/// Fails for each of the first few elements that isn't the wanted value, of zeros with its sign;
/// NaN must meet NaN.
void expect_same(const Tensor& got, const std::vector<double>& wanted, const std::string& what);

/// Runs f and returns the text of the Error that it throws; fails when it throws none.
std::string error_of(const std::function<void()>& f);

}  // namespace tw::test
