// Who runs an iteration and who owns an element: the questions of layout inference
// (language 17.3, 17.4).
//
// A loop's map is a fragment over its iteration box; `index` maps an iteration to an
// element of a buffer.
#pragma once

#include <optional>

#include "tilewright/layout/fragment.h"

namespace tw::layout {

/// Reading: every thread that runs iteration x owns index(x). Boxes of more than 2^22 iterations
/// whose maps can't be compared by algebra count as no, here and below.
bool reads_own(const Fragment& loop, const Fragment& buffer, const Layout& index);

/// Whether every element has the same owners in both, told by algebra alone: false may mean that
/// it can't be told.
bool same_owners(const Fragment& a, const Fragment& b);

/// Writing: the threads that run x are exactly the owners of index(x), and index is injective.
bool writes_own(const Fragment& loop, const Fragment& buffer, const Layout& index);

/// The fragment of a buffer that fits the loop: element y is owned by the threads that run the
/// iterations with index(x) = y. Loop dimensions that the index drops become replicas, slots are
/// renumbered without gaps. Empty if the index doesn't reach every element, reads a loop digit
/// twice or mixes digits, and if slots can't be told apart.
std::optional<Fragment> derive(const Fragment& loop, const Layout& index);

/// The fragment of what remains when dimension `dim` is reduced: threads that differ in it hold
/// copies of the result; or, if `partial`, each its own addend. Empty as `derive`.
std::optional<Fragment> reduce(const Fragment& fragment, int dim, bool partial = false);

}  // namespace tw::layout
