#include "tilewright/runtime/allocator.h"

#include <algorithm>

namespace tw {

HostWorkspaces::~HostWorkspaces() {
  for (const Block& block : blocks_) free_aligned(block.memory);
}

// The smallest free block that is large enough; else a new one in place of a free block that is too
// small, so that a kernel called with growing sizes keeps one block.
void* HostWorkspaces::take(int64_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (!block.used && block.bytes >= bytes && (best == nullptr || block.bytes < best->bytes)) {
      best = &block;
    }
  }
  if (best == nullptr) {
    void* memory = allocate_aligned(bytes, 256);
    if (memory == nullptr) return nullptr;
    const auto small =
        std::find_if(blocks_.begin(), blocks_.end(), [](Block& b) { return !b.used; });
    if (small != blocks_.end()) {
      free_aligned(small->memory);
      best = &*small;
    } else {
      best = &blocks_.emplace_back();
    }
    *best = {memory, bytes, false};
  }
  best->used = true;
  return best->memory;
}

void HostWorkspaces::release(void* workspace) {
  for (Block& block : blocks_) {
    if (block.memory == workspace) block.used = false;
  }
}

HostWorkspaces& host_workspaces() {
  thread_local HostWorkspaces workspaces;
  return workspaces;
}

}  // namespace tw
