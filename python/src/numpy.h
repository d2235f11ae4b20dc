// What is needed of numpy, imported when the first array is.
#pragma once

#include <array>

#include <nanobind/nanobind.h>

#include "tilewright/base/dtype.h"

namespace tw::python {

/// Never destroyed: the interpreter may be gone before our statics are.
struct Numpy {
  nanobind::object ndarray, empty;
  std::array<nanobind::object, kScalarCount> storage;    // dtypes; unsigned where numpy lacks one
  std::array<nanobind::object, kScalarCount> extension;  // of ml_dtypes, empty without it
};
const Numpy& numpy();

}  // namespace tw::python
