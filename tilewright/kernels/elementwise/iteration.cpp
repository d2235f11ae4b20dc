#include "tilewright/kernels/elementwise/iteration.h"

#include <algorithm>
#include <numeric>

namespace tw::kernels {
namespace {

constexpr size_t kMostDims = 5;

/// A dimension of all tensors.
struct Dim {
  int64_t extent;
  std::vector<int64_t> strides;  // of each tensor

  /// Whether this one continues `inner`: both are one dimension.
  bool continues(const Dim& inner) const {
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != inner.extent * inner.strides[i]) return false;
    }
    return true;
  }
};

}  // namespace

Tensor broadcast_to(std::string_view function, const Named& t, const Shape& shape) {
  const Tensor& x = t.tensor;
  const int missing = shape.rank() - x.rank();
  bool fits = missing >= 0;
  Shape strides = shape;
  for (int d = 0; d < shape.rank() && fits; ++d) {
    const bool is_one = d < missing || x.dim(d - missing) == 1;
    fits = is_one || x.dim(d - missing) == shape[d];
    strides[d] = is_one ? 0 : x.stride(d - missing);
  }
  TW_REQUIRE(fits, "{}: {} is {}, it doesn't broadcast to y's shape {}", function, t.name, x,
             shape);
  return {x.data(), x.dtype(), shape, strides, x.device()};
}

Iteration::Iteration(std::string_view function, const std::vector<Tensor>& tensors) {
  const Tensor& y = tensors.back();
  std::vector<Dim> dims;
  for (int d = 0; d < y.rank(); ++d) {
    if (y.dim(d) == 1) continue;
    dims.push_back({y.dim(d), {}});
    for (const Tensor& t : tensors) dims.back().strides.push_back(t.stride(d));
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.strides.back()) > std::abs(b.strides.back());
  });
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    if (!merged.empty() && merged.back().continues(dim)) {
      merged.back() = {merged.back().extent * dim.extent, dim.strides};
    } else {
      merged.push_back(dim);
    }
  }
  if (merged.empty()) merged.push_back({1, std::vector<int64_t>(tensors.size(), 1)});
  TW_REQUIRE(merged.size() <= kMostDims,
             "{}: in tensors of shape {} there are {} dimensions that don't lie evenly inside each "
             "other, there may be {}; make one contiguous",
             function, y.shape(), merged.size(), kMostDims);
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> shape, strides;
    for (const Dim& dim : merged) {
      shape.push_back(dim.extent);
      strides.push_back(dim.strides[i]);
    }
    const Tensor& t = tensors[i];
    tensors_.emplace_back(t.data(), t.dtype(), Shape(shape), Shape(strides), t.device());
  }
}

int64_t Iteration::along() const {
  int64_t all = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const int64_t stride = tensors_[i].stride(-1);
    const Along along = stride == 1 ? Along::neighbors : stride == 0 ? Along::one : Along::strided;
    all |= static_cast<int64_t>(along) << (2 * i);
  }
  return all;
}

}  // namespace tw::kernels
