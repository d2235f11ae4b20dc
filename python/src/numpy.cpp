#include "numpy.h"

#include <memory>
#include <utility>

namespace tw::python {
namespace {

namespace nb = nanobind;

const char* storage_name(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::boolean:
      return "bool";
    case Scalar::i8:
      return "int8";
    case Scalar::i16:
      return "int16";
    case Scalar::i32:
      return "int32";
    case Scalar::i64:
      return "int64";
    case Scalar::u16:
    case Scalar::bf16:
      return "uint16";
    case Scalar::u32:
      return "uint32";
    case Scalar::u64:
      return "uint64";
    case Scalar::f16:
      return "float16";
    case Scalar::f32:
    case Scalar::tf32:
      return "float32";
    case Scalar::f64:
      return "float64";
    default:
      return "uint8";
  }
}

Numpy* load() {
  auto table = std::make_unique<Numpy>();
  const nb::module_ module = nb::module_::import_("numpy");
  table->ndarray = module.attr("ndarray");
  table->empty = module.attr("empty");
  const nb::object dtype = module.attr("dtype");
  for (const DType each : all_dtypes()) {
    table->storage[static_cast<size_t>(each.scalar)] = dtype(storage_name(each));
  }
  try {
    const nb::module_ extension = nb::module_::import_("ml_dtypes");
    for (const auto& [scalar, name] : {std::pair{Scalar::bf16, "bfloat16"},
                                       {Scalar::e4m3, "float8_e4m3fn"},
                                       {Scalar::e5m2, "float8_e5m2"},
                                       {Scalar::e8m0, "float8_e8m0fnu"}}) {
      if (nb::hasattr(extension, name)) {
        table->extension[static_cast<size_t>(scalar)] = dtype(extension.attr(name));
      }
    }
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  return table.release();
}

}  // namespace

const Numpy& numpy() {
  // Not a static's initialiser: an import releases the GIL, and its guard would be a second lock.
  static const Numpy* known = nullptr;
  if (known == nullptr) {
    const Numpy* loaded = load();
    if (known == nullptr) known = loaded;  // else another thread was faster; ours leaks, once
  }
  return *known;
}

}  // namespace tw::python
