#include "tilewright/sim/twin/cluster.h"

#include <algorithm>
#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/base/format.h"
#include "tilewright/sim/machine.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim::twin {

std::vector<int64_t> cluster_of(int64_t number, const LaunchState& launch) {
  const std::vector<int64_t> at = place_in(number, launch.grid);
  std::vector<int64_t> numbers{0};
  for (size_t dim = 0; dim < at.size(); ++dim) {  // row by row, as blocks are numbered
    const int64_t extent = launch.cluster[dim], first = at[dim] / extent * extent;
    std::vector<int64_t> more;
    for (int64_t i = 0; i < extent; ++i) {  // x first, as ranks are
      for (const int64_t n : numbers) more.push_back(n * launch.grid[dim] + first + i);
    }
    numbers = std::move(more);
  }
  return numbers;
}

std::unique_ptr<Cluster> make_cluster(LaunchState& launch, const std::vector<int64_t>& numbers) {
  auto cluster = std::make_unique<Cluster>();
  cluster->running = static_cast<int64_t>(numbers.size());
  cluster->threads = cluster->running * launch.code.threads;
  for (const int64_t number : numbers) {
    cluster->blocks.push_back(std::make_unique<Block>(launch, *cluster, number));
  }
  return cluster;
}

// ---- the barrier

/// Lets all go on if all that haven't ended have arrived.
void Block::settle_cluster() {
  Cluster& c = cluster_;
  if (c.arrived == 0 || c.arrived + c.ended < c.threads) return;
  c.arrived = 0;
  ++c.phase;
  join_clocks(&c.over, std::exchange(c.arriving, {}));
  for (const auto& block : c.blocks) block->wake(Thread::State::at_cluster);
}

bool Block::arrive_at_cluster(Thread& t, const ir::Sync& sync) {
  if (t.in_cluster) {
    report(FindingKind::wrong_arrival, &sync,
           format("{} arrives at the barrier of the cluster again, without having waited there",
                  thread_text(number_of(t))));
    launch_.stopped = true;
    return false;
  }
  t.in_cluster = true;
  t.cluster_phase = cluster_.phase;
  if (sync.code == ir::SyncCode::cluster_arrive) {
    order_.release(number_of(t), &cluster_.arriving, false);
  }
  ++cluster_.arrived;
  settle_cluster();
  return true;
}

bool Block::wait_for_cluster(Thread& t, const ir::Sync& sync) {
  if (!t.in_cluster) {
    report(FindingKind::wrong_arrival, &sync,
           format("{} waits at the barrier of the cluster without having arrived there",
                  thread_text(number_of(t))));
    launch_.stopped = true;
    return false;
  }
  if (t.cluster_phase == cluster_.phase) return false;
  t.in_cluster = false;
  order_.acquire(number_of(t), cluster_.over, false);
  return true;
}

void Block::end_in_cluster(Thread& t) {
  if (t.in_cluster && t.cluster_phase == cluster_.phase) --cluster_.arrived;
  ++cluster_.ended;
  settle_cluster();
}

// ---- memory of other blocks

/// The block whose shared memory a view of the thread leads to; null if there is none.
Block* Block::peer(const Thread& t, const Access& access) {
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  const auto rank = static_cast<int64_t>(t.regs[b.peer]);
  const auto blocks = static_cast<int64_t>(cluster_.blocks.size());
  const auto says = [&](FindingKind kind, const std::string& text) {
    report(kind, access.node,
           format("{} uses {} {}", thread_text(number_of(t)), element_of(t, access), text));
  };
  if (rank < 0 || rank >= blocks) {
    says(FindingKind::out_of_bounds, format("of block {} of a cluster of {}", rank, blocks));
    return nullptr;
  }
  Block* const other = cluster_.blocks[static_cast<size_t>(rank)].get();
  if (other == this) return this;
  if (other->has_ended()) {
    says(FindingKind::race,
         format("of block {}, which has ended; end with a barrier of the cluster", other->at_));
  } else if (!order_.has_met(number_of(t), static_cast<int32_t>(other->number_))) {
    says(FindingKind::race, format("of block {}, which may not have begun; begin with a barrier of "
                                   "the cluster",
                                   other->at_));
  }
  return other;
}

/// The block of the cluster whose shared memory it is; null for other memory.
Block* Block::home_of(const Memory* memory) {
  if (memory == &shared_) return this;
  const auto at = std::find_if(cluster_.blocks.begin(), cluster_.blocks.end(),
                               [&](const auto& block) { return &block->shared_ == memory; });
  return at == cluster_.blocks.end() ? nullptr : at->get();
}

/// All threads have ended: no other block may still need the shared memory.
void Block::check_end() {
  const auto is_known = [&](IntervalId id) {
    for (int32_t t = 0; t < static_cast<int32_t>(threads_.size()); ++t) {
      if (order_.knows(t, id)) return true;
    }
    return false;
  };
  const auto check = [&](const Record& r) {
    if (r.interval == 0) return;
    const Interval& then = launch_.intervals[r.interval];
    if (then.block == number_ || is_known(r.interval)) return;
    const Access& access = launch_.code.accesses[r.access];
    const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
    report(FindingKind::race, access.node,
           format("block {} may end while thread {} of block {} uses its {}; end with a barrier of "
                  "the cluster",
                  at_, then.thread, place_in(then.block, launch_.grid), b.buffer.root().name()));
  };
  shared_.for_each_trace([&](const Trace& trace) {
    check(trace.write);
    for (const Record& r : trace.atomics) check(r);
    for (const Record& r : trace.reads) check(r);
  });
}

}  // namespace tw::sim::twin
