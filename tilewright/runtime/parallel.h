// Spreads the blocks of a launch over threads: the one place that uses oneTBB.
#pragma once

#include <cstdint>

namespace tw::runtime {

/// Runs the blocks [first, last) with this thread's scratch memory. Nonzero stops the launch.
using BlockBody = int32_t (*)(void* context, int64_t first, int64_t last, void* scratch);

/// Calls `body` for ranges that cover [0, blocks), from the calling thread and a pool of threads,
/// and returns when all are done. Each thread has `scratch_bytes` aligned to 64, kept for later
/// launches. A single block runs on the calling thread alone. When a body returns nonzero or
/// throws, ranges that have not begun don't run; returns the first such value or throws the
/// exception. Several threads may call it at once, and a body may.
int32_t parallel_blocks(int64_t blocks, int64_t scratch_bytes, BlockBody body, void* context);

/// How many threads a launch uses: TW_NUM_THREADS, else the processors this process may run on.
int thread_count();

}  // namespace tw::runtime
