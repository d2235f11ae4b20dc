// Which physical coordinates a part of a box reaches.
#pragma once

#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// Least and greatest value of each physical coordinate.
struct Bounds {
  Coords least, greatest;
};

/// The bounding box of the elements from corner `base` on, `size` of them in each dimension. Exact,
/// but that a term of several sources counts with its whole range, unless each of them is constant
/// in the region, and so do digits whose boundaries don't divide one another.
Bounds region_bounds(const Layout& layout, const Coords& base, const Coords& size);

/// The same for terms that aren't a layout yet.
Bounds bounds_of(std::vector<Term> terms, const Coords& shape, int out_rank, const Coords& base,
                 const Coords& size);

}  // namespace tw::layout
