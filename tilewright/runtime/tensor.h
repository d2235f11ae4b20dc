// Tensors as the run time sees them: a view that owns nothing, and storage for those who need some.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "tilewright/base/dtype.h"
#include "tilewright/runtime/device.h"
#include "tilewright/runtime/shape.h"

namespace tw {

/// The element type of a C++ type: float is f32, int64_t is i64, bool is bool. Formats without a
/// C++ type (bf16, fp8, ...) are given by their dtype and raw storage.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return bool_;
  } else if constexpr (std::is_same_v<U, float>) {
    return f32;
  } else if constexpr (std::is_same_v<U, double>) {
    return f64;
  } else {
    static_assert(std::is_integral_v<U>, "give the dtype and a void pointer");
    constexpr DType kSigned[] = {i8, i16, i32, i64}, kUnsigned[] = {u8, u16, u32, u64};
    constexpr int width = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::is_signed_v<U> ? kSigned[width] : kUnsigned[width];
  }
}

/// An array somewhere in memory: address of element 0, element type, device, shape and strides. A
/// view: it owns nothing, a copy allocates nothing, and constness of the elements isn't tracked.
/// Strides count elements, also for packed formats (e2m1: two elements in a byte), whose innermost
/// stride is 1. An offset of a view is already in the address.
class Tensor {
 public:
  Tensor() = default;
  /// Row-major and without gaps.
  Tensor(const void* data, DType dtype, const Shape& shape, Device device = {});
  Tensor(const void* data, DType dtype, const Shape& shape, const Shape& strides,
         Device device = {});
  template <class T>
    requires(!std::is_void_v<T>)
  Tensor(T* data, const Shape& shape) : Tensor(data, dtype_of<T>(), shape) {}

  void* data() const { return data_; }
  /// The elements as a C++ type of the same width.
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data_);
  }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int rank() const { return shape_.rank(); }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  /// Extent or stride of a dimension; a negative index counts from the end.
  int64_t dim(int i) const { return shape_[i < 0 ? i + rank() : i]; }
  int64_t stride(int i) const { return strides_[i < 0 ? i + rank() : i]; }
  int64_t numel() const { return shape_.numel(); }
  /// Bytes of the elements, without gaps.
  int64_t bytes() const;
  /// Row-major without gaps. The stride of a dimension of extent <= 1 does not matter.
  bool is_compact() const;

  /// `count` entries of a dimension from `first` on.
  Tensor slice(int dim, int64_t first, int64_t count) const;
  /// One entry of a dimension, which disappears.
  Tensor select(int dim, int64_t index) const;
  Tensor transpose(int a, int b) const;
  /// The same elements in another shape; this one must be compact.
  Tensor reshape(const Shape& shape) const;

 private:
  Tensor at_offset(int64_t elements) const;

  void* data_ = nullptr;
  DType dtype_;
  Device device_;
  Shape shape_, strides_;
};

/// `bf16 [64, 128]`; with strides where it isn't compact; with the device where it isn't the CPU.
std::string to_text(const Tensor& tensor);

/// Bytes of `numel` elements without gaps; packed formats are rounded up to a byte. Saturates.
int64_t storage_bytes(DType dtype, int64_t numel);

/// Host memory aligned to `alignment`, a power of two; null when there is none. Zero bytes give an
/// address too.
void* allocate_aligned(int64_t bytes, int64_t alignment = 64);
void free_aligned(void* memory);

/// A compact tensor in host memory, aligned to 64 bytes. Its elements are undefined at first.
class OwnedTensor {
 public:
  OwnedTensor() = default;
  /// No memory is E-HOST-12.
  OwnedTensor(DType dtype, const Shape& shape);

  const Tensor& view() const { return view_; }
  operator const Tensor&() const { return view_; }
  const Tensor* operator->() const { return &view_; }

 private:
  struct Free {
    void operator()(void* memory) const { free_aligned(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  Tensor view_;
};

}  // namespace tw
