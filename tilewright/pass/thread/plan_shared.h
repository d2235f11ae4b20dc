// Gives shared buffers their places in the block's memory.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Sets `Alloc::place` of every shared buffer, aligned to 128 bytes where it is large and to 16
/// otherwise, and `Launch::shared_bytes`. Buffers that don't conflict (shared_conflicts.h) may have
/// the same bytes; no barrier is put in for that. More than `limit` bytes is E-MEM-02 with the list
/// of buffers. Needs: thread IR (after lower_threads).
ir::Program plan_shared(const ir::Program& program, int64_t limit);

}  // namespace tw::pass
