// What bulk copies can move (language 7.6), as far as extents and declarations say.
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// Why a box of a tensor can't be copied by a descriptor to or from a dense tile, in words;
/// empty: it can. Both have constant extents that agree once those of 1 are dropped.
std::string against_descriptor(const Region& tile, const Region& box);

/// Why rows of memory can't be copied as neighbors; empty: they can.
std::string against_bulk(const Region& tile, const Region& memory);

/// The extents of the parts in which a box is copied, for each dimension of the tensor: at most 256
/// long, and dense in the tile.
std::vector<int64_t> parts_of_box(const Region& box);

}  // namespace tw::ir
