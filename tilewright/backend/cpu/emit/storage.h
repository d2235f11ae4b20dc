// Where the buffers of a block live: small ones on the stack, from where LLVM takes them into
// registers, the others in the worker's scratch memory.
#pragma once

#include <cstdint>
#include <map>

#include "tilewright/ir/nodes.h"

namespace tw::cpu {

/// Bytes of all elements of a block buffer, padding included.
int64_t bytes_of(const ir::Buffer& buffer);

struct StoragePlan {
  /// Offsets in scratch memory, multiples of 64. Buffers that are not here live on the stack.
  std::map<ir::Buffer, int64_t, ir::ById> scratch;
  int64_t scratch_bytes = 0;
};

/// Places every buffer that the launch allocates. Buffers that are never needed at the same time
/// share memory: one is needed from its first use to its last, and through the whole of a loop that
/// uses it but doesn't allocate it.
StoragePlan plan_storage(const ir::Launch& launch);

}  // namespace tw::cpu
