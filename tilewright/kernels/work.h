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

}  // namespace tw::kernels
