// Tensors of C++ as C has them.
#pragma once

#include <algorithm>

#include "tilewright/capi/base.h"
#include "tilewright/runtime/tensor.h"

namespace tw {

/// The same view, with its strides and device.
struct InC {
  tw_tensor tensor{};
  InC(const Tensor& t) {
    tensor = {.data = t.data(),
              .dtype = static_cast<tw_dtype>(t.dtype().scalar) + 1,
              .rank = t.rank(),
              .strided = true,
              .device = {static_cast<tw_device_kind>(t.device().kind), t.device().id}};
    std::copy(t.shape().begin(), t.shape().end(), tensor.shape);
    std::copy(t.strides().begin(), t.strides().end(), tensor.strides);
  }
  InC(const OwnedTensor& t) : InC(t.view()) {}
  operator const tw_tensor*() const { return &tensor; }
};

}  // namespace tw
