#include "tilewright/runtime/tensor.h"

#include <algorithm>
#include <cstdlib>

#include <sys/mman.h>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

#ifndef TW_SANITIZED
#include <oneapi/tbb/scalable_allocator.h>
#endif

namespace tw {

Tensor::Tensor(const void* data, DType dtype, const Shape& shape, Device device)
    : Tensor(data, dtype, shape, shape.compact_strides(), device) {}

Tensor::Tensor(const void* data, DType dtype, const Shape& shape, const Shape& strides,
               Device device)
    : data_(const_cast<void*>(data)),
      dtype_(dtype),
      device_(device),
      shape_(shape),
      strides_(strides) {
  TW_REQUIRE(shape.rank() == strides.rank(), "tensor: shape {} and strides {} differ in rank",
             shape, strides);
  TW_REQUIRE(std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; }),
             "tensor: shape {} has a negative extent", shape);
}

int64_t Tensor::bytes() const { return storage_bytes(dtype_, numel()); }

bool Tensor::is_compact() const {
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] > 1 && strides_[i] != expected) return numel() == 0;
    expected = saturating_product(expected, shape_[i]);
  }
  return true;
}

Tensor Tensor::at_offset(int64_t elements) const {
  const int64_t bits = elements * dtype_.bits();
  TW_REQUIRE(bits % 8 == 0, "tensor: a view of {} can't start at the odd element {}", dtype_,
             elements);
  Tensor view = *this;
  if (data_ != nullptr) view.data_ = static_cast<std::byte*>(data_) + bits / 8;
  return view;
}

Tensor Tensor::slice(int dim, int64_t first, int64_t count) const {
  TW_REQUIRE(dim >= 0 && dim < rank(), "slice: dimension {} of a tensor {}", dim, shape_);
  TW_REQUIRE(first >= 0 && count >= 0 && count <= shape_[dim] - first,
             "slice: {} entries from {} of a dimension of extent {}", count, first, shape_[dim]);
  Tensor view = at_offset(first * strides_[dim]);
  view.shape_[dim] = count;
  return view;
}

Tensor Tensor::select(int dim, int64_t index) const {
  Tensor view = slice(dim, index, 1);
  view.shape_ = shape_.without(dim);
  view.strides_ = strides_.without(dim);
  return view;
}

Tensor Tensor::transpose(int a, int b) const {
  TW_REQUIRE(a >= 0 && a < rank() && b >= 0 && b < rank(),
             "transpose: dimensions {} and {} of a tensor {}", a, b, shape_);
  Tensor view = *this;
  std::swap(view.shape_[a], view.shape_[b]);
  std::swap(view.strides_[a], view.strides_[b]);
  return view;
}

Tensor Tensor::reshape(const Shape& shape) const {
  TW_REQUIRE(is_compact(), "reshape: a tensor {} with strides {} isn't compact", shape_, strides_);
  TW_REQUIRE(shape.numel() == numel(), "reshape: {} has {} elements, {} has {}", shape_, numel(),
             shape, shape.numel());
  return {data_, dtype_, shape, device_};
}

std::string to_text(const Tensor& tensor) {
  std::string text = format("{} {}", tensor.dtype(), tensor.shape());
  if (!tensor.is_compact()) text += format(" strides {}", tensor.strides());
  if (tensor.device() != Device{}) text += format(" on {}", tensor.device());
  return text;
}

int64_t storage_bytes(DType dtype, int64_t numel) {
  const int bits = dtype.bits();
  if (bits % 8 == 0) return saturating_product(numel, bits / 8);
  return numel / 8 * bits + (numel % 8 * bits + 7) / 8;
}

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// oneTBB's allocator keeps large blocks that were freed: fresh pages from the system cost more time
// than many kernels take. The sanitizers watch only the C library's.
void* allocate(size_t bytes, size_t alignment) {
#ifdef TW_SANITIZED
  return std::aligned_alloc(alignment, bytes);
#else
  return scalable_aligned_malloc(bytes, alignment);
#endif
}

}  // namespace

void* allocate_aligned(int64_t bytes, int64_t alignment) {
  constexpr int64_t kAddressSpace = int64_t{1} << 47;  // also keeps the rounding from overflow
  if (bytes > kAddressSpace) return nullptr;
  const auto wanted = static_cast<size_t>(bytes);
  // In pages of 4 KiB softmax over 64 MiB takes half as long again: misses of the TLB, and the
  // processor's own prefetch ends at each page. Who aligns to a large page wants some, too.
  const auto aligned = static_cast<size_t>(alignment);
  const bool huge = wanted >= 2 * kHugePage || aligned >= kHugePage;
  const size_t unit = huge ? std::max(kHugePage, aligned) : aligned;
  const size_t rounded = std::max(unit, (wanted + unit - 1) / unit * unit);
  void* memory = allocate(rounded, unit);
  if (huge && memory != nullptr) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish
  return memory;
}

void free_aligned(void* memory) {
#ifdef TW_SANITIZED
  std::free(memory);
#else
  scalable_aligned_free(memory);
#endif
}

OwnedTensor::OwnedTensor(DType dtype, const Shape& shape) {
  const int64_t bytes = storage_bytes(dtype, shape.numel());
  memory_.reset(allocate_aligned(bytes));
  if (memory_ == nullptr) {
    throw Error(codes::host_12, {}, "tensor: no memory for {} {} ({} KiB)", dtype, shape,
                bytes / 1024);
  }
  view_ = Tensor(memory_.get(), dtype, shape);
}

}  // namespace tw
