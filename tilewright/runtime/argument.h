// One argument of a call.
#pragma once

#include <concepts>
#include <cstdint>

#include "tilewright/runtime/tensor.h"

namespace tw {

/// A tensor, a scalar, an address or nothing. It refers to the tensor, which must live
/// through the call (a temporary of the same expression does). `null` leaves out an output or
/// a nullable tensor.
class Arg {
 public:
  enum class Kind : uint8_t { null, tensor, boolean, integer, unsigned_integer, real, address };

  Arg() : integer_(0) {}
  Arg(std::nullptr_t) : Arg() {}
  Arg(const Tensor& tensor) : kind_(Kind::tensor), tensor_(&tensor) {}
  Arg(const OwnedTensor& tensor) : Arg(tensor.view()) {}
  Arg(bool value) : kind_(Kind::boolean), integer_(value) {}
  Arg(std::signed_integral auto value) : kind_(Kind::integer), integer_(value) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Arg(T value) : kind_(Kind::unsigned_integer), integer_(static_cast<int64_t>(value)) {}
  Arg(std::floating_point auto value) : kind_(Kind::real), real_(static_cast<double>(value)) {}
  static Arg address(const void* value);

  Kind kind() const { return kind_; }
  const Tensor& tensor() const { return *tensor_; }
  /// The value of `boolean` and `integer`; the bits of `unsigned_integer` and `address`.
  int64_t integer() const { return integer_; }
  double real() const { return real_; }

 private:
  Kind kind_ = Kind::null;
  union {
    const Tensor* tensor_;
    int64_t integer_;
    double real_;
  };
};

inline Arg Arg::address(const void* value) {
  Arg arg;
  arg.kind_ = Kind::address;
  arg.integer_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(value));
  return arg;
}

}  // namespace tw
