// Dot products of pairs: the processor's instructions, and what stands for them elsewhere.
#pragma once

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/ops.h"

namespace tw::cpu {

/// sum + lo(a) * lo(b) + hi(a) * hi(b) of the 16-bit halves of words (ir/ops.h: dot2_bf16 with sums
/// in f32, dot2_i16 in i32). The instruction on bf16 flushes subnormal products and sums.
Val dot_pairs(const Target& target, ir::OpCode code, Val sum, Val a, Val b);

}  // namespace tw::cpu
