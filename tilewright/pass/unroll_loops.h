// Expands loops whose unrolling the author asked for.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// A fully unrolled loop becomes a sequence of its iterations, one with a factor a loop over groups
/// of that many and a loop over the rest. A loop whose body jumps (break, continue) stays a serial
/// loop, and so does one with more than `kMaxUnrolled` iterations. Needs: constant bounds of fully
/// unrolled loops (E-LOOP-02 at trace time). Guarantees: no unrolled loop.
ir::Program unroll_loops(const ir::Program& program);

inline constexpr int64_t kMaxUnrolled = 1024;

}  // namespace tw::pass
