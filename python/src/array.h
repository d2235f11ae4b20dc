// Arrays of the caller's as tensors, and new arrays for results. Whatever has DLPack is an array;
// numpy's are read through the buffer protocol, which costs a tenth of that.
#pragma once

#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "tilewright/runtime/dlpack.h"
#include "tilewright/runtime/tensor.h"

namespace tw::python {

namespace nb = nanobind;

/// An argument that must be an array; Call looks whether it is one. Borrowed from the caller.
struct Array {
  nb::handle object;
};
/// The same where None is legal.
struct MaybeArray : Array {
  explicit operator bool() const { return object.is_valid() && !object.is_none(); }
};

/// Why an object can't be used as an array: the rest of a sentence that begins with its name.
struct Unusable {
  PyObject* kind;  // the Python exception
  std::string reason;
};

/// While it lives, tensors with gradients are taken as if they had none; else they are refused,
/// since results of ours have none. Of this thread: a detach() of each argument would have to look
/// into tuples, and a function gives back the very tensor that is its `out`.
class WithoutGradients {
 public:
  WithoutGradients();
  ~WithoutGradients();
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

 private:
  bool before_;
};

/// The memory of an array, held until this is destroyed (which needs the GIL).
class Borrowed {
 public:
  /// Throws Unusable, or the exception of the object's own __dlpack__.
  explicit Borrowed(nb::handle object);
  ~Borrowed();
  Borrowed(Borrowed&& other) noexcept;
  Borrowed& operator=(Borrowed&&) = delete;

  const Tensor& tensor() const { return tensor_; }
  bool is_read_only() const { return read_only_; }
  /// Takes unsigned integers as elements of the same width; of e2m1, as two in a byte.
  void reinterpret(DType dtype);

 private:
  bool from_buffer(nb::handle object);
  bool from_extension_dtype(nb::handle object);
  bool from_framework(nb::handle object);
  bool from_dlpack(nb::handle object);

  Tensor tensor_;
  bool read_only_ = false;
  Py_buffer buffer_{};  // held when its obj isn't null
  dlpack::DLManagedTensor* managed_ = nullptr;
  dlpack::DLManagedTensorVersioned* managed_versioned_ = nullptr;
};

/// Makes arrays of the kind of an example, which must live as long: numpy's, those of the module
/// whose from_dlpack takes them, or those of the framework's own allocator, on a GPU always.
class Framework {
 public:
  Framework() = default;  // numpy
  Framework(nb::handle example, Device device);

  struct Made {
    nb::object object;
    Tensor tensor;
    nb::object from_dlpack;  // what makes the framework's array of the object; empty: it is one
  };
  /// A compact array with undefined elements. `finish` turns it into what the caller gets, once the
  /// elements are there. A format that numpy lacks is one of ml_dtypes, or, with `raw_bits` or
  /// without that package, unsigned integers. On a GPU of a framework whose allocator isn't known
  /// it is an Error.
  Made empty(DType dtype, const Shape& shape, bool raw_bits) const;
  /// The same [m, n], column by column, which begin `pitch` elements apart.
  Made empty_columns(DType dtype, int64_t m, int64_t n, int64_t pitch, bool raw_bits) const;
  static nb::object finish(const Made& made);
  /// The stream that the framework works on; on the CPU none.
  Stream current_stream() const;

 private:
  nb::object from_dlpack() const;
  Made empty_own(DType dtype, const Shape& shape) const;

  nb::handle example_;
  Device device_;
  const dlpack::DLPackExchangeAPI* exchange_ = nullptr;
  bool is_torch_ = false;  // with exchange table, or on a GPU
};

}  // namespace tw::python

namespace nanobind::detail {

template <>
struct type_caster<tw::python::Array> {
  NB_TYPE_CASTER(tw::python::Array, const_name("tilewright.Array"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};

template <>
struct type_caster<tw::python::MaybeArray> {
  NB_TYPE_CASTER(tw::python::MaybeArray, const_name("tilewright.Array"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return true;
  }
};

}  // namespace nanobind::detail
