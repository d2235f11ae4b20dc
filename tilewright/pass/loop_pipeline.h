// The passes from tile IR to loop IR, in order: what the CPU backend runs before it emits code.
#pragma once

#include <vector>

#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/pipeline.h"

namespace tw::pass {

/// `bf16_dot`: the target has dot products of bf16 pairs (pack_gemm_operands).
std::vector<Pass> loop_pipeline(const VectorShape& shape, bool bf16_dot);

}  // namespace tw::pass
