// The schedule of kernels that hold whole rows in a block, on GPUs.
#pragma once

#include <algorithm>

#include "tilewright/lang/schedule.h"

namespace tw::kernels {

/// Sets `rows` so that a block has about 1024 elements, and one row where rows are longer. Measured
/// on an H200 with rows of 7168 bf16: one row a block, all of it in registers, moves at the speed
/// of a copy; several rows a block, or blocks that stay and walk over rows, are 5 to 10 % slower.
inline void hold_rows(Schedule& s, const Case& c) {
  s.set("rows", std::clamp<int64_t>(1024 / std::max<int64_t>(c.constant("h"), 1), 1, 32));
}

}  // namespace tw::kernels
