// How much a call moves, as a constant by which schedules of GPUs differ.
#pragma once

#include "tilewright/jit/jit.h"

namespace tw::kernels {

/// What a call reads and writes: less than gives every multiprocessor several blocks of the usual
/// size, what fits the second-level cache, and more, which waits for memory.
enum class Work : uint8_t { little, cached, much };

/// The constant "work" for so many bytes read and written together. A CPU's schedules don't ask.
inline Constant work(int64_t bytes, DeviceKind device) {
  Work result = Work::much;
  if (device != DeviceKind::cpu) {
    if (bytes <= 48 << 20) result = Work::cached;
    if (bytes <= 12 << 20) result = Work::little;
  }
  return {"work", static_cast<int64_t>(result)};
}
inline Work work_of(const Case& c) { return static_cast<Work>(c.constant("work")); }

/// Of kernels whose blocks of 128 threads treat each element alike: vectors of 16 bytes that a
/// thread loads of each of its inputs. Measured on an H200 with copies: four are 3 % faster than two
/// in the cache and 4 % slower from memory.
inline int64_t vectors_per_thread(const Case& c, size_t inputs) {
  if (inputs > 1) return 1;
  return work_of(c) == Work::much ? 2 : 4;
}

}  // namespace tw::kernels
