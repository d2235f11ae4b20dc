// Matrices [t, k] of which the rows don't matter, as lists.
#pragma once

#include "tilewright/kernels/check.h"

namespace tw::kernels {

/// `aux_fi: topk_idx is i64 [3, 2] strides [4, 1], it must be compact`. Its elements in one row.
inline Tensor as_list(std::string_view function, const Named& t,
                      std::initializer_list<DType> allowed) {
  check_rank(function, t, 2);
  check_dtype(function, t, allowed);
  TW_REQUIRE(t.tensor.is_compact(), "{}: {} is {}, it must be compact", function, t.name, t.tensor);
  return t.tensor.reshape({t.tensor.numel()});
}

}  // namespace tw::kernels
