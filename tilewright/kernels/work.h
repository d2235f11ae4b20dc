// How much a call moves, by which schedules of GPUs differ.
#pragma once

#include <optional>

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// What a call reads and writes: less than gives every multiprocessor several blocks of the usual
/// size, what fits the second-level cache, and more, which waits for memory. Of an H200, with 132
/// multiprocessors and 50 MB of that cache.
enum class Work : uint8_t { little, cached, much };

/// For tests, which call with little: as what calls count while such an object lives.
class WithWork {
 public:
  explicit WithWork(Work work) { forced() = work; }
  ~WithWork() { forced().reset(); }
  WithWork(const WithWork&) = delete;
  WithWork& operator=(const WithWork&) = delete;
  static std::optional<Work>& forced() {
    static thread_local std::optional<Work> work;
    return work;
  }
};

/// That of a call which reads and writes so many bytes together. Schedules of CPUs don't ask.
inline Work work_of(int64_t bytes, DeviceKind device) {
  if (device == DeviceKind::cpu) return Work::much;
  if (WithWork::forced()) return *WithWork::forced();
  return bytes <= 12 << 20 ? Work::little : bytes <= 48 << 20 ? Work::cached : Work::much;
}

/// Of a launch with much work whose blocks stay for many tiles: two on every multiprocessor of an
/// H200. For tests, two: then few tiles are several for a block.
inline int64_t blocks_that_stay() { return WithWork::forced() ? 2 : 2 * 132; }

}  // namespace tw::kernels
