// Which memory tensors reach, and whether two have some in common.
#pragma once

#include <cstdint>

#include "tilewright/runtime/tensor.h"

namespace tw {

/// From the first to the last bit of a tensor's elements, as addresses in bits. Without initial
/// values: calls have arrays of them.
struct Reach {
  uint64_t begin, end;
  bool meets(const Reach& other) const { return begin < other.end && other.begin < end; }
};

inline Reach reach_of(const Tensor& tensor) {
  const auto bits = static_cast<uint64_t>(tensor.dtype().bits());
  Reach reach;
  reach.begin = reinterpret_cast<uintptr_t>(tensor.data()) * 8;
  reach.end = reach.begin + bits;
  for (int i = 0; i < tensor.rank(); ++i) {
    if (tensor.dim(i) == 0) return {};
    const auto distance =
        static_cast<uint64_t>(tensor.dim(i) - 1) * static_cast<uint64_t>(tensor.stride(i)) * bits;
    (tensor.stride(i) < 0 ? reach.begin : reach.end) += distance;
  }
  return reach;
}

/// Whether the tensors have a bit in common. Exact for views as slicing, striding and transposing
/// make them; of views that are so interleaved that 20,000 steps don't tell, it says no.
bool share_memory(const Tensor& a, const Tensor& b);

}  // namespace tw
