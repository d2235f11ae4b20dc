// The border between C and C++: what C gives becomes tensors and options, what C++ throws a status.
#pragma once

#include <array>
#include <optional>

#include "tilewright/base/error.h"
#include "tilewright/capi/base.h"
#include "tilewright/runtime/tensor.h"

namespace tw::capi {

/// Of the thread; "" before the first error.
const char* last_error() noexcept;

/// Keeps the text of the exception that is being handled as the thread's last error, behind the
/// function's name where it has another (of a kernel that functions share, or none); its status.
tw_status keep_error(const char* function) noexcept;

/// Arguments of a function, read and checked as far as C++ couldn't represent them. What doesn't
/// fit is an Error that begins with the function's name.
class Reader {
 public:
  explicit Reader(const char* function) : function_(function) {}

  Tensor operator()(const char* name, const tw_tensor* tensor) const;
  /// Null where it is NULL. Lives as long as the reader.
  const Tensor* optional(const char* name, const tw_tensor* tensor);
  DType dtype(const char* name, tw_dtype dtype) const;
  /// An enumerator of C++, which has the same numbers, from 0 to `last`.
  template <class Enum>
  Enum choice(const char* name, int32_t value, Enum last) const {
    check_choice(name, value, static_cast<int32_t>(last));
    return static_cast<Enum>(value);
  }
  /// What a struct is that can't be left out.
  template <class T>
  const T& required(const char* name, const T* pointer) const {
    TW_REQUIRE(pointer != nullptr, "{}: {} is NULL, it must be given", function_, name);
    return *pointer;
  }

 private:
  static constexpr size_t kMostOptional = 16;  // tensors in the options of a function

  void check_choice(const char* name, int32_t value, int32_t last) const;

  const char* function_;
  size_t count_ = 0;
  std::array<std::optional<Tensor>, kMostOptional> kept_;
};

/// Calls `f(reader)`, and no exception leaves it.
template <class F>
tw_status guarded(const char* function, F f) noexcept {
  try {
    Reader read(function);
    f(read);
    return TW_OK;
  } catch (...) {
    return keep_error(function);
  }
}

/// Options that may be NULL.
template <class Args>
Args args_or_default(const Args* args) {
  return args == nullptr ? Args{} : *args;
}

/// 0 stands for a default.
template <class T>
T or_default(T value, T fallback) {
  return value == 0 ? fallback : value;
}

}  // namespace tw::capi
