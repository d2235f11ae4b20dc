#include "tilewright/layout/bounds.h"

#include <algorithm>
#include <utility>

#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

struct Range {
  int64_t least = 0, greatest = 0;
};

/// The range of a sum of digits of one dimension while x runs from `lo` to `hi`. `terms` are
/// ordered by rising div, `count` of them are left. By the highest digit q: q is one of the two at
/// the ends, with part of the values below it, or one between, with all of them.
Range range_of(const std::vector<Term>& terms, size_t count, int64_t lo, int64_t hi) {
  if (count == 0) return {};
  const Term& term = terms[count - 1];
  const int64_t div = term.sources.front().div, extent = term.extent;
  if (hi - lo + 1 >= div * extent) {  // a whole period
    Range range = {0, (extent - 1) * term.stride};
    for (size_t i = 0; i + 1 < count; ++i)
      range.greatest += (terms[i].extent - 1) * terms[i].stride;
    return range;
  }
  const auto with_digit = [&](Range rest, int64_t least, int64_t greatest) {
    return Range{rest.least + least * term.stride, rest.greatest + greatest * term.stride};
  };
  const int64_t first = lo / div, last = hi / div;
  if (first == last) {
    return with_digit(range_of(terms, count - 1, lo, hi), first % extent, first % extent);
  }
  std::vector<Range> cases = {
      with_digit(range_of(terms, count - 1, lo, first * div + div - 1), first % extent,
                 first % extent),
      with_digit(range_of(terms, count - 1, last * div, hi), last % extent, last % extent)};
  if (last - first > 1) {
    const bool wraps = (first + 1) / extent != (last - 1) / extent;
    cases.push_back(with_digit(range_of(terms, count - 1, 0, div - 1),
                               wraps ? 0 : (first + 1) % extent,
                               wraps ? extent - 1 : (last - 1) % extent));
  }
  Range range = cases.front();
  for (const Range& other : cases) {
    range.least = std::min(range.least, other.least);
    range.greatest = std::max(range.greatest, other.greatest);
  }
  return range;
}

Range range_of_xor(const Term& term, const Coords& base, const Coords& size) {
  for (const Source& s : term.sources) {
    if (base[s.dim] / s.div != (base[s.dim] + size[s.dim] - 1) / s.div) {
      return {0, (term.extent - 1) * term.stride};
    }
  }
  const int64_t value = term.value(base) * term.stride;
  return {value, value};
}

/// The digits of one dimension that go to one coordinate, by rising div, each once.
std::vector<Term> digits_of(const std::vector<Term>& terms, int dim, int out) {
  std::vector<Term> digits;
  for (const Term& term : terms) {
    if (term.out != out || term.sources.size() != 1 || term.sources.front().dim != dim) continue;
    const auto same = std::find_if(digits.begin(), digits.end(), [&](const Term& other) {
      return other.sources == term.sources && other.extent == term.extent;
    });
    if (same != digits.end()) {
      same->stride += term.stride;
    } else {
      digits.push_back(term);
    }
  }
  std::sort(digits.begin(), digits.end(),
            [](const Term& a, const Term& b) { return a.sources < b.sources; });
  return digits;
}

}  // namespace

Bounds bounds_of(std::vector<Term> terms, const Coords& shape, int out_rank, const Coords& base,
                 const Coords& size) {
  auto refined = refine(terms, shape);
  if (refined) terms = std::move(*refined);
  Bounds bounds = {Coords(out_rank), Coords(out_rank)};
  const auto add = [&](int out, Range range) {
    bounds.least[out] += range.least;
    bounds.greatest[out] += range.greatest;
  };
  for (const Term& term : terms) {
    if (term.sources.size() > 1) {
      add(term.out, range_of_xor(term, base, size));
    } else if (!refined) {
      const int dim = term.sources.front().dim;
      add(term.out, range_of({term}, 1, base[dim], base[dim] + size[dim] - 1));
    }
  }
  for (int out = 0; refined && out < out_rank; ++out) {
    for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
      const std::vector<Term> digits = digits_of(terms, dim, out);
      add(out, range_of(digits, digits.size(), base[dim], base[dim] + size[dim] - 1));
    }
  }
  return bounds;
}

Bounds region_bounds(const Layout& layout, const Coords& base, const Coords& size) {
  return bounds_of(layout.terms(), layout.shape(), layout.out_rank(), base, size);
}

}  // namespace tw::layout
