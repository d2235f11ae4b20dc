// The two forms of a list of terms: merged as far as possible, and split until
// digits don't overlap.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/base/integer.h"
#include "tilewright/layout/layout.h"

namespace tw::layout {

/// The normal form that `Layout` keeps. Sources that are always 0 and terms that add nothing go,
/// extents shrink to what the box needs, equal digits add their strides, neighbors that continue
/// each other merge, terms are ordered. Bad terms are an Error.
std::vector<Term> normalize(std::vector<Term> terms, const Coords& shape, int out_rank);

/// The same map with digits split so that any two sources of one dimension are equal or read
/// disjoint digits. Sources that are equal have terms of equal extent, but that the last digit of a
/// dimension may have a larger one in a term of several sources. Empty if the boundaries of the
/// digits of a dimension don't divide one another.
std::optional<std::vector<Term>> refine(std::vector<Term> terms, const Coords& shape);

/// Splits a term in two, the low part having `low` values. Empty if it can't be: `low` must divide
/// the extent, unless nothing of the only source's dimension lies above the digit.
std::optional<std::vector<Term>> split(const Term& term, int64_t low, const Coords& shape);

}  // namespace tw::layout
