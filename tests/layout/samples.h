// Layouts to try laws on: enumerated small ones, and random ones with a fixed seed.
#pragma once

#include <functional>
#include <ostream>
#include <random>
#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// How GoogleTest prints one.
inline void PrintTo(const Layout& layout, std::ostream* stream) { *stream << to_text(layout); }

}  // namespace tw::layout

namespace tw::layout::test {

/// Terms as given to the constructor, with the box, and the layout made of them.
struct Sample {
  Coords shape;
  std::vector<Term> terms;
  int out_rank;
  Layout layout;
};

/// Compact maps of every small box: each dimension cut into digits in every way,
/// digits in every order.
const std::vector<Sample>& compact_samples();

/// Random linear maps over bits: boxes of powers of two, terms of any number of sources.
const std::vector<Sample>& xor_samples();

/// Random sums of digits and exclusive ors on boxes of any size, of which many are not injective,
/// overlap, or leave gaps.
const std::vector<Sample>& rough_samples();

/// All of them.
std::vector<Sample> all_samples();

/// Calls `visit` for each element of a box.
void for_each(const Coords& shape, const std::function<void(const Coords&)>& visit);

/// The map by its definition, from terms as given.
Coords apply_terms(const Sample& sample, const Coords& x);

}  // namespace tw::layout::test
