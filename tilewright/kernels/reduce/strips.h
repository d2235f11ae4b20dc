// Rows that are too long to be held at once.
#pragma once

#include <algorithm>

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Calls body(column) for the first column of each strip of `width` in rows of h. Where rows are no
/// longer than that, there is one, and no loop.
inline void for_each_strip(int64_t h, int64_t width, const std::function<void(Expr)>& body) {
  if (h <= width) return body(0);
  serial(lang::cdiv(h, width), [&](Expr strip) { body(strip * width); });
}

/// On GPUs a block has about 1024 elements in registers, or one row of at most 16384. Measured for
/// whole rows: see row_schedule.h.
inline void hold_strips(Schedule& s, const Case& c) {
  const int64_t h = std::max<int64_t>(c.constant("h"), 1);
  s.set("rows", std::clamp<int64_t>(1024 / h, 1, 32)).set("width", 16384);
}

/// Where all that a block does with a row is one fold.
inline void fold_strips(Schedule& s, const Case& c) {
  hold_strips(s, c);
  four_vectors_a_thread(s, c);
}

}  // namespace tw::kernels
