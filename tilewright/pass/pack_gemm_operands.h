// Stores the operands of narrow multiplies in the form that the target's dot products read.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Multiplies of bf16, f16, fp8 and int8 tiles have no multiply-add of their own on a CPU. This
/// pass changes the block buffers that they read, and what writes these:
/// - pairs: bf16 and fp8 (as bf16, which is exact) where `bf16_dot` says that the target has dot
///   products of bf16 pairs, int8 as pairs of i16. Two neighbours along k become one u32 word. Only
///   buffers that copies fill and multiplies read.
/// - otherwise the buffer becomes f32, which holds every narrower float exactly; what is stored in
///   it is rounded to the former type first.
/// Products of bf16 pairs may flush subnormals, as the hardware does.
/// Needs: tile IR. Guarantees: tile IR with the same results, up to the order of float sums.
ir::Program pack_gemm_operands(const ir::Program& program, bool bf16_dot);

}  // namespace tw::pass
