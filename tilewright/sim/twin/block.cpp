// Who runs when, barriers, and threads that can't go on.
#include "tilewright/sim/twin/block.h"

#include <algorithm>
#include <numeric>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/sim/machine.h"

namespace tw::sim::twin {

std::vector<int64_t> place_in(int64_t number, const std::vector<int64_t>& grid) {
  const Index at = point_of(number, grid);
  return {at.begin(), at.begin() + static_cast<int64_t>(grid.size())};
}
std::string position_text(const ir::Node* node) {
  return node->loc.known() ? node->loc.text() : "at an unknown line";
}

Finding* LaunchState::report(FindingKind kind, const ir::Node* place, const std::string& text) {
  const auto [it, is_new] = known_.emplace(std::pair(place, kind), result->findings.size());
  if (!is_new) {
    ++result->findings[it->second].count;
    return nullptr;
  }
  result->findings.push_back({kind, place->loc, kernel + ": " + text});
  return &result->findings.back();
}
bool LaunchState::is_known(FindingKind kind, const ir::Node* place) {
  return known_.contains(std::pair(place, kind));
}
void LaunchState::print(std::string line) {
  if (options.print) {
    options.print(line);
  } else {
    result->printed.push_back(std::move(line));
  }
}
uint64_t LaunchState::next_random() {  // splitmix64
  uint64_t z = random += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

Block::Block(LaunchState& launch, int64_t number)
    : launch_(launch),
      number_(number),
      at_(place_in(number, launch.grid)),
      order_(launch.intervals, static_cast<int32_t>(number),
             static_cast<int32_t>(launch.code.threads)),
      shared_(launch.code.shared_bytes, launch.poison()),
      threads_(static_cast<size_t>(launch.code.threads)) {
  const LaunchCode& code = launch.code;
  if (code.shared_bytes > 0) shared_.watch(code.shared_unit);
  const size_t registers = code.registers.size(), local = static_cast<size_t>(code.local_bytes);
  registers_.resize(threads_.size() * registers);
  local_.assign(threads_.size() * local, launch.poison());
  local_written_.assign(local_.size(), 0);
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& t = threads_[i];
    t.regs = registers_.data() + i * registers;
    t.local = local_.data() + i * local;
    t.written = local_written_.data() + i * local;
    std::copy(code.registers.begin(), code.registers.end(), t.regs);
    for (size_t dim = 0; dim < at_.size(); ++dim) {
      t.regs[code.block_vars[dim]] = encode(at_[dim], code.launch->block_vars[dim].dtype());
    }
    t.regs[code.thread] = encode(static_cast<int64_t>(i), code.launch->thread.dtype());
  }
}

std::string Block::thread_text(int32_t thread) const {
  return format("thread {} of block {}", thread, at_);
}
void Block::report(FindingKind kind, const ir::Node* node, const std::string& text) {
  launch_.report(kind, node, text);
}

Block::Status Block::run() {
  const auto warps = static_cast<int32_t>((threads_.size() + kLanes - 1) / kLanes);
  std::vector<int32_t> order(static_cast<size_t>(warps));
  std::iota(order.begin(), order.end(), 0);
  for (;;) {
    if (launch_.options.seed != 0) {
      for (size_t i = order.size(); i-- > 1;) {
        std::swap(order[i], order[launch_.next_random() % (i + 1)]);
      }
    }
    changed_ = false;
    bool waits = false;  // some thread had its turn and is still in its loop
    for (const int32_t warp : order) {
      waits = run_warp(warp) || waits;
      if (launch_.stopped) return Status::done;
    }
    if (waits && !changed_) return Status::working;
    if (changed_ || waits) continue;
    const bool ended = std::all_of(threads_.begin(), threads_.end(),
                                   [](const Thread& t) { return t.state == Thread::State::ended; });
    if (ended) return Status::done;
    if (resolve_barrier()) continue;
    report_stuck();
    launch_.stopped = true;
    return Status::done;
  }
}

/// Runs the lanes of a warp until all wait for others, or have had their turn; then true.
bool Block::run_warp(int32_t warp) {
  const int32_t first = warp * kLanes;
  const auto end = std::min(first + kLanes, static_cast<int32_t>(threads_.size()));
  do {
    bool waits = false;
    // The lanes begin with a random one: their order is a rotation.
    const auto lanes = static_cast<uint64_t>(end - first);
    const auto begin = static_cast<int32_t>(
        launch_.options.seed != 0 ? launch_.next_random() % lanes : uint64_t{0});
    for (int32_t i = 0; i < end - first; ++i) {
      const int32_t number = first + (begin + i) % (end - first);
      Thread& t = threads_[static_cast<size_t>(number)];
      if (t.state != Thread::State::ready) continue;
      quantum_ = launch_.options.seed == 0
                     ? 10'000
                     : int64_t{1} << static_cast<int>(launch_.next_random() % 14);
      execute(number);
      if (launch_.stopped) return false;
      waits = waits || t.state == Thread::State::ready;
    }
    if (waits) return true;
  } while (resolve_warp(warp));
  return false;
}

void Block::arrive(int32_t thread, const ir::Barrier& barrier) {
  std::vector<int32_t>& here = waiting_[static_cast<size_t>(barrier.id)];
  here.push_back(thread);
  if (barrier.id == 0) return;
  const Thread& t = threads_[static_cast<size_t>(thread)];
  const auto& first =
      *static_cast<const ir::Barrier*>(node_at(threads_[static_cast<size_t>(here.front())]));
  if (first.threads != barrier.threads) {
    report(
        FindingKind::divergent_barrier, node_at(t),
        format("{} waits at barrier {} for {} threads, thread {} for {} ({})", thread_text(thread),
               barrier.id, barrier.threads, here.front(), first.threads, position_text(&first)));
    launch_.stopped = true;
    return;
  }
  if (static_cast<int64_t>(here.size()) < barrier.threads) return;
  order_.meet(here);
  for (const int32_t number : here) {
    Thread& other = threads_[static_cast<size_t>(number)];
    ++other.pc;
    other.state = Thread::State::ready;
  }
  here.clear();
}

/// Lets all threads go on if all are at one barrier of the block.
bool Block::resolve_barrier() {
  std::vector<int32_t>& here = waiting_[0];
  if (here.size() != threads_.size()) return false;
  const uint32_t pc = threads_.front().pc;
  const bool together =
      std::all_of(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.pc == pc; });
  if (!together) return false;
  here.clear();
  order_.meet();
  for (Thread& t : threads_) {
    ++t.pc;
    t.state = Thread::State::ready;
  }
  return true;
}

