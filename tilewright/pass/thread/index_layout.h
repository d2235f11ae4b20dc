// Index expressions as layouts: what an access in a parallel loop means to the layout algebra.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/layout/layout.h"

namespace tw::pass {

/// The map from the iterations of a box to the elements of a buffer, if each index is a sum of
/// digits of the loop's variables: i, i // 8, i % 8, i * 4 + j, ... Its physical box is the least
/// that holds the image. Empty for anything else.
std::optional<layout::Layout> index_layout(const std::vector<ir::Expr>& indices,
                                           const std::vector<ir::Var>& vars,
                                           const layout::Coords& box);

/// The value of one physical coordinate as an expression of the logical coordinates.
ir::Expr coordinate(const layout::Layout& layout, int out, const std::vector<ir::Expr>& x);

}  // namespace tw::pass
