// Copies that engines make beside the threads of a block, and the barriers with phases that count
// them. A copy reads its source and writes its destination at two moments of their own, which come
// as late as they can, or (with a seed) at any time.
//
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/sim/twin/code.h"
#include "tilewright/sim/twin/memory.h"
#include "tilewright/sim/twin/order.h"

namespace tw::sim::twin {

/// A part of a copy that is contiguous on both sides.
struct Piece {
  Target src, dst;
  bool zero = false;   // there is no source
  bool skips = false;  // there is no destination
};

struct Task {
  enum class Stage : uint8_t { started, read, done };
  const AsyncCode* code = nullptr;
  int32_t thread = 0;  // that has started it
  int32_t engine = 0;
  Stage stage = Stage::started;
  bool waited_for = false;
  std::vector<Piece> pieces;
  std::vector<std::byte> data;  // between its two moments
  int64_t bytes = 0;            // that it counts on its barrier
  int64_t phases = 0;           // byte of the barrier in shared memory
  Clocks known;                 // what the thread knew
  Clocks fenced;                // and had known at its last fence
  IntervalId reading = 0, writing = 0;
  std::string src_text, dst_text;
};
using TaskPtr = std::shared_ptr<Task>;

class Block;

/// A barrier with phases.
struct Phases {
  Block* home = nullptr;  // whose shared memory it lies in
  int64_t byte = 0;       // in shared memory
  const ir::Node* init = nullptr;
  IntervalId initialized = 0;
  int64_t count = 0, pending = 0;  // arrivals
  int64_t bytes = 0;               // expected and not here yet
  uint64_t number = 0;             // of the present phase
  Clocks arrivals, over;           // what those of this phase pass on, and of all that are over
  std::vector<TaskPtr> tasks;      // that counted in this phase
};

/// An arrival that comes when these copies are done.
struct LateArrival {
  std::vector<TaskPtr> after;
  int64_t phases = 0;
  Clocks known;
  const ir::Node* node = nullptr;
};

/// The copies of a thread that no group waits for yet, and its groups in order.
struct Groups {
  std::vector<TaskPtr> open;
  std::vector<std::vector<TaskPtr>> committed;
};

/// The fences of a thread: in which intervals, and what it knew at the last.
struct Fences {
  std::vector<IntervalId> when;
  Clocks known;
};

struct Engines {
  std::vector<TaskPtr> running;
  std::vector<TaskPtr> unwaited;  // done, and nobody knows
  std::vector<LateArrival> late;
  std::map<int64_t, Phases> phases;                // by byte in shared memory
  std::map<int32_t, Groups> copies, bulk;          // by thread
  std::map<int32_t, Fences> fences, phase_fences;  // of threads; the latter for new barriers only
  int32_t count = 0;
  std::vector<int32_t> free;
};

}  // namespace tw::sim::twin
