// Layouts: maps from a box of logical coordinates to physical coordinates, made of digits.
//
// A digit reads one logical coordinate as a number in mixed radix: (x[dim] / div) mod extent. A
// term adds a digit, or the exclusive or of digits of one power-of-two extent, times a stride to a
// physical coordinate. A layout is a sum of terms per physical coordinate; its offset is row-major
// over those:
//
//   physical[out] = sum over the terms of out:  (digit ^ digit ^ ...) * stride
//
// Strided arrays, nested shape:stride layouts, swizzles, packed panels and (thread, slot) maps of
// fragments are all of this form. See docs/layouts.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/base/format.h"

namespace tw::layout {

using tw::to_text;

/// Coordinates, extents and strides: one number per dimension, the last fastest.
using Coords = std::vector<int64_t>;

/// Where a digit is read: (x[dim] / div) mod the extent of its term.
struct Source {
  int dim = 0;
  int64_t div = 1;
  friend auto operator<=>(const Source&, const Source&) = default;
};

/// (source ^ source ^ ...) * stride, added to physical coordinate `out`.
struct Term {
  std::vector<Source> sources;
  int64_t extent = 1;  // of each digit; a power of two if there are several sources
  int out = 0;
  int64_t stride = 1;

  /// The digit, or the exclusive or of the digits, of an element.
  int64_t value(const Coords& x) const {
    int64_t value = 0;
    for (const Source& source : sources) value ^= x[source.dim] / source.div % extent;
    return value;
  }
  friend bool operator==(const Term&, const Term&) = default;
};

/// A layout. Always in normal form: digits are merged as far as their strides allow and none is
/// larger than its coordinate needs, so nearly all equal maps are also equal as values (`equal`
/// decides the rest). Terms are ordered by physical coordinate, then by falling stride.
///
/// To build an index expression, walk the terms of `linearize(layout)`:
///
///   for (const Term& term : linear.terms())
///     value += xor over term.sources of ((x[dim] / div) mod term.extent), times term.stride
///
/// where `wraps(term, source)` tells whether the mod can be left out.
class Layout {
 public:
  /// The map of no dimensions to no coordinates.
  Layout() = default;
  /// Box `shape` (extents of at least 1) to physical box `extents`, which must hold every image.
  Layout(Coords shape, std::vector<Term> terms, Coords extents);
  /// The same with the least physical extents, for `out_rank` physical coordinates.
  static Layout tight(Coords shape, std::vector<Term> terms, int out_rank);

  /// The logical box, and the physical one.
  const Coords& shape() const { return shape_; }
  const Coords& extents() const { return extents_; }
  const std::vector<Term>& terms() const { return terms_; }

  int rank() const { return static_cast<int>(shape_.size()); }
  int out_rank() const { return static_cast<int>(extents_.size()); }
  /// Elements of the logical box; places of the physical box.
  int64_t size() const;
  int64_t physical_size() const;

  /// Physical coordinates of an element inside the box.
  Coords apply(const Coords& x) const;
  /// Row-major offset of those, in elements; times the bits of an element it is exact for e2m1 too.
  int64_t offset(const Coords& x) const;

  /// Whether x / div reaches the extent, so that the mod is needed.
  bool wraps(const Term& term, const Source& source) const {
    return source.div * term.extent < shape_[source.dim];
  }

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Coords shape_, extents_;
  std::vector<Term> terms_;
};

/// Each coordinate to itself; so offsets are row-major.
Layout row_major(const Coords& shape);
/// Box `shape` to one physical coordinate, with one stride per dimension.
Layout strided(const Coords& shape, const Coords& strides);

/// Product of the extents.
int64_t product(const Coords& extents);
/// Strides of a row-major array: the last is 1.
Coords row_major_strides(const Coords& extents);
/// The coordinates of the `index`-th element of a box in row-major order.
Coords unflatten(int64_t index, const Coords& extents);

/// Calls `visit(x)` for each element of a box in row-major order until it returns false; whether it
/// never did.
template <class Visit>
bool every(const Coords& shape, const Visit& visit) {
  Coords x(shape.size());
  while (true) {
    if (!visit(static_cast<const Coords&>(x))) return false;
    size_t d = shape.size();
    while (d > 0 && ++x[d - 1] == shape[d - 1]) x[--d] = 0;
    if (d == 0) return true;
  }
}

/// `[4, 8] -> [32]: i * 8 + j`, one expression per physical coordinate; parse.h reads it back.
/// `/` and `%` are division and remainder.
std::string to_text(const Layout& layout);

/// The part behind the colon, with these names of the dimensions.
std::string expressions(const Layout& layout, const std::vector<std::string>& names);

/// What a dimension is called in text: i, j, k, l, m, n, o, p, then d8, d9, ...
std::string dimension_name(int dim);

}  // namespace tw::layout
