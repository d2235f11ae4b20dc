#include "tilewright/layout/normal.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "tilewright/base/error.h"

namespace tw::layout {
namespace {

bool is_power_of_two(int64_t x) { return std::has_single_bit(static_cast<uint64_t>(x)); }

int64_t power_of_two_from(int64_t x) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(x)));
}

void check(const Term& term, const Coords& shape, int out_rank) {
  TW_REQUIRE(term.out >= 0 && term.out < out_rank, "layout: a term goes to coordinate {} of {}",
             term.out, out_rank);
  TW_REQUIRE(term.extent >= 1 && term.stride >= 0, "layout: a term has extent {} and stride {}",
             term.extent, term.stride);
  TW_REQUIRE(term.sources.size() < 2 || is_power_of_two(term.extent),
             "layout: an exclusive or of digits of extent {}, which is no power of two",
             term.extent);
  for (const Source& source : term.sources) {
    TW_REQUIRE(source.dim >= 0 && source.dim < static_cast<int>(shape.size()) && source.div >= 1,
               "layout: a digit reads dimension {} of {} divided by {}", source.dim, shape.size(),
               source.div);
  }
}

/// Drops what is always 0 or cancels, and shrinks the extent. False if nothing is left.
bool tidy(Term& term, const Coords& shape) {
  std::sort(term.sources.begin(), term.sources.end());
  std::vector<Source> kept;
  int64_t values = 1;
  for (const Source& source : term.sources) {
    if (source.div >= shape[source.dim]) continue;
    if (!kept.empty() && kept.back() == source) {
      kept.pop_back();  // x ^ x
    } else {
      kept.push_back(source);
    }
  }
  for (const Source& source : kept) {
    values = std::max(values, ceil_div(shape[source.dim], source.div));
  }
  term.sources = std::move(kept);
  term.extent = std::min(term.extent, term.sources.size() > 1 ? power_of_two_from(values) : values);
  return term.extent > 1 && term.stride > 0;
}

/// Whether `high` reads the digits just above those of `low`, and goes just above it.
bool continues(const Term& low, const Term& high, const Coords& shape) {
  if (low.out != high.out || high.stride != low.stride * low.extent) return false;
  std::vector<Source> above;
  for (const Source& source : low.sources) {
    const Source next = {source.dim, source.div * low.extent};
    if (next.div < shape[next.dim]) above.push_back(next);
  }
  if (above != high.sources) return false;
  // An exclusive or takes all bits of its digits, or all that are left of the only one.
  const Source& first = high.sources.front();
  return low.sources.size() == 1 || is_power_of_two(high.extent) ||
         (high.sources.size() == 1 && first.div * high.extent >= shape[first.dim]);
}

bool merge_one(std::vector<Term>& terms, const Coords& shape) {
  for (size_t a = 0; a < terms.size(); ++a) {
    for (size_t b = 0; b < terms.size(); ++b) {
      if (!continues(terms[a], terms[b], shape)) continue;
      terms[a].extent *=
          terms[a].sources.size() > 1 ? power_of_two_from(terms[b].extent) : terms[b].extent;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(b));
      return true;
    }
  }
  return false;
}

/// A digit boundary of another source strictly inside one of the term's digits, as the number of
/// values below it; 0 if there is none.
int64_t cut_of(const Term& term, const std::vector<std::set<int64_t>>& boundaries) {
  for (const Source& source : term.sources) {
    const auto& of_dim = boundaries[source.dim];
    const auto inside = of_dim.upper_bound(source.div);
    if (inside != of_dim.end() && *inside < source.div * term.extent) {
      return *inside % source.div == 0 ? *inside / source.div : -1;
    }
  }
  return 0;
}

}  // namespace

std::vector<Term> normalize(std::vector<Term> terms, const Coords& shape, int out_rank) {
  for (const Term& term : terms) check(term, shape, out_rank);
  std::erase_if(terms, [&](Term& term) { return !tidy(term, shape); });
  while (merge_one(terms, shape)) {
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return std::tuple(a.out, -a.stride, a.extent, a.sources) <
           std::tuple(b.out, -b.stride, b.extent, b.sources);
  });
  return terms;
}

std::optional<std::vector<Term>> split(const Term& term, int64_t low, const Coords& shape) {
  const Source& first = term.sources.front();
  const bool is_top = term.sources.size() == 1 && first.div * term.extent >= shape[first.dim];
  if (term.extent % low != 0 && !is_top) return std::nullopt;
  Term below = term, above = term;
  below.extent = low;
  above.extent = ceil_div(term.extent, low);
  above.stride = term.stride * low;
  for (Source& source : above.sources) source.div *= low;
  std::erase_if(above.sources, [&](const Source& s) { return s.div >= shape[s.dim]; });
  if (above.sources.empty()) return std::vector<Term>{below};
  return std::vector<Term>{below, above};
}

std::optional<std::vector<Term>> refine(std::vector<Term> terms, const Coords& shape) {
  std::vector<std::set<int64_t>> boundaries(shape.size());
  for (const Term& term : terms) {
    for (const Source& source : term.sources) {
      boundaries[source.dim].insert(source.div);
      const int64_t end = source.div * term.extent;
      if (end < shape[source.dim]) boundaries[source.dim].insert(end);
    }
  }
  for (size_t i = 0; i < terms.size();) {
    const int64_t cut = cut_of(terms[i], boundaries);
    if (cut == 0) {
      ++i;
      continue;
    }
    const auto parts = cut > 0 ? split(terms[i], cut, shape) : std::nullopt;
    if (!parts) return std::nullopt;
    // The other sources of the term now have a boundary there as well.
    for (const Source& source : terms[i].sources) {
      if (source.div * cut < shape[source.dim]) boundaries[source.dim].insert(source.div * cut);
    }
    terms[i] = parts->front();
    terms.insert(terms.end(), parts->begin() + 1, parts->end());
    i = 0;
  }
  return terms;
}

}  // namespace tw::layout