std::string Block::whereabouts(int32_t thread) const {
  const Thread& t = threads_[static_cast<size_t>(thread)];
  if (t.state == Thread::State::ended) return "has ended";
  const ir::Node* node = node_at(t);
  const std::string position = position_text(node);
  if (t.state == Thread::State::at_warp) {
    const auto& op = *static_cast<const ir::WarpOp*>(node);
    return format("is at {} ({})", ir::enum_name(op.code), position);
  }
  const auto& barrier = *static_cast<const ir::Barrier*>(node);
  if (barrier.id == 0) return format("waits at another one ({})", position);
  return format("waits at barrier {} ({}), where {} of {} threads are", barrier.id, position,
                waiting_[static_cast<size_t>(barrier.id)].size(), barrier.threads);
}

/// All threads wait, or have ended, and nobody can go on.
void Block::report_stuck() {
  const auto at = [&](int64_t id) {
    return std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
      if (t.state != Thread::State::at_barrier) return false;
      return (static_cast<const ir::Barrier*>(node_at(t))->id == 0) == (id == 0);
    });
  };
  if (const auto first = at(0); first != threads_.end()) {
    const auto other = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
      return t.state != Thread::State::at_barrier || t.pc != first->pc;
    });
    report(
        FindingKind::divergent_barrier, node_at(*first),
        format("{} waits at a barrier that thread {} does not reach: it {}",
               thread_text(number_of(*first)), number_of(*other), whereabouts(number_of(*other))));
    return;
  }
  const auto first = at(1);
  const auto& barrier = *static_cast<const ir::Barrier*>(node_at(*first));
  const auto ended = std::find_if(threads_.begin(), threads_.end(),
                                  [](const Thread& t) { return t.state == Thread::State::ended; });
  std::string text = format("{} waits at barrier {} for {} threads, but {} are there",
                            thread_text(number_of(*first)), barrier.id, barrier.threads,
                            waiting_[static_cast<size_t>(barrier.id)].size());
  const auto elsewhere = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
    return t.state == Thread::State::at_barrier &&
           static_cast<const ir::Barrier*>(node_at(t))->id != barrier.id;
  });
  const auto other = elsewhere != threads_.end() ? elsewhere : ended;
  if (other != threads_.end()) {
    text += format("; thread {} {}", number_of(*other), whereabouts(number_of(*other)));
  }
  report(FindingKind::deadlock, &barrier, text);
}

}  // namespace tw::sim::twin
