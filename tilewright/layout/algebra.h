// Operations that make layouts from layouts. Each is again made of digits; where none exists the
// result is empty: two layouts whose digit boundaries don't divide one another have no composition,
// for example.
#pragma once

#include <optional>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// x -> second(first(x)). The physical box of `first` must lie in the logical box of `second`.
std::optional<Layout> compose(const Layout& first, const Layout& second);

/// The map back from physical to logical coordinates: inverse(layout(x)) = x. Where a place holds
/// no element (padding) the result is some value without meaning, maybe outside the logical box.
/// Empty if two elements share a place, or it can't be told from the digits.
struct Inverse {
  Layout layout;
  bool total;  // every place holds an element: the layout is bijective
};
std::optional<Inverse> inverse(const Layout& layout);

/// One physical coordinate, the offset. Rows of a row-major layout merge into few terms.
Layout linearize(const Layout& layout);

/// Logical dimension d of the result is dimension order[d] of the layout.
Layout permute(const Layout& layout, const std::vector<int>& order);

/// `count` copies along a dimension. The number of the copy is a new physical
/// coordinate, the slowest.
Layout repeat(const Layout& layout, int dim, int64_t count);

/// Leading dimensions, each of whose elements has a copy of the layout; as
/// many leading coordinates.
Layout expand(const Layout& layout, const Coords& leading);

/// The same storage under another logical shape, in row-major order of elements, and another size
/// of element: new elements are `old_bits / new_bits` of the old, by which the last dimension and
/// the last physical coordinate grow or shrink. Empty if a wider element would straddle two places
/// (E-LAY-07) or the shapes have no digits in common. Shapes that differ in size are an Error.
std::optional<Layout> reshape(const Layout& layout, const Coords& shape, int old_bits = 1,
                              int new_bits = 1);

/// `count` unused places at the end of a physical coordinate.
Layout pad(const Layout& layout, int out, int64_t count);

/// The part of the box from the origin with the given shape; physical extents stay.
Layout restrict(const Layout& layout, const Coords& shape);

/// The same map, with the physical coordinates in the order given.
Layout permute_physical(const Layout& layout, const std::vector<int>& order);

}  // namespace tw::layout
