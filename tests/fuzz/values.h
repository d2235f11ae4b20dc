// Random values of every dtype, with a taste for the awkward ones.
#pragma once

#include <cstdint>

#include "tests/fuzz/random.h"
#include "tilewright/base/dtype.h"

namespace tw::fuzz {

/// The bits of a value: zeros of both signs, NaN, infinities, subnormals, extremes, small integers,
/// ordinary numbers, any pattern.
uint64_t any_value(Random& random, DType dtype);

/// An integer from -4 to 4 (0 to 4 where there are no negative numbers; a power of two in e8m0).
uint64_t small_value(Random& random, DType dtype);

}  // namespace tw::fuzz
