// Rows that are too long to be held at once, as the folds of this folder share them.
#pragma once

#include <algorithm>

#include "tilewright/kernels/check.h"
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

/// Where all that a block does with a row is one fold: four vectors of 16 bytes a thread if that
/// makes whole warps. On an H200 with rows of 7168 bf16, 224 threads instead of 128: 26.6 us
/// instead of 26.9 for 8192 rows, 2.6 instead of 2.9 for 296.
inline void fold_strips(Schedule& s, const Case& c) {
  hold_strips(s, c);
  const int64_t bits = c.constant("h") * c.dtype().bits();
  const int64_t threads = bits / (4 * 128);
  if (bits % (4 * 128 * 32) == 0 && 128 < threads && threads <= 512) s.threads(threads);
}

}  // namespace tw::kernels
