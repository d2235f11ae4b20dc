#include "tilewright/layout/query.h"

#include <numeric>

#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

constexpr int64_t kLimitOfEqual = int64_t{1} << 20, kLimitOfInjective = int64_t{1} << 24;

bool all_places_differ(const Layout& layout) {
  std::vector<bool> taken(layout.physical_size());
  return every(layout.shape(), [&](const Coords& x) {
    const int64_t place = layout.offset(x);
    if (taken[place]) return false;
    taken[place] = true;
    return true;
  });
}

}  // namespace

bool equal(const Layout& a, const Layout& b) {
  if (a == b) return true;
  if (a.shape() != b.shape() || a.extents() != b.extents() || a.size() > kLimitOfEqual)
    return false;
  return every(a.shape(), [&](const Coords& x) { return a.apply(x) == b.apply(x); });
}

bool is_injective(const Layout& layout) {
  if (layout.size() > layout.physical_size()) return false;
  if (inverse(layout)) return true;
  if (layout.size() > kLimitOfInjective || layout.physical_size() > kLimitOfInjective) return false;
  return all_places_differ(layout);
}

bool is_bijective(const Layout& layout) {
  return layout.size() == layout.physical_size() && is_injective(layout);
}

Run contiguous_run(const Layout& layout, int dim) {
  const Layout linear = linearize(layout);
  const int64_t whole = layout.shape()[dim];
  // The digit that runs: read from dim itself, going to the offset itself. Any other term that
  // reads the same elements ends the run where it starts to read them.
  int64_t length = 1;
  const Term* run = nullptr;
  for (const Term& term : linear.terms()) {
    if (term.stride == 1 && term.sources == std::vector<Source>{{dim, 1}}) {
      run = &term;
      length = term.extent;
    }
  }
  int64_t boundary = 0;  // gcd of where other terms change
  for (const Term& term : linear.terms()) {
    for (const Source& source : term.sources) {
      if (&term != run && source.dim == dim) boundary = std::gcd(boundary, source.div);
    }
  }
  if (boundary != 0) length = std::gcd(length, boundary);
  int64_t alignment = layout.physical_size();
  for (const Term& term : linear.terms()) {
    if (&term != run) alignment = std::gcd(alignment, term.stride);
  }
  if (length < whole) alignment = std::gcd(alignment, length);
  return {length, alignment};
}

}  // namespace tw::layout
