// The passes from tile IR to thread IR, in order: what backends of GPUs run before they emit code.
#pragma once

#include <vector>

#include "tilewright/pass/pipeline.h"

namespace tw::pass {

/// What the passes need to know of a GPU.
struct BlockLimits {
  int64_t shared_bytes = 232448;  // of one block: sm_90a and sm_100a
};

std::vector<Pass> thread_pipeline(const BlockLimits& limits);

}  // namespace tw::pass
