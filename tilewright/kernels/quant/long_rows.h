// Casts in groups of a whole row that is too long to be held at once.
#pragma once

#include <cstdint>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Longer rows are read twice.
constexpr int64_t kLongestHeld = 16384;

/// The dataflow of per_token_cast where the group is a row, of any length.
void cast_long_rows(Builder& k, const Case& c);

}  // namespace tw::kernels
