// Lets large outputs go past the caches.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// An output that is larger than the caches is gone from them before anybody reads it, and an
/// ordinary store reads each line before it writes it. Loops that write an output which the program
/// never reads get a second form with streaming stores, taken when the output has at least
/// `kStreamBytes`. Measured on two Zen 4 cores (32 MiB of last-level cache): a copy of 64 MiB takes
/// two thirds of the time. Needs: guard_bounds has run. Guarantees: the same values in memory.
ir::Program stream_outputs(const ir::Program& program);

inline constexpr int64_t kStreamBytes = int64_t{16} << 20;

}  // namespace tw::pass
