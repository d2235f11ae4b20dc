// What the CPU backend emits and the run time calls: the contract between generated code and
// launcher. Plain C, since the code behind it has no C++ in it.
#pragma once

#include <cstdint>

extern "C" {

/// What generated code can call back. `message` is an index into the metadata's messages, `block`
/// the linear index of the block, `values` its `count` values: each the raw bits of its dtype in
/// the low bytes of 64, with zeros above.
struct TwCpuCallbacks {
  void (*print)(TwCpuCallbacks* self, int32_t message, int64_t block, const uint64_t* values,
                int32_t count);
  /// Reports a failed device_assert. It returns; the entry then returns nonzero at once.
  void (*fail)(TwCpuCallbacks* self, int32_t message, int64_t block, const uint64_t* values,
               int32_t count);
};

/// Runs the blocks first_block to last_block - 1 of a launch. Blocks are numbered with x fastest:
/// x + grid[0] * (y + grid[1] * z). Several threads call it at once with ranges that don't overlap.
///   args       the packed block of KernelMetadata::packed
///   grid       the three extents of the grid
///   scratch    Variant::scratch_bytes bytes for this thread alone, aligned to 64; contents
///   undefined
/// Returns 0, or another value after a failed device_assert.
typedef int32_t TwCpuEntry(const void* args, const int64_t* grid, int64_t first_block,
                           int64_t last_block, void* scratch, TwCpuCallbacks* callbacks);

}  // extern "C"
