// How a kernel that treats each element alike walks over its tensors: dimensions in the order of
// the output's memory, and as few as possible.
#pragma once

#include <vector>

#include "tilewright/kernels/check.h"

namespace tw::kernels {

/// What lies along the last dimension of a tensor: neighbors, one element for all, or elements at
/// any distance.
enum class Along : uint8_t { neighbors, one, strided };

/// `add: b is f32 [4, 9], it doesn't broadcast to y's shape [4, 8]`. The tensor in that shape, with
/// strides of 0.
Tensor broadcast_to(std::string_view function, const Named& t, const Shape& shape);

/// Tensors of one shape, of which the last is the output. More than 5 dimensions that can't be
/// merged are an Error.
class Iteration {
 public:
  Iteration(std::string_view function, const std::vector<Tensor>& tensors);

  /// The same elements in fewer dimensions, of which there is at least one.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  int64_t rank() const { return tensors_.back().rank(); }
  /// `Along` of each tensor, as one number.
  int64_t along() const;

 private:
  std::vector<Tensor> tensors_;
};

/// That of tensor `number`.
inline Along along_of(int64_t along, size_t number) {
  return static_cast<Along>(along >> (2 * number) & 3);
}

}  // namespace tw::kernels
