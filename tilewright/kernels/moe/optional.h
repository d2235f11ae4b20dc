// Tensors that a call of a gate may leave out. The kernel gets an empty one then: what it reads
// outside of that is the tensor's safe value, what it writes there goes nowhere. So one kernel does
// for many calls; only what takes much code has kernels of its own.
#pragma once

#include <string_view>

#include "tilewright/base/error.h"
#include "tilewright/kernels/check.h"
#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

struct MaybeNamed {
  std::string_view name;
  const Tensor* tensor;
};

/// Dtype and shape of a tensor that is there.
inline void check_optional(std::string_view function, const MaybeNamed& t, DType dtype,
                           const Shape& shape, std::string_view like) {
  if (t.tensor == nullptr) return;
  check_dtype(function, {t.name, *t.tensor}, {dtype});
  check_shape(function, {t.name, *t.tensor}, shape, like);
}

/// `top2_sum_gate: to_physical_map is given without logical_count; pass both or neither`.
inline void check_both(std::string_view function, const MaybeNamed& a, const MaybeNamed& b) {
  if ((a.tensor == nullptr) == (b.tensor == nullptr)) return;
  const bool first = a.tensor != nullptr;
  throw Error({}, {}, "{}: {} is given without {}; pass both or neither", function,
              first ? a.name : b.name, first ? b.name : a.name);
}

/// The tensor, or one of that shape, which has no elements.
inline Tensor or_empty(const Tensor* t, DType dtype, const Shape& empty, Device device) {
  return t != nullptr ? *t : Tensor(nullptr, dtype, empty, device);
}

/// The same for a vector, which becomes a row.
inline Tensor row_or_empty(const Tensor* t, DType dtype, int64_t columns, Device device) {
  if (t == nullptr) return {nullptr, dtype, {0, columns}, device};
  return {t->data(), t->dtype(), {1, columns}, {columns, t->stride(0)}, t->device()};
}

}  // namespace tw::kernels
