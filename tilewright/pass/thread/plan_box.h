// How the threads of a block share a box of iterations when nothing else decides it.
#pragma once

#include <cstdint>

#include "tilewright/ir/nodes.h"
#include "tilewright/layout/fragment.h"

namespace tw::pass {

/// A fragment over a box that is padded where its extents don't divide. Each thread gets runs of
/// `vector` neighbors along `fast` (fewer if these don't divide the extent); neighboring runs are
/// in neighboring threads; what threads can't share out is repeated in slots. Threads that have
/// nothing else to do hold copies. Among all ways to split the threads over the dimensions it takes
/// one with the fewest slots, and of these the one with most threads along `fast`, of those with at
/// most so many there. Along `scanned`, runs follow one another in the lanes of a warp, what these
/// can't share out in their slots, and then in warps: a scan adds in a thread what it can.
layout::Fragment plan_box(const layout::Coords& extents, int64_t threads, int64_t vector, int fast,
                          int64_t most_along_fast = INT64_MAX, int scanned = -1);

/// How many slots of a thread, from each multiple of that on, are neighbors along an index.
struct Neighbors {
  int64_t count = 1;  // a power of two, at most 16 and the loop's max_vector
  int along = 0;      // number of the index
  int64_t in_layout = 1;
};
/// `inverse` maps threads and slots to the box of `loop`.
Neighbors neighbors_of(const layout::Layout& inverse, const ir::Parallel& loop);

/// Whether a thread's share of `loop`, which has a layout, is one run of neighbors.
bool has_one_run(const ir::Parallel& loop);

}  // namespace tw::pass
