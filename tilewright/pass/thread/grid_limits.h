// What the largest grid of a GPU says about sizes.
#pragma once

#include <functional>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Conditions that hold where a block of the launch runs. A grid has fewer than 2^31 blocks in each
/// dimension; so an index of a block is smaller, and where an extent is a product of factors that
/// `proves` says are not negative, they are positive and smaller, too.
std::vector<ir::Expr> grid_limits(const ir::Launch& launch,
                                  const std::function<bool(const ir::Expr&)>& proves);

}  // namespace tw::pass
