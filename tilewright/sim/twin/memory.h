// Memory of the twin: bytes, which of them are written, and who touched them last.
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tilewright/sim/twin/order.h"

namespace tw::sim::twin {

enum class Touch : uint8_t { read, write, atomic };

/// One remembered touch: when and by whom, and where in the program (LaunchCode::accesses).
struct Record {
  IntervalId interval = 0;  // 0: none
  uint32_t access = 0;
};

/// Who touched one unit of memory. A few readers are remembered, of which a later one replaces
/// those that happened before it; so a race may be missed under one seed, but none is invented.
struct Trace {
  Record write;
  std::array<Record, 2> atomics;
  std::array<Record, 3> reads;
};

class Memory;
/// Where an access leads to.
struct Target {
  Memory* memory = nullptr;  // null: a local array
  std::byte* data = nullptr;
  int64_t byte = 0;  // from the beginning of the memory, or of the thread's local bytes
  int bytes = 1;
  int nibble = 0;  // bits by which a value of 4 bits is shifted
};

class Memory {
 public:
  /// Memory of the caller.
  Memory(std::byte* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  /// Memory of its own, filled with `poison` and unwritten.
  Memory(int64_t bytes, std::byte poison);
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool holds(int64_t byte, int64_t count) const {
    return byte >= 0 && count <= bytes_ && byte <= bytes_ - count;
  }
  void zero();

  /// Watches from now on that nothing is read before it is written.
  void track_writes() { written_.assign(static_cast<size_t>(bytes_), 0); }
  bool was_written(int64_t byte, int64_t count) const;
  void mark_written(int64_t byte, int64_t count);

  /// Watches who touches it, in units of so many bytes; what was noted before is forgotten.
  void watch(int unit);
  void stop_watching() { unit_ = 0; }
  bool is_watched() const { return unit_ != 0; }
  int unit() const { return unit_; }
  Trace& trace(int64_t unit);

 private:
  static constexpr int64_t kPage = 256;  // units whose traces are made together
  using Page = std::array<Trace, kPage>;

  std::vector<std::byte> own_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::vector<uint8_t> written_;  // per byte; empty: everything is
  int unit_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace tw::sim::twin
