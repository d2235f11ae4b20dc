// From one fragment of a box to another: what the threads must exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/layout/fragment.h"

namespace tw::layout {

/// In order of cost.
enum class Exchange : uint8_t {
  none,       // every thread holds what it needs in the slot where it needs it
  registers,  // in other slots of its own
  shuffle,    // in lanes of its own warp
  shared,     // elsewhere: through shared memory
};

/// "nothing", "registers only", "warp shuffle", "shared memory".
std::string to_text(Exchange exchange);

struct Conversion {
  Exchange exchange = Exchange::none;
  /// (thread, slot) of the target to (thread, slot) of the source where it is found, threads
  /// counted from the first: from the thread itself where it is an owner, else with as much of its
  /// own number as possible. Empty if there is no such layout; then go through shared memory or
  /// look elements up.
  std::optional<Layout> source;
  /// How many slots of the source a slot of the target may come from, over all threads: as many
  /// shuffles, or selects, does one take. 0 without `source`.
  int64_t choices = 0;
};

/// The cheapest way from one fragment to another of the same box, for warps of `warp` threads.
/// Neither may be partial.
Conversion convert(const Fragment& from, const Fragment& to, int64_t warp = 32);

}  // namespace tw::layout
