// Tensors for the calls of the library that mutants are tried with.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/kernels/devices.h"
#include "tilewright/runtime/tensor.h"

namespace tw::test {

/// Which columns stand out: the first, the last, or each time another one.
enum class Peaks : uint8_t { scattered, first, last };

/// Gives a call its tensors: each in memory of its own between bands that nobody may write to.
class Place {
 public:
  /// Tensors begin `skew` elements after a multiple of 16 bytes.
  Place(Where where, int64_t skew) : where_(where), skew_(skew) {}

  /// Random numbers in [low, high], which repeat as rarely as the dtype allows.
  Tensor input(DType dtype, const Shape& shape, double low = -2, double high = 2);
  /// The same, but of each `period` columns of a row one has the largest magnitude.
  Tensor peaks(DType dtype, const Shape& shape, int64_t period, Peaks where);
  /// These numbers, in row-major order.
  Tensor holding(DType dtype, const Shape& shape, const std::vector<double>& numbers);
  /// Whole numbers of which a few sums are exact.
  Tensor integers(DType dtype, const Shape& shape);
  /// Filled with a pattern.
  Tensor output(DType dtype, const Shape& shape);
  /// Makes an input one of the tensors that are compared.
  Tensor updated(Tensor tensor);

  /// The outputs with what lies between their elements, in the order in which they were made.
  const std::vector<Tensor>& outputs() const { return outputs_; }
  bool bands_are_intact() const;

 private:
  Tensor make(DType dtype, const Shape& shape);

  Where where_;
  int64_t skew_;
  uint64_t seed_ = 0;
  std::vector<OwnedTensor> memory_;
  std::vector<std::pair<int64_t, int64_t>> used_;  // bytes of each that belong to the tensor
  std::vector<Tensor> outputs_;
};

}  // namespace tw::test
