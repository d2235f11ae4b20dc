#include "tilewright/layout/shape_stride.h"

#include <algorithm>
#include <utility>

#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

using Leaves = std::vector<ShapeStride>;

ShapeStride of_leaves(Leaves leaves) {
  if (leaves.empty()) return ShapeStride::leaf(1, 0);
  if (leaves.size() == 1) return leaves.front();
  return ShapeStride::tuple(std::move(leaves));
}

/// The terms of leaves that divide dimension `dim`, the first leaf lowest.
void add_digits(const Leaves& leaves, int dim, std::vector<Term>& terms) {
  int64_t div = 1;
  for (const ShapeStride& leaf : leaves) {
    terms.push_back({{{dim, div}}, leaf.extent, 0, leaf.stride});
    div *= leaf.extent;
  }
}

Layout layout_of(const std::vector<ShapeStride>& dims) {
  Coords shape;
  std::vector<Term> terms;
  for (const ShapeStride& dim : dims) {
    add_digits(leaves(dim), static_cast<int>(shape.size()), terms);
    shape.push_back(size(dim));
  }
  return Layout::tight(std::move(shape), std::move(terms), 1);
}

/// The leaves of one dimension of a layout with one coordinate.
std::optional<Leaves> leaves_of(const Layout& layout, int dim) {
  std::vector<Term> digits;
  for (const Term& term : layout.terms()) {
    if (term.sources.front().dim != dim) continue;
    if (term.sources.size() > 1) return std::nullopt;
    digits.push_back(term);
  }
  std::sort(digits.begin(), digits.end(),
            [](const Term& a, const Term& b) { return a.sources < b.sources; });
  Leaves leaves;
  int64_t covered = 1;
  const auto skip_to = [&](int64_t div) {  // digits that nothing reads
    if (div % covered != 0) return false;
    if (div > covered) leaves.push_back(ShapeStride::leaf(div / covered, 0));
    covered = div;
    return true;
  };
  for (const Term& digit : digits) {
    const int64_t div = digit.sources.front().div;
    if (div < covered || !skip_to(div)) return std::nullopt;
    leaves.push_back(ShapeStride::leaf(digit.extent, digit.stride));
    covered = div * digit.extent;
  }
  // A last leaf that reaches beyond the dimension is none.
  if (covered > layout.shape()[dim] || !skip_to(layout.shape()[dim])) return std::nullopt;
  return leaves;
}

/// `a` in the place of each leaf of `profile`, in order.
ShapeStride with_leaves(const ShapeStride& profile, const std::vector<ShapeStride>& a,
                        size_t& next) {
  if (!profile.is_tuple) return a[next++];
  Leaves modes;
  for (const ShapeStride& mode : profile.modes) modes.push_back(with_leaves(mode, a, next));
  return ShapeStride::tuple(std::move(modes));
}

Leaves sorted_by_stride(const ShapeStride& a) {
  Leaves sorted = leaves(coalesce(a));
  std::sort(sorted.begin(), sorted.end(), [](const ShapeStride& x, const ShapeStride& y) {
    return std::pair(x.stride, x.extent) < std::pair(y.stride, y.extent);
  });
  return sorted;
}

}  // namespace

int64_t size(const ShapeStride& a) {
  int64_t total = 1;
  for (const ShapeStride& leaf : leaves(a)) total *= leaf.extent;
  return total;
}

int64_t cosize(const ShapeStride& a) {
  int64_t last = 0;
  for (const ShapeStride& leaf : leaves(a)) last += (leaf.extent - 1) * leaf.stride;
  return last + 1;
}

int64_t offset(const ShapeStride& a, int64_t index) {
  const Leaves all = leaves(a);
  int64_t total = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    total += (last ? index : index % all[i].extent) * all[i].stride;
    index /= all[i].extent;
  }
  return total;
}

std::vector<ShapeStride> leaves(const ShapeStride& a) {
  if (!a.is_tuple) return {a};
  Leaves all;
  for (const ShapeStride& mode : a.modes) {
    for (const ShapeStride& leaf : leaves(mode)) all.push_back(leaf);
  }
  return all;
}

ShapeStride coalesce(const ShapeStride& a) {
  Leaves merged;
  for (const ShapeStride& leaf : leaves(a)) {
    if (leaf.extent == 1) continue;
    if (!merged.empty() && leaf.stride == merged.back().stride * merged.back().extent) {
      merged.back().extent *= leaf.extent;
    } else {
      merged.push_back(leaf);
    }
  }
  return of_leaves(std::move(merged));
}

