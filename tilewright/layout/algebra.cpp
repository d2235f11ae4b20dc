#include "tilewright/layout/algebra.h"

#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {

Layout linearize(const Layout& layout) {
  const Coords strides = row_major_strides(layout.extents());
  std::vector<Term> terms = layout.terms();
  for (Term& term : terms) {
    term.stride *= strides[term.out];
    term.out = 0;
  }
  return Layout(layout.shape(), std::move(terms), {layout.physical_size()});
}

Layout permute(const Layout& layout, const std::vector<int>& order) {
  TW_CHECK(static_cast<int>(order.size()) == layout.rank(), "permutation of {}", to_text(layout));
  Coords shape;
  std::vector<int> place(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    shape.push_back(layout.shape()[order[i]]);
    place[order[i]] = static_cast<int>(i);
  }
  std::vector<Term> terms = layout.terms();
  for (Term& term : terms) {
    for (Source& source : term.sources) source.dim = place[source.dim];
  }
  return Layout(std::move(shape), std::move(terms), layout.extents());
}

Layout permute_physical(const Layout& layout, const std::vector<int>& order) {
  TW_CHECK(static_cast<int>(order.size()) == layout.out_rank(), "permutation of {}",
           to_text(layout));
  Coords extents;
  std::vector<int> place(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    extents.push_back(layout.extents()[order[i]]);
    place[order[i]] = static_cast<int>(i);
  }
  std::vector<Term> terms = layout.terms();
  for (Term& term : terms) term.out = place[term.out];
  return Layout(layout.shape(), std::move(terms), std::move(extents));
}

Layout expand(const Layout& layout, const Coords& leading) {
  const int count = static_cast<int>(leading.size());
  Coords shape = leading, extents = leading;
  shape.insert(shape.end(), layout.shape().begin(), layout.shape().end());
  extents.insert(extents.end(), layout.extents().begin(), layout.extents().end());
  std::vector<Term> terms = layout.terms();
  for (Term& term : terms) {
    term.out += count;
    for (Source& source : term.sources) source.dim += count;
  }
  for (int i = 0; i < count; ++i) terms.push_back({{{i, 1}}, leading[i], i, 1});
  return Layout(std::move(shape), std::move(terms), std::move(extents));
}

Layout repeat(const Layout& layout, int dim, int64_t count) {
  // x -> (number of the copy, x inside it), then one copy of the layout per number.
  Coords shape = layout.shape();
  Coords extents = shape;
  extents.insert(extents.begin(), count);
  std::vector<Term> terms;
  for (int d = 0; d < layout.rank(); ++d) terms.push_back({{{d, 1}}, shape[d], d + 1, 1});
  terms.push_back({{{dim, shape[dim]}}, count, 0, 1});
  shape[dim] *= count;
  const auto result =
      compose(Layout(shape, std::move(terms), std::move(extents)), expand(layout, {count}));
  TW_REQUIRE(result, "repeat: dimension {} of {} does not end at a boundary of its digits", dim,
             layout);
  return *result;
}

Layout pad(const Layout& layout, int out, int64_t count) {
  Coords extents = layout.extents();
  extents[out] += count;
  return Layout(layout.shape(), layout.terms(), std::move(extents));
}

Layout restrict(const Layout& layout, const Coords& shape) {
  for (int d = 0; d < layout.rank(); ++d) {
    TW_CHECK(shape[d] <= layout.shape()[d], "restriction of {} to {}", layout, shape);
  }
  return Layout(shape, layout.terms(), layout.extents());
}

namespace {

/// Coordinates of `shape` to those of `other`, elements in row-major order on both sides.
std::optional<Layout> relabel(const Coords& shape, const Coords& other) {
  const Layout number = strided(shape, row_major_strides(shape));
  const Coords strides = row_major_strides(other);
  std::vector<Term> terms;
  for (int d = 0; d < static_cast<int>(other.size()); ++d) {
    terms.push_back({{{0, strides[d]}}, other[d], d, 1});
  }
  return compose(number, Layout({product(other)}, std::move(terms), other));
}

/// Each element becomes `ratio` elements that follow one another.
Layout subdivide(const Layout& layout, int64_t ratio) {
  const int last = layout.rank() - 1, last_out = layout.out_rank() - 1;
  Coords shape = layout.shape(), extents = layout.extents();
  std::vector<Term> terms = layout.terms();
  for (Term& term : terms) {
    if (term.out == last_out) term.stride *= ratio;
    for (Source& source : term.sources) {
      if (source.dim == last) source.div *= ratio;
    }
  }
  terms.push_back({{{last, 1}}, ratio, last_out, 1});
  shape[last] *= ratio;
  extents[last_out] *= ratio;
  return Layout(std::move(shape), std::move(terms), std::move(extents));
}

/// The reverse: `ratio` elements that follow one another become one. Empty if some don't.
std::optional<Layout> unite(const Layout& layout, int64_t ratio) {
  const int last = layout.rank() - 1, last_out = layout.out_rank() - 1;
  Coords shape = layout.shape(), extents = layout.extents();
  if (shape[last] % ratio != 0 || extents[last_out] % ratio != 0) return std::nullopt;
  std::vector<Term> terms;
  int64_t inside = 1;
  for (Term term : layout.terms()) {
    if (term.sources == std::vector<Source>{{last, 1}} && term.out == last_out &&
        term.stride == 1) {  // the elements that become one
      const auto parts = split(term, ratio, layout.shape());
      if (!parts) return std::nullopt;
      inside = ratio;
      if (parts->size() == 1) continue;
      term = parts->back();
    }
    if (term.out == last_out) {
      if (term.stride % ratio != 0) return std::nullopt;
      term.stride /= ratio;
    }
    for (Source& source : term.sources) {
      if (source.dim != last) continue;
      if (source.div % ratio != 0) return std::nullopt;
      source.div /= ratio;
    }
    terms.push_back(std::move(term));
  }
  if (inside != ratio) return std::nullopt;
  shape[last] /= ratio;
  extents[last_out] /= ratio;
  return Layout(std::move(shape), std::move(terms), std::move(extents));
}

}  // namespace

std::optional<Layout> reshape(const Layout& layout, const Coords& shape, int old_bits,
                              int new_bits) {
  TW_REQUIRE(layout.size() * old_bits == product(shape) * new_bits,
             "reshape: {} elements of {} bits can't be seen as {} of {} bits", layout.shape(),
             old_bits, shape, new_bits);
  if (old_bits % new_bits == 0) {
    const Layout fine = subdivide(layout, old_bits / new_bits);
    const auto labels = relabel(shape, fine.shape());
    return labels ? compose(*labels, fine) : std::nullopt;
  }
  if (new_bits % old_bits != 0) return std::nullopt;
  Coords fine = shape;
  fine.back() *= new_bits / old_bits;
  const auto labels = relabel(fine, layout.shape());
  const auto relabeled = labels ? compose(*labels, layout) : std::nullopt;
  return relabeled ? unite(*relabeled, new_bits / old_bits) : std::nullopt;
}

}  // namespace tw::layout
