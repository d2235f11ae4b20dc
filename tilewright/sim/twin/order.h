// What happens before what: vector clocks of the threads of a launch.
//
// A thread's life is cut into intervals: a new one begins wherever another thread may come to know
// what it has done so far (a barrier, sync_warp, an atomic that releases). An interval is named by
// (block, thread, epoch, time): the epoch counts the barriers of the whole block, the time counts
// the thread's own intervals. What a thread knows of its own block is all earlier epochs, and of
// the present one the times of the other threads; that part is forgotten at each barrier of the
// block, so that most kernels never need more than a few numbers.
//
// An engine that works beside the threads (asynchronous copies) is one more member of a block,
// numbered after its threads: what it does happens in intervals of its own, which begin with what
// the issuing thread knew and become known to whoever waits for it. No barrier makes them known by
// itself.
//
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tw::sim::twin {

/// Number of an interval in its launch; 0 is none.
using IntervalId = uint32_t;

struct Interval {
  int32_t block = 0, thread = 0;
  uint32_t epoch = 0, time = 0;
};

/// What is known of a block: all epochs before this one, of this one the threads' times, and the
/// times of its engines.
struct Clock {
  uint32_t epoch = 0;
  std::vector<uint32_t> times, engines;

  void join(const Clock& other);
};
/// What is known of several blocks, by number. Also what an atomic location passes on.
using Clocks = std::map<int32_t, Clock>;

void join_clocks(Clocks* to, const Clocks& from);

/// The intervals of a launch. The number of one can be kept for as long as the launch runs.
class Intervals {
 public:
  IntervalId add(const Interval& interval) {
    all_.push_back(interval);
    return static_cast<IntervalId>(all_.size() - 1);
  }
  const Interval& operator[](IntervalId id) const { return all_[id]; }

 private:
  std::vector<Interval> all_{1};
};

/// The clocks of a block's threads.
class BlockOrder {
 public:
  BlockOrder(Intervals& intervals, int32_t block, int32_t threads);

  /// The interval in which the thread is.
  IntervalId now(int32_t thread) {
    Known& k = known_[static_cast<size_t>(thread)];
    return k.interval != 0 ? k.interval : begin(thread);
  }
  /// Whether all that was done in the interval happened before what the thread does now.
  bool knows(int32_t thread, IntervalId id) const;
  /// Whether it did so before whoever has these clocks.
  bool knows(const Clocks& clocks, IntervalId id) const;

  /// Whether the thread knows that another block has begun.
  bool has_met(int32_t thread, int32_t block) const {
    return !foreign_.empty() && foreign_[static_cast<size_t>(thread)].contains(block);
  }

  /// A new interval of an engine, which nobody knows.
  IntervalId begin_engine(int32_t engine);
  /// Adds what the engine has done until now, up to the interval, to the clocks.
  void release_engine(IntervalId id, Clocks* to) const;
  bool is_engine(IntervalId id) const { return intervals_[id].thread >= threads_; }

  /// All threads of the block have met.
  void meet();
  /// These threads have met.
  void meet(const std::vector<int32_t>& threads);
  /// Passes on what the thread knows; with `block_only` to its own block only.
  void release(int32_t thread, Clocks* to, bool block_only);
  void acquire(int32_t thread, const Clocks& from, bool block_only);

 private:
  struct Known {
    IntervalId interval = 0;     // 0: not begun
    uint32_t time = 1;           // the thread's own
    int32_t begin = 0, end = 0;  // threads of whose present epoch something is known
  };
  IntervalId begin(int32_t thread);
  uint32_t* times(int32_t thread) {
    return times_.data() + static_cast<size_t>(thread) * static_cast<size_t>(threads_);
  }
  const uint32_t* times(int32_t thread) const {
    return times_.data() + static_cast<size_t>(thread) * static_cast<size_t>(threads_);
  }
  void widen(int32_t thread, int32_t begin, int32_t end);
  /// Makes known to these threads (null: all) what one of them knows of engines.
  void meet_engines(const std::vector<int32_t>* threads);

  Intervals& intervals_;
  int32_t block_, threads_;
  uint32_t epoch_ = 1;
  std::vector<Known> known_;
  std::vector<uint32_t> times_;  // [threads, threads]; made when first needed
  std::vector<Clocks> foreign_;  // of other blocks, by thread; empty: nobody knows anything
  std::vector<std::vector<uint32_t>> engines_;  // known of them, by thread; empty: nothing
  std::vector<uint32_t> engine_times_;          // where they are
  std::vector<uint32_t> joined_;                // scratch
};

}  // namespace tw::sim::twin
