// Composition and inverse: how digits of digits become digits again.
#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

using Terms = std::vector<Term>;

// 1. Composition. A digit (p / div) mod extent of a coordinate p that is itself a sum of terms:
// terms that are multiples of div stay, terms below div go, a term that holds the boundary is split
// there; likewise at div * extent. It is right as long as what goes adds up to less than div, so
// that nothing carries.

int64_t greatest(const Term& term) { return (term.extent - 1) * term.stride; }

/// Splits off the values of `term` that lie below `boundary`, in units of its coordinate. Either
/// part may be missing; empty if the boundary doesn't fall between values.
struct Parts {
  std::optional<Term> below, above;
};
std::optional<Parts> split_at(const Term& term, int64_t boundary, const Coords& shape) {
  if (greatest(term) < boundary) return Parts{term, std::nullopt};
  if (term.stride % boundary == 0) return Parts{std::nullopt, term};
  if (boundary % term.stride != 0) return std::nullopt;
  const auto parts = split(term, boundary / term.stride, shape);
  if (!parts) return std::nullopt;
  Parts result = {parts->front(), std::nullopt};
  if (parts->size() > 1) result.above = parts->back();
  return result;
}

/// The digit `source` of `second`, of the given extent, as terms in the coordinates of `first`.
/// Strides are in units of the digit.
std::optional<Terms> digit_of_terms(const Layout& first, const Layout& second, const Source& source,
                                    int64_t extent) {
  Terms kept;
  int64_t below = 0;
  for (const Term& term : first.terms()) {
    if (term.out != source.dim) continue;
    const auto parts = split_at(term, source.div, first.shape());
    if (!parts) return std::nullopt;
    if (parts->below) below += greatest(*parts->below);
    if (parts->above) {
      kept.push_back(*parts->above);
      kept.back().stride /= source.div;
    }
  }
  if (below >= source.div) return std::nullopt;
  if (source.div * extent >= second.shape()[source.dim]) return kept;  // no mod

  int64_t total = 0;
  for (const Term& term : kept) total += greatest(term);
  if (total < extent) return kept;
  Terms low;
  total = 0;
  for (const Term& term : kept) {
    const auto parts = split_at(term, extent, first.shape());
    if (!parts) return std::nullopt;
    if (!parts->below) continue;
    low.push_back(*parts->below);
    total += greatest(low.back());
  }
  if (total >= extent) return std::nullopt;
  return low;
}

bool is_power_of_two(int64_t x) { return std::has_single_bit(static_cast<uint64_t>(x)); }

/// Whether each term sets bits of its own. Extents of top digits are rounded up to powers of two.
bool is_sum_of_bits(Terms& sum, const Coords& shape) {
  int64_t used = 0;
  for (Term& term : sum) {
    const Source& source = term.sources.front();
    if (term.sources.size() == 1 && source.div * term.extent >= shape[source.dim]) {
      term.extent = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(term.extent)));
    }
    if (!is_power_of_two(term.extent) || !is_power_of_two(term.stride)) return false;
    if ((used & greatest(term)) != 0) return false;
    used |= greatest(term);
  }
  return true;
}

/// The exclusive or of two sums of bits: one term per range of bits that no boundary divides.
std::optional<Terms> xor_of_sums(Terms a, Terms b, const Coords& shape) {
  if (!is_sum_of_bits(a, shape) || !is_sum_of_bits(b, shape)) return std::nullopt;
  a.insert(a.end(), b.begin(), b.end());
  std::set<int64_t> boundaries;
  for (const Term& term : a) boundaries.insert({term.stride, term.stride * term.extent});
  Terms result;
  for (auto low = boundaries.begin(); low != boundaries.end(); ++low) {
    const auto high = std::next(low);
    if (high == boundaries.end()) break;
    Term piece = {{}, *high / *low, 0, *low};
    for (const Term& term : a) {
      if (*low < term.stride || *low >= term.stride * term.extent) continue;
      for (const Source& source : term.sources) {
        piece.sources.push_back({source.dim, source.div * (*low / term.stride)});
      }
    }
    if (!piece.sources.empty()) result.push_back(std::move(piece));
  }
  return result;
}

/// A whole term of `second` in the coordinates of `first`.
std::optional<Terms> term_of_terms(const Layout& first, const Layout& second, const Term& term) {
  auto sum = digit_of_terms(first, second, term.sources.front(), term.extent);
  for (size_t i = 1; sum && i < term.sources.size(); ++i) {
    const auto other = digit_of_terms(first, second, term.sources[i], term.extent);
    sum = other ? xor_of_sums(*sum, *other, first.shape()) : std::nullopt;
  }
  return sum;
}

// 2. Inverse. After `refine` each source is a variable, each term the exclusive or of some
// variables, and its value can be read from its coordinate when strides don't let terms overlap.
// Exclusive or works on all bits of a digit alike, so the variables follow from the terms' values
// by Gaussian elimination over digits.

/// How the value of a term is read from its coordinate.
struct Reading {
  Source source;
  int64_t extent;  // of the digit that is read: up to the next term's stride
};

