// Checks of arguments that the functions of the library share. Each raises an Error whose text
// begins with the function's name and tells what was given and what is needed.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tilewright/base/error.h"
#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// A tensor with its name, for messages.
struct Named {
  std::string_view name;
  const Tensor& tensor;
};

/// A wrong dtype, apart from other errors since languages have an exception of its own for it.
class DtypeError : public Error {
 public:
  using Error::Error;
};

/// `rms_norm: x is bf16 [4, 2, 8], it must have 2 dimensions`.
void check_rank(std::string_view function, const Named& t, int rank);
/// DtypeError: `rms_norm: x is i32 [4, 8], it must be f32, bf16 or f16`.
void check_dtype(std::string_view function, const Named& t, std::initializer_list<DType> allowed);
/// `rms_norm: w is f32 [9], it must be [8]`; `like` says where that comes from, may be empty.
void check_shape(std::string_view function, const Named& t, const Shape& shape,
                 std::string_view like = {});
/// `max: x is f32 [4, 0], its rows must have at least one element`.
void check_columns(std::string_view function, const Named& t);
/// Shape and dtype of another tensor.
void check_like(std::string_view function, const Named& t, const Named& other);

/// An output shares no memory with the inputs; with `in_place` it may be one of them.
/// `gather_rows: y f32 [4, 8] shares memory with table f32 [9, 8]; pass a copy of one`.
void check_apart(std::string_view function, const Named& out, std::initializer_list<Named> inputs,
                 bool in_place = false);

/// The same memory as words without a meaning: one kernel for all formats of a width.
/// `copy: x is e2m1 [4, 8], its elements must have 8, 16, 32 or 64 bits`.
Tensor as_bits(std::string_view function, const Named& t);

}  // namespace tw::kernels
