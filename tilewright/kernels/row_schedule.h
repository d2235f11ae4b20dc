// The schedule of kernels that hold whole rows in a block, on GPUs.
#pragma once

#include <algorithm>

#include "tilewright/jit/jit.h"
#include "tilewright/lang/schedule.h"

namespace tw::kernels {

/// Sets `rows` so that a block has about 1024 elements, and one row where rows are longer. Measured
/// on an H200 with rows of 7168 bf16: one row a block, all of it in registers, moves at the speed
/// of a copy; several rows a block, or blocks that stay and walk over rows, are 5 to 10 % slower.
inline void hold_rows(Schedule& s, const Case& c) {
  s.set("rows", std::clamp<int64_t>(1024 / std::max<int64_t>(c.constant("h"), 1), 1, 32));
}

/// Four vectors of 16 bytes a thread of a row if that makes whole warps. On an H200 with rows of
/// 7168 bf16, 224 threads instead of 128: row sums 26.6 us instead of 26.9 for 8192 rows, 2.6
/// instead of 2.9 for 296; gathers of 1168 rows 8.6 us instead of 9.1.
inline void four_vectors_a_thread(Schedule& s, const Case& c) {
  const int64_t bits = c.constant("h") * c.dtype().bits();
  const int64_t threads = bits / (4 * 128);
  if (bits % (4 * 128 * 32) == 0 && 128 < threads && threads <= 512) s.threads(threads);
}

/// Whether a GPU has fewer places for blocks that widen all they hold than x has rows, which are of
/// 16 bits and fit: a constant of kernels with hold_many_rows.
inline Constant many_rows(const Tensor& x) {
  constexpr int64_t kPlaces = 4 * 132;  // four blocks on each multiprocessor of an H200
  const bool fits = x.dtype().bits() == 16 && x.dim(1) >= 2048 && x.dim(1) <= 7168;
  return {"many_rows", x.device().kind != DeviceKind::cpu && fits && x.dim(0) > kPlaces};
}

/// Of many rows, as many at a time as the registers allow are worth that a row is widened at each
/// use. On an H200 with 1168 rows of 7168 bf16, nine blocks a multiprocessor instead of five or
/// six: layer_norm 9.0 us instead of 10.0, rms_norm 8.4 instead of 9.4; with 296 rows 10 % slower.
/// So many blocks have no spills (NVRTC 13.0, sm_90a).
inline void hold_many_rows(Schedule& s, const Case& c) {
  constexpr int64_t kThreads = 128, kRegisters = 65536;  // of a multiprocessor
  hold_rows(s, c);
  if (c.constant("many_rows") == 0) return;
  const int64_t words = c.constant("h") / (2 * kThreads), others = words < 24 ? 36 : 28;
  const int64_t registers = (words + others + 7) / 8 * 8;
  s.threads(kThreads).min_blocks_per_sm(kRegisters / (kThreads * registers));
}

}  // namespace tw::kernels
