// The blocks of a cluster, which run at the same time, and the barrier of all their threads.
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tilewright/sim/twin/order.h"

namespace tw::sim::twin {

class Block;
struct LaunchState;

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;  // by rank; they stay until all have ended
  int64_t running = 0;                         // blocks that haven't ended

  int64_t threads = 0, arrived = 0, ended = 0;  // at its barrier nobody waits for those that ended
  uint64_t phase = 0;                           // how often all have met
  Clocks arriving, over;                        // what those of this phase pass on, and all before
};

/// Numbers of the blocks of a block's cluster, by rank.
std::vector<int64_t> cluster_of(int64_t number, const LaunchState& launch);
/// A new cluster of these blocks.
std::unique_ptr<Cluster> make_cluster(LaunchState& launch, const std::vector<int64_t>& numbers);

}  // namespace tw::sim::twin
