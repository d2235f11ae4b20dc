// Blocks that work together: barriers of the grid, and clusters, whose blocks run at the same time
// and reach each other's shared memory (language 4.2 and 12.3).
#pragma once

#include <cstdint>

#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

/// All threads of all blocks wait for each other, and see what the others wrote before. The launch
/// must be .cooperative: all its blocks run at once, or it is refused (E-HOST-11).
void grid_sync(SourceLoc where = SourceLoc::here());

// ---- which cluster, which block of it; without .cluster each block is one by itself ----
Expr cluster_idx(int dim = 0, SourceLoc where = SourceLoc::here());
/// Blocks of a cluster along a dimension.
int64_t cluster_dim(int dim = 0, SourceLoc where = SourceLoc::here());
/// Clusters of the grid along a dimension.
Expr num_clusters(int dim = 0, SourceLoc where = SourceLoc::here());
/// Number of the block in its cluster, x first.
Expr block_rank_in_cluster(SourceLoc where = SourceLoc::here());

// ---- the barrier of all threads of a cluster ----
/// Arrives, then waits until all have arrived; sees what they wrote before.
void cluster_sync(SourceLoc where = SourceLoc::here());
/// The two halves. Each thread waits once for each time that it arrives; what a relaxed arrival
/// leaves behind may be seen later.
void cluster_arrive(SourceLoc where = SourceLoc::here());
void cluster_arrive_relaxed(SourceLoc where = SourceLoc::here());
void cluster_wait(SourceLoc where = SourceLoc::here());

/// A shared buffer as another block of the cluster has it: to be read, written and updated like the
/// block's own, after a barrier of the cluster and before the last one (W-SYNC-01).
Buffer remote(const Buffer& buffer, const Operand& rank);

}  // namespace lang
}  // namespace tw
