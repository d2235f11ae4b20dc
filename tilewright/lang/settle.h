// Settling: what happens to an expression when a statement takes it.
//
// 1. A load that may have changed since it was written, or was written outside a loop that the
//    statement is in, is bound by a Let at its own point.
// 2. A part that occurs more than once and costs something is bound by a Let before the statement,
//    so that the IR is a tree.
// 3. Both stay under their guard: what occurs only in operands that `&&`, `||` or `if_else` may
//    skip is read under the condition that these operands share, as `if_else(guard, part, 0)`.
#pragma once

#include <vector>

#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

/// The expressions as they can be evaluated at a point, all by one statement of the author's at
/// `where`. With `share` false parts that occur twice are repeated instead (a condition of a while
/// loop, which is evaluated anew).
std::vector<ir::Expr> settle(Trace& trace, const Point& at, SourceLoc where,
                             const std::vector<ir::Expr>& values, bool share = true);

}  // namespace lang
}  // namespace tw
