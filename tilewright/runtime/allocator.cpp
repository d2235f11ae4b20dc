#include "tilewright/runtime/allocator.h"

#include <algorithm>

#include "tilewright/base/error.h"

namespace tw {

HostAllocator::~HostAllocator() {
  for (const Block& block : blocks_) free_aligned(block.memory);
}

Tensor HostAllocator::output(int, DType dtype, const Shape& shape, Device device) {
  TW_REQUIRE(device.kind == DeviceKind::cpu, "host allocator: asked for memory on {}", device);
  return outputs_.emplace_back(dtype, shape);
}

// The smallest free block that is large enough; else a new one in place of a free block that is too
// small, so that a kernel called with growing sizes keeps one block.
void* HostAllocator::workspace(int64_t bytes, Device device, Stream) {
  TW_REQUIRE(device.kind == DeviceKind::cpu, "host allocator: asked for memory on {}", device);
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

void HostAllocator::release(void* workspace, Device, Stream) {
  for (Block& block : blocks_) {
    if (block.memory == workspace) block.used = false;
  }
}

std::vector<OwnedTensor> HostAllocator::take_outputs() { return std::exchange(outputs_, {}); }

HostAllocator& host_allocator() {
  thread_local HostAllocator allocator;
  return allocator;
}

}  // namespace tw
