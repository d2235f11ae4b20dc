// Hierarchical shape:stride layouts as CuTe writes them, `(8,(4,2)):(4,(1,32))`, and their algebra.
//
// Such a layout is a function of one number: its coordinates count colexicographically, the first
// mode fastest. It is another way to write digits, good for the tile of an instruction; composition
// and inverse are those of `Layout`, to which it converts in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// A leaf `extent:stride`, or a tuple of modes.
struct ShapeStride {
  int64_t extent = 1, stride = 0;  // of a leaf
  bool is_tuple = false;
  std::vector<ShapeStride> modes;  // of a tuple

  static ShapeStride leaf(int64_t extent, int64_t stride) { return {extent, stride, false, {}}; }
  static ShapeStride tuple(std::vector<ShapeStride> modes) {
    return {1, 0, true, std::move(modes)};
  }
  friend bool operator==(const ShapeStride&, const ShapeStride&) = default;
};

/// Product of the extents; one more than the largest offset.
int64_t size(const ShapeStride& a);
int64_t cosize(const ShapeStride& a);
/// The offset of the `index`-th coordinate. Past the end the last leaf goes on.
int64_t offset(const ShapeStride& a, int64_t index);

/// The leaves from left to right.
std::vector<ShapeStride> leaves(const ShapeStride& a);

/// The same function with as few leaves as possible.
ShapeStride coalesce(const ShapeStride& a);
/// i -> a(b(i)), in the shape of b, each leaf of which becomes a tuple where a cuts it. Where b
/// reaches past a, the last leaf of coalesce(a) goes on.
std::optional<ShapeStride> composition(const ShapeStride& a, const ShapeStride& b);
/// Ordered offsets that a leaves out in [0, size): (a, complement) reaches each once. Empty if a's
/// strides leave no such layout, or it isn't injective.
std::optional<ShapeStride> complement(const ShapeStride& a, int64_t size);
/// (tile, rest): the elements of a that `tile` picks, and the ways to move it.
std::optional<ShapeStride> logical_divide(const ShapeStride& a, const ShapeStride& tile);
/// (a, copies): a, and the offsets of its copies arranged as b.
std::optional<ShapeStride> logical_product(const ShapeStride& a, const ShapeStride& b);
/// The largest r with a(r(i)) = i.
ShapeStride right_inverse(const ShapeStride& a);

/// One dimension per mode, one physical coordinate.
Layout to_layout(const ShapeStride& a);
/// A tuple with one mode per dimension for the offsets of a layout. Empty with exclusive or, or if
/// digits of a dimension overlap.
std::optional<ShapeStride> to_shape_stride(const Layout& layout);

std::string to_text(const ShapeStride& a);  // parse.h reads it back

}  // namespace tw::layout
