// Questions about layouts.
#pragma once

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// Whether both have the same boxes and the same map. Boxes of more than 2^20 elements whose digits
/// are divided in ways that can't be compared count as different.
bool equal(const Layout& a, const Layout& b);

/// Whether no two elements share a place; whether, besides, every place holds an element. Decided
/// by algebra, else by trying all elements; of more than 2^24 the answer is then no.
bool is_injective(const Layout& layout);
bool is_bijective(const Layout& layout);

/// How many elements of a dimension follow one another in memory: element x and the `length - 1`
/// next of it have consecutive offsets whenever x is a multiple of `length`, and the first offset
/// is then a multiple of `alignment`, whatever the other coordinates are. A vector access of w
/// elements is possible where w divides `length` (or the whole extent is the run) and w divides
/// `alignment`.
struct Run {
  int64_t length, alignment;
};
Run contiguous_run(const Layout& layout, int dim);

}  // namespace tw::layout
