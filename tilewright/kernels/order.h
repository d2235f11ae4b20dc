// Integers in the place of floats, where values and their indices are ordered together.
#pragma once

#include <climits>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// An i32 that orders as x, of f32 or a float of 16 bits, does: both zeros are 0; NaN is the second
/// lowest of all that have the width of x. Of a float of 16 bits it takes the low 16 bits.
inline Expr ordered(const Expr& x) {
  const int bits = x.dtype().bits();
  const int32_t lowest = bits == 32 ? INT_MIN : -(1 << 15), magnitude = ~lowest;
  const Expr raw = cast(bitcast(x, bits == 32 ? i32 : i16), i32);
  const Expr number = raw ^ ((raw >> 31) & magnitude);
  return select(isnan(x), lowest + 1, select(x == 0.0F, 0, number));
}

}  // namespace tw::kernels
