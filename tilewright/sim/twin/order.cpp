#include "tilewright/sim/twin/order.h"

#include <algorithm>

namespace tw::sim::twin {
namespace {

void join_times(std::vector<uint32_t>* to, const std::vector<uint32_t>& from) {
  to->resize(std::max(to->size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] = std::max((*to)[i], from[i]);
}
bool holds(const std::vector<uint32_t>& times, int32_t member, uint32_t time) {
  const auto i = static_cast<size_t>(member);
  return i < times.size() && times[i] >= time;
}

}  // namespace

void Clock::join(const Clock& other) {
  join_times(&engines, other.engines);
  if (other.epoch < epoch) return;
  if (other.epoch > epoch) {
    epoch = other.epoch;
    times = other.times;
    return;
  }
  join_times(&times, other.times);
}

void join_clocks(Clocks* to, const Clocks& from) {
  for (const auto& [block, clock] : from) (*to)[block].join(clock);
}

BlockOrder::BlockOrder(Intervals& intervals, int32_t block, int32_t threads)
    : intervals_(intervals),
      block_(block),
      threads_(threads),
      known_(static_cast<size_t>(threads)) {}

IntervalId BlockOrder::begin(int32_t thread) {
  Known& k = known_[static_cast<size_t>(thread)];
  k.interval = intervals_.add({block_, thread, epoch_, k.time});
  return k.interval;
}

bool BlockOrder::knows(int32_t thread, IntervalId id) const {
  const Interval& i = intervals_[id];
  if (i.block == block_) {
    if (i.thread >= threads_) {
      return !engines_.empty() &&
             holds(engines_[static_cast<size_t>(thread)], i.thread - threads_, i.time);
    }
    if (i.thread == thread || i.epoch < epoch_) return true;
    const Known& k = known_[static_cast<size_t>(thread)];
    return i.thread >= k.begin && i.thread < k.end && times(thread)[i.thread] >= i.time;
  }
  return !foreign_.empty() && knows(foreign_[static_cast<size_t>(thread)], id);
}

bool BlockOrder::knows(const Clocks& clocks, IntervalId id) const {
  const Interval& i = intervals_[id];
  const auto at = clocks.find(i.block);
  if (at == clocks.end()) return false;
  const Clock& clock = at->second;
  if (i.thread >= threads_) return holds(clock.engines, i.thread - threads_, i.time);
  return i.epoch < clock.epoch || (i.epoch == clock.epoch && holds(clock.times, i.thread, i.time));
}

IntervalId BlockOrder::begin_engine(int32_t engine) {
  const auto e = static_cast<size_t>(engine);
  if (engine_times_.size() <= e) engine_times_.resize(e + 1);
  return intervals_.add({block_, threads_ + engine, 0, ++engine_times_[e]});
}

void BlockOrder::release_engine(IntervalId id, Clocks* to) const {
  const Interval& i = intervals_[id];
  std::vector<uint32_t>& engines = (*to)[block_].engines;
  const auto e = static_cast<size_t>(i.thread - threads_);
  if (engines.size() <= e) engines.resize(e + 1);
  engines[e] = std::max(engines[e], i.time);
}

void BlockOrder::meet_engines(const std::vector<int32_t>* threads) {
  if (engines_.empty()) return;
  std::vector<uint32_t> all;
  const auto for_each = [&](auto f) {
    if (threads == nullptr) {
      std::for_each(engines_.begin(), engines_.end(), f);
    } else {
      for (const int32_t t : *threads) f(engines_[static_cast<size_t>(t)]);
    }
  };
  for_each([&](const std::vector<uint32_t>& known) { join_times(&all, known); });
  for_each([&](std::vector<uint32_t>& known) { known = all; });
}

void BlockOrder::widen(int32_t thread, int32_t begin, int32_t end) {
  if (times_.empty()) times_.resize(static_cast<size_t>(threads_) * static_cast<size_t>(threads_));
  Known& k = known_[static_cast<size_t>(thread)];
  k.begin = k.begin == k.end ? begin : std::min(k.begin, begin);
  k.end = std::max(k.end, end);
}

void BlockOrder::meet() {
  ++epoch_;
  meet_engines(nullptr);
  for (int32_t t = 0; t < threads_; ++t) {
    Known& k = known_[static_cast<size_t>(t)];
    if (k.begin < k.end) std::fill(times(t) + k.begin, times(t) + k.end, 0U);
    k = {.interval = 0, .time = k.time + 1};
  }
  if (foreign_.empty()) return;
  Clocks all;
  for (const Clocks& clocks : foreign_) join_clocks(&all, clocks);
  std::fill(foreign_.begin(), foreign_.end(), all);
}

void BlockOrder::meet(const std::vector<int32_t>& threads) {
  meet_engines(&threads);
  int32_t begin = threads_, end = 0;
  for (const int32_t t : threads) {
    const Known& k = known_[static_cast<size_t>(t)];
    begin = std::min(begin, t);
    end = std::max(end, t + 1);
    if (k.begin < k.end) {
      begin = std::min(begin, k.begin);
      end = std::max(end, k.end);
    }
  }
  joined_.assign(static_cast<size_t>(end - begin), 0);
  for (const int32_t t : threads) {
    const Known& k = known_[static_cast<size_t>(t)];
    for (int32_t i = k.begin; i < k.end; ++i) {
      uint32_t& time = joined_[static_cast<size_t>(i - begin)];
      time = std::max(time, times(t)[i]);
    }
  }
  for (const int32_t t : threads) {
    uint32_t& time = joined_[static_cast<size_t>(t - begin)];
    time = std::max(time, known_[static_cast<size_t>(t)].time);
  }
  for (const int32_t t : threads) {
    widen(t, begin, end);
    std::copy(joined_.begin(), joined_.end(), times(t) + begin);
    Known& k = known_[static_cast<size_t>(t)];
    ++k.time;
    k.interval = 0;
  }
  if (foreign_.empty()) return;
  Clocks all;
  for (const int32_t t : threads) join_clocks(&all, foreign_[static_cast<size_t>(t)]);
  for (const int32_t t : threads) foreign_[static_cast<size_t>(t)] = all;
}

void BlockOrder::release(int32_t thread, Clocks* to, bool block_only) {
  Known& k = known_[static_cast<size_t>(thread)];
  Clock mine{epoch_, std::vector<uint32_t>(static_cast<size_t>(threads_)), {}};
  if (!engines_.empty()) mine.engines = engines_[static_cast<size_t>(thread)];
  for (int32_t i = k.begin; i < k.end; ++i) mine.times[static_cast<size_t>(i)] = times(thread)[i];
  mine.times[static_cast<size_t>(thread)] = k.time;
  (*to)[block_].join(mine);
  if (!block_only && !foreign_.empty()) join_clocks(to, foreign_[static_cast<size_t>(thread)]);
  ++k.time;
  k.interval = 0;
}

void BlockOrder::acquire(int32_t thread, const Clocks& from, bool block_only) {
  for (const auto& [block, clock] : from) {
    if (block == block_) {
      if (!clock.engines.empty()) {
        engines_.resize(static_cast<size_t>(threads_));
        join_times(&engines_[static_cast<size_t>(thread)], clock.engines);
      }
      if (clock.epoch < epoch_) continue;
      widen(thread, 0, threads_);
      for (size_t i = 0; i < clock.times.size(); ++i) {
        times(thread)[i] = std::max(times(thread)[i], clock.times[i]);
      }
    } else if (!block_only) {
      foreign_.resize(static_cast<size_t>(threads_));
      foreign_[static_cast<size_t>(thread)][block].join(clock);
    }
  }
}

}  // namespace tw::sim::twin
