// Memory of the twin: bytes, which of them are written, and who touched them last.
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

  /// That a thread of the warp leaves first.
  const Record& reader(int32_t warp) const { return reads[static_cast<size_t>(warp) % 3]; }
};

/// Whether each of some bytes is marked (by 1) as written.
inline bool all_written(const uint8_t* marks, int64_t count) {
  uint64_t some = 0;
  switch (count) {
    case 1:
      return *marks == 1;
    case 2:
      std::memcpy(&some, marks, 2);
      return some == 0x0101;
    case 4:
      std::memcpy(&some, marks, 4);
      return some == 0x01010101;
    case 8:
      std::memcpy(&some, marks, 8);
      return some == 0x0101010101010101;
    default:
      return std::memchr(marks, 0, static_cast<size_t>(count)) == nullptr;
  }
}

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
  bool was_written(int64_t byte, int64_t count) const {
    return written_.empty() || all_written(written_.data() + byte, count);
  }
  void mark_written(int64_t byte, int64_t count);

  /// Watches who touches it, in units of so many bytes, a power of two; what was noted before is
  /// forgotten.
  void watch(int unit);
  void stop_watching() { shift_ = -1; }
  bool is_watched() const { return shift_ >= 0; }
  /// The unit that has a byte.
  int64_t unit_of(int64_t byte) const { return byte >> shift_; }
  template <class F>
  void for_each_trace(F f) const {
    for (const std::unique_ptr<Page>& page : pages_) {
      if (page == nullptr) continue;
      for (const Trace& trace : *page) f(trace);
    }
  }
  Trace& trace(int64_t unit) {
    const std::unique_ptr<Page>& page = pages_[static_cast<size_t>(unit / kPage)];
    return page != nullptr ? (*page)[static_cast<size_t>(unit % kPage)] : new_trace(unit);
  }

 private:
  static constexpr int64_t kPage = 256;  // units whose traces are made together
  using Page = std::array<Trace, kPage>;
  Trace& new_trace(int64_t unit);

  std::vector<std::byte> own_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::vector<uint8_t> written_;  // per byte; empty: everything is
  int shift_ = -1;                // a unit has 2^shift bytes
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace tw::sim::twin
