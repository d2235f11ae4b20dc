// Fewer and simpler operations with the same results.
#pragma once

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/bounds.h"

namespace tw::pass {

/// Folds constants, brings sums into one form, applies the rules of rules_table.cpp with what is
/// known about block indices, loops, conditions and symbols; takes away conditions, loops and
/// bindings that decide or do nothing, and buffers that nobody reads. Needs: any level. Guarantees:
/// the same level; the same results, bit for bit (which NaN a NaN is apart); no load passes a store
/// or happens more often; what can't be simplified is the very same node. Sums of integers may wrap
/// on the way to a result that does not. With `keeps_apart` conditional statements between which
/// threads may hand on values stay two, so that a barrier can go between.
ir::Program simplify(const ir::Program& program, bool keeps_apart = false);

/// An expression at a point where `bounds` holds.
ir::Expr simplify(const ir::Expr& expr, const Bounds& bounds);

}  // namespace tw::pass
