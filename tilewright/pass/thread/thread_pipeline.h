// The passes from tile IR to thread IR, in order: what backends of GPUs run before they emit code.
#pragma once

#include <vector>

#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// What the passes need to know of a GPU.
struct BlockLimits {
  int64_t shared_bytes = 232448;  // of one block: sm_90a and sm_100a
};

/// Passes add remarks when somebody wants them.
std::vector<Pass> thread_pipeline(const BlockLimits& limits, Remarks* remarks = nullptr);

}  // namespace tw::pass
