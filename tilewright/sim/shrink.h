// Test-case reduction: the smallest program that still shows a failure (language 27.10).
#pragma once

#include <functional>

#include "tilewright/ir/nodes.h"
#include "tilewright/ir/verify.h"

namespace tw::sim {

/// Whether a program still fails in the way that is looked for. It is asked about well-formed
/// programs (ir/verify.h) whose results may be undefined: it must say no to those, and not throw.
using Fails = std::function<bool(const ir::Program&)>;

/// Makes the program smaller, step by step, as long as `fails` says yes: drops launches and
/// statements, puts bodies in place of loops and conditions, makes extents smaller, puts operands
/// and constants in place of expressions, drops what is no longer used (parameters keep their
/// names). `fails(program)` must be true; at most `most_trials` programs are tried.
ir::Program shrink(ir::Program program, const Fails& fails, ir::Level level = ir::Level::tile,
                   int most_trials = 5000);

}  // namespace tw::sim
