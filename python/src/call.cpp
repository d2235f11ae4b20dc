#include "call.h"

#include "tilewright/base/error.h"

namespace tw::python {

Call::Call(const char* function, const std::optional<std::string>& dtype) : function_(function) {
  if (dtype) dtype_ = dtype_named(*dtype);
  borrowed_.reserve(8);
  outputs_.reserve(4);
}

const Borrowed& Call::take(const char* name, const Array& array, std::optional<DType> unsigned_as) {
  try {
    Borrowed& taken = borrowed_.emplace_back(array.object);
    const DType dtype = taken.tensor().dtype();
    if (unsigned_as && dtype.is_unsigned_int() && *unsigned_as != dtype &&
        dtype.bits() == std::max(unsigned_as->bits(), 8)) {
      taken.reinterpret(*unsigned_as);
    }
    if (!framework_) framework_.emplace(array.object, taken.tensor().device());
    return taken;
  } catch (const Unusable& unusable) {
    const std::string text = format("{}: {} {}", function_, name, unusable.reason);
    PyErr_SetString(unusable.kind, text.c_str());
    throw nb::python_error();
  } catch (Error& error) {  // what DLPack describes is no tensor
    throw error.note("{} of {}", name, function_);
  }
}

Tensor Call::input(const char* name, const Array& array, std::optional<DType> unsigned_as) {
  return take(name, array, unsigned_as).tensor();
}

std::optional<Tensor> Call::input(const char* name, const MaybeArray& array) {
  if (!array) return {};
  return take(name, array, dtype_).tensor();
}

Tensor Call::output(const char* name, const MaybeArray& out, DType dtype, const Shape& shape) {
  return out ? output(name, out, dtype_) : new_output(dtype, shape);
}

Tensor Call::output(const char* name, const Array& out, std::optional<DType> unsigned_as,
                    bool returned) {
  const Borrowed& taken = take(name, out, unsigned_as);
  if (taken.is_read_only()) {
    throw nb::value_error(format("{}: {} is read-only", function_, name).c_str());
  }
  if (returned) outputs_.push_back({{nb::borrow(out.object), taken.tensor(), {}}, false});
  return taken.tensor();
}

Tensor Call::new_output(DType dtype, const Shape& shape) {
  const Framework numpy_arrays;
  const Framework& framework = framework_ ? *framework_ : numpy_arrays;
  outputs_.push_back({framework.empty(dtype, shape, /*raw_bits=*/dtype_.has_value()), true});
  return outputs_.back().made.tensor;
}

Tensor Call::new_columns(DType dtype, int64_t m, int64_t n, int64_t pitch) {
  outputs_.push_back(
      {framework_.value().empty_columns(dtype, m, n, pitch, dtype_.has_value()), true});
  return outputs_.back().made.tensor;
}

void* Call::workspace(int64_t bytes) {
  Framework::Made made = framework_.value().empty(u8, {bytes}, /*raw_bits=*/true);
  void* memory = made.tensor.data();
  workspaces_.push_back(std::move(made.object));
  return memory;
}

nb::any Call::result() const {
  const auto at = [&](size_t i) {
    const Output& output = outputs_[i];
    return output.is_new ? Framework::finish(output.made) : output.made.object;
  };
  if (outputs_.empty()) return nb::borrow<nb::any>(nb::none());
  if (outputs_.size() == 1) return nb::borrow<nb::any>(at(0));
  nb::any all = nb::steal<nb::any>(PyTuple_New(static_cast<Py_ssize_t>(outputs_.size())));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(i), at(i).release().ptr());
  }
  return all;
}

}  // namespace tw::python
