// What a kernel takes of a multiprocessor: from the assembler's report and the limits of the chip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/backend/cuda/target.h"

namespace tw::cuda {

/// Of one thread, but for shared_bytes, which are the block's, without what the launch adds.
struct Resources {
  int64_t registers = 0;
  int64_t stack_bytes = 0;                    // local memory: arrays that are indexed, and spills
  int64_t spill_stores = 0, spill_loads = 0;  // bytes
  int64_t shared_bytes = 0;
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// What `ptxas -v` says of an entry; empty when it says nothing.
std::optional<Resources> resources_of(const std::string& log, const std::string& entry);

/// How many blocks run on a multiprocessor at once, and what allows no more.
struct Occupancy {
  int64_t blocks = 0;
  const char* limit = "";  // "registers", "shared memory", "threads", "blocks"
};
Occupancy occupancy(const Target& target, int64_t threads, int64_t registers, int64_t shared_bytes);

}  // namespace tw::cuda