std::optional<std::vector<Reading>> readings_of(const Terms& terms, const Coords& extents) {
  std::vector<Reading> readings(terms.size());
  for (int out = 0; out < static_cast<int>(extents.size()); ++out) {
    std::vector<size_t> order;
    for (size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].out == out) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return terms[a].stride < terms[b].stride; });
    for (size_t k = 0; k < order.size(); ++k) {
      const Term& term = terms[order[k]];
      const bool last = k + 1 == order.size();
      const int64_t next =
          last ? std::max(extents[out], term.stride * term.extent) : terms[order[k + 1]].stride;
      if (!last && (next % term.stride != 0 || next < term.stride * term.extent)) {
        return std::nullopt;
      }
      readings[order[k]] = {{out, term.stride}, ceil_div(next, term.stride)};
    }
  }
  return readings;
}

struct Variable {
  Source source;
  int64_t extent;
};

/// The variables of refined terms in order of dimension and div; empty if they don't cover the box.
std::optional<std::vector<Variable>> variables_of(const Terms& terms, const Coords& shape) {
  std::vector<Variable> variables;
  for (const Term& term : terms) {
    for (const Source& source : term.sources) variables.push_back({source, term.extent});
  }
  std::sort(variables.begin(), variables.end(), [](const Variable& a, const Variable& b) {
    return std::pair(a.source, -a.extent) < std::pair(b.source, -b.extent);
  });
  variables.erase(
      std::unique(variables.begin(), variables.end(),
                  [](const Variable& a, const Variable& b) { return a.source == b.source; }),
      variables.end());
  Coords covered(shape.size(), 1);
  for (const Variable& v : variables) {
    if (v.source.div != covered[v.source.dim]) return std::nullopt;
    covered[v.source.dim] *= v.extent;
  }
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (covered[dim] < shape[dim]) return std::nullopt;
  }
  return variables;
}

/// An exclusive or of variables that equals one of terms; bit i is the i-th.
struct Equation {
  uint64_t variables = 0, terms = 0;
};

/// Equation v of the result has the v-th variable alone on its side; empty if some variable can't
/// be found.
std::optional<std::vector<Equation>> solve(const Terms& terms,
                                           const std::vector<Variable>& variables) {
  if (terms.size() > 64 || variables.size() > 64) return std::nullopt;
  std::vector<Equation> equations(terms.size());
  for (size_t t = 0; t < terms.size(); ++t) {
    equations[t].terms = uint64_t{1} << t;
    for (size_t v = 0; v < variables.size(); ++v) {
      const bool reads =
          std::count(terms[t].sources.begin(), terms[t].sources.end(), variables[v].source) != 0;
      equations[t].variables |= uint64_t{reads} << v;
    }
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    const auto has_variable = [v](const Equation& e) { return (e.variables >> v & 1) != 0; };
    const auto pivot = std::find_if(equations.begin() + static_cast<std::ptrdiff_t>(v),
                                    equations.end(), has_variable);
    if (pivot == equations.end()) return std::nullopt;
    std::swap(equations[v], *pivot);
    for (Equation& other : equations) {
      if (&other == &equations[v] || !has_variable(other)) continue;
      other.variables ^= equations[v].variables;
      other.terms ^= equations[v].terms;
    }
  }
  return equations;
}

}  // namespace

std::optional<Layout> compose(const Layout& first, const Layout& second) {
  TW_CHECK(first.out_rank() == second.rank(), "composition of {} with {}", first, second);
  for (int i = 0; i < second.rank(); ++i) {
    TW_CHECK(first.extents()[i] <= second.shape()[i], "composition of {} with {}", first, second);
  }
  Terms terms;
  for (const Term& term : second.terms()) {
    const auto parts = term_of_terms(first, second, term);
    if (!parts) return std::nullopt;
    for (Term part : *parts) {
      part.stride *= term.stride;
      part.out = term.out;
      terms.push_back(std::move(part));
    }
  }
  return Layout(first.shape(), std::move(terms), second.extents());
}

std::optional<Inverse> inverse(const Layout& layout) {
  const auto terms = refine(layout.terms(), layout.shape());
  if (!terms) return std::nullopt;
  const auto readings = readings_of(*terms, layout.extents());
  if (!readings) return std::nullopt;
  const auto variables = variables_of(*terms, layout.shape());
  if (!variables) return std::nullopt;
  const auto solution = solve(*terms, *variables);
  if (!solution) return std::nullopt;

  Terms back;
  for (size_t v = 0; v < variables->size(); ++v) {
    const auto& [source, extent] = (*variables)[v];
    Term term = {{}, extent, source.dim, source.div};
    bool whole = true;  // every digit that is read ends where the term's does
    for (size_t t = 0; t < terms->size(); ++t) {
      if (((*solution)[v].terms >> t & 1) == 0) continue;
      const Reading& reading = (*readings)[t];
      term.sources.push_back(reading.source);
      if (term.sources.size() == 1) term.extent = reading.extent;
      whole = whole && (reading.extent % extent == 0 ||
                        reading.source.div * extent >= layout.extents()[reading.source.dim]);
    }
    if (term.sources.size() > 1) {
      if (!whole) return std::nullopt;
      term.extent = extent;
    }
    back.push_back(std::move(term));
  }
  const bool total = layout.size() == layout.physical_size();
  return Inverse{Layout::tight(layout.extents(), std::move(back), layout.rank()), total};
}

}  // namespace tw::layout
