// How much a call moves, as a constant by which schedules of GPUs differ.
#pragma once

#include <optional>

#include "tilewright/jit/jit.h"

namespace tw::kernels {

/// What a call reads and writes: less than gives every multiprocessor several blocks of the usual
/// size, what fits the second-level cache, and more, which waits for memory.
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

/// The constant "work" for so many bytes read and written together. A CPU's schedules don't ask.
inline Constant work(int64_t bytes, DeviceKind device) {
  Work result = Work::much;
  if (device != DeviceKind::cpu) {
    if (bytes <= 48 << 20) result = Work::cached;
    if (bytes <= 12 << 20) result = Work::little;
    result = WithWork::forced().value_or(result);
  }
  return {"work", static_cast<int64_t>(result)};
}
inline Work work_of(const Case& c) { return static_cast<Work>(c.constant("work")); }

}  // namespace tw::kernels