std::optional<ShapeStride> composition(const ShapeStride& a, const ShapeStride& b) {
  // a as one dimension that is long enough for all that b gives: its last leaf goes on.
  Leaves of_a = leaves(coalesce(a));
  int64_t before_last = 1;
  for (size_t i = 0; i + 1 < of_a.size(); ++i) before_last *= of_a[i].extent;
  of_a.back().extent = std::max(of_a.back().extent, ceil_div(cosize(b), before_last));
  const Leaves of_b = leaves(b);
  const auto both = compose(layout_of(of_b), layout_of({ShapeStride::tuple(of_a)}));
  if (!both) return std::nullopt;
  std::vector<ShapeStride> replaced;
  for (int d = 0; d < static_cast<int>(of_b.size()); ++d) {
    auto parts = leaves_of(*both, d);
    if (!parts) return std::nullopt;
    replaced.push_back(of_leaves(std::move(*parts)));
  }
  size_t next = 0;
  return with_leaves(b, replaced, next);
}

std::optional<ShapeStride> complement(const ShapeStride& a, int64_t size) {
  Leaves rest;
  int64_t covered = 1;
  for (const ShapeStride& leaf : sorted_by_stride(a)) {
    if (leaf.extent == 1) continue;
    if (leaf.stride < covered || leaf.stride % covered != 0) return std::nullopt;
    rest.push_back(ShapeStride::leaf(leaf.stride / covered, covered));
    covered = leaf.stride * leaf.extent;
  }
  rest.push_back(ShapeStride::leaf(ceil_div(size, covered), covered));
  return coalesce(ShapeStride::tuple(std::move(rest)));
}

std::optional<ShapeStride> logical_divide(const ShapeStride& a, const ShapeStride& tile) {
  const auto rest = complement(tile, size(a));
  if (!rest) return std::nullopt;
  return composition(a, ShapeStride::tuple({tile, *rest}));
}

std::optional<ShapeStride> logical_product(const ShapeStride& a, const ShapeStride& b) {
  const auto room = complement(a, size(a) * cosize(b));
  const auto copies = room ? composition(*room, b) : std::nullopt;
  if (!copies) return std::nullopt;
  return ShapeStride::tuple({a, *copies});
}

ShapeStride right_inverse(const ShapeStride& a) {
  // The leaves whose strides continue one another from 1, each at the place where a counts it.
  struct Place {
    ShapeStride leaf;
    int64_t div;
  };
  std::vector<Place> places;
  int64_t div = 1;
  for (const ShapeStride& leaf : leaves(coalesce(a))) {
    places.push_back({leaf, div});
    div *= leaf.extent;
  }
  std::sort(places.begin(), places.end(), [](const Place& x, const Place& y) {
    return std::pair(x.leaf.stride, x.div) < std::pair(y.leaf.stride, y.div);
  });
  Leaves back;
  int64_t next = 1;
  for (const Place& place : places) {
    if (place.leaf.stride != next) continue;
    back.push_back(ShapeStride::leaf(place.leaf.extent, place.div));
    next *= place.leaf.extent;
  }
  return coalesce(of_leaves(std::move(back)));
}

Layout to_layout(const ShapeStride& a) { return layout_of(a.is_tuple ? a.modes : Leaves{a}); }

std::optional<ShapeStride> to_shape_stride(const Layout& layout) {
  const Layout linear = linearize(layout);
  for (const Term& term : linear.terms()) {
    if (term.sources.size() > 1) return std::nullopt;
  }
  Leaves modes;
  for (int d = 0; d < layout.rank(); ++d) {
    auto parts = leaves_of(linear, d);
    if (!parts) return std::nullopt;
    modes.push_back(of_leaves(std::move(*parts)));
  }
  return ShapeStride::tuple(std::move(modes));
}

namespace {

/// The shape's text, or the strides'.
std::string side(const ShapeStride& a, int64_t ShapeStride::* number) {
  if (!a.is_tuple) return std::to_string(a.*number);
  std::vector<std::string> parts;
  for (const ShapeStride& mode : a.modes) parts.push_back(side(mode, number));
  return "(" + join(parts, ",") + ")";
}

}  // namespace

std::string to_text(const ShapeStride& a) {
  return side(a, &ShapeStride::extent) + ":" + side(a, &ShapeStride::stride);
}

}  // namespace tw::layout
