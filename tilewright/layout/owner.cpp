#include "tilewright/layout/owner.h"

#include <algorithm>
#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"
#include "tilewright/layout/query.h"

namespace tw::layout {
namespace {

constexpr int kThread = 0;
constexpr int64_t kLimitOfTrying = int64_t{1} << 22;

/// The same map to the thread alone, replicas in normal form.
Layout thread_map(const Fragment& fragment) {
  const Fragment condensed = condense(fragment);
  std::vector<Term> terms = condensed.map().terms();
  std::erase_if(terms, [](const Term& term) { return term.out != kThread; });
  return Layout::tight(condensed.map().shape(), std::move(terms), 1);
}

/// Whether the buffer is spread just as the loop's own map would spread it.
bool fits_loop(const Fragment& loop, const Fragment& buffer, const Layout& index) {
  if (loop.first_thread() != buffer.first_thread() || index.extents() != buffer.shape())
    return false;
  const auto derived = derive(loop, index);
  return derived && same_owners(*derived, buffer);
}

template <class Compare>
bool owners_match(const Fragment& loop, const Fragment& buffer, const Layout& index,
                  const Compare& compare) {
  if (index.size() * (loop.replicas() + buffer.replicas()) > kLimitOfTrying) return false;
  return every(index.shape(), [&](const Coords& x) {
    return compare(owners(loop, x), owners(buffer, index.apply(x)));
  });
}

void check_boxes(const Fragment& loop, const Fragment& buffer, const Layout& index) {
  TW_CHECK(index.shape() == loop.shape(), "index {} of a loop {}", index, loop);
  TW_CHECK(index.out_rank() == buffer.rank(), "index {} into {}", index, buffer);
}

/// A digit of a loop dimension, and where it goes.
struct Digit {
  int dim;
  int64_t div, extent;
};

/// The digits of dimension `dim` that refined terms read, ascending; empty if one is read twice or
/// the last one reaches beyond the dimension.
std::optional<std::vector<Digit>> digits_read(const std::vector<Term>& refined, int dim,
                                              int64_t extent) {
  std::vector<Digit> read;
  for (const Term& term : refined) {
    if (term.sources.front().dim == dim)
      read.push_back({dim, term.sources.front().div, term.extent});
  }
  std::sort(read.begin(), read.end(), [](const Digit& a, const Digit& b) { return a.div < b.div; });
  int64_t covered = 1;
  for (const Digit& digit : read) {
    if (digit.div < covered || digit.div % covered != 0) return std::nullopt;
    covered = digit.div * digit.extent;
  }
  if (extent % covered != 0) return std::nullopt;
  return read;
}

/// (y..., r) -> (x..., replica of the loop), so that index(x) = y: the digits of x that the index
/// reads come from y, the others from r.
std::optional<Layout> iterations_of(const Fragment& loop, const Layout& index) {
  const auto refined = refine(index.terms(), index.shape());
  if (!refined) return std::nullopt;
  const int replica = index.out_rank();
  std::vector<Term> terms;
  int64_t reached = 1;
  for (const Term& term : *refined) {
    if (term.sources.size() != 1) return std::nullopt;
    const Source& s = term.sources.front();
    terms.push_back({{{term.out, term.stride}}, term.extent, s.dim, s.div});
    reached *= term.extent;
  }
  if (reached != index.physical_size()) return std::nullopt;
  int64_t replicas = 1;
  const auto from_replica = [&](int dim, int64_t div, int64_t extent) {
    terms.push_back({{{replica, replicas}}, extent, dim, div});
    replicas *= extent;
  };
  for (int dim = 0; dim < index.rank(); ++dim) {
    const auto read = digits_read(*refined, dim, index.shape()[dim]);
    if (!read) return std::nullopt;
    int64_t covered = 1;
    for (const Digit& digit : *read) {
      if (digit.div > covered) from_replica(dim, covered, digit.div / covered);
      covered = digit.div * digit.extent;
    }
    if (covered < index.shape()[dim]) from_replica(dim, covered, index.shape()[dim] / covered);
  }
  from_replica(index.rank(), 1, loop.replicas());

  Coords shape = index.extents();
  shape.push_back(replicas);
  Layout iterations(shape, std::move(terms), loop.map().shape());
  // Strides of the index may still overlap: it must give back y.
  std::vector<Term> of_loop = index.terms();
  const auto image =
      compose(iterations, Layout(loop.map().shape(), std::move(of_loop), index.extents()));
  std::vector<Term> identity;
  for (int out = 0; out < replica; ++out) identity.push_back({{{out, 1}}, shape[out], out, 1});
  if (image != Layout(shape, std::move(identity), index.extents())) return std::nullopt;
  return iterations;
}

/// `derive`, the replicas that come from dropped loop dimensions being addends, `addends` of them.
std::optional<Fragment> derive_partial(const Fragment& loop, const Layout& index, int64_t addends) {
  const auto iterations = iterations_of(loop, index);
  const auto map = iterations ? compose(*iterations, loop.map()) : std::nullopt;
  if (!map) return std::nullopt;
  // Slots: digits of the element stay, in their order; digits of the dropped dimensions go.
  const int replica = index.out_rank();
  std::vector<Term> terms, slots;
  for (const Term& term : map->terms()) {
    const bool drops = std::any_of(term.sources.begin(), term.sources.end(),
                                   [&](const Source& s) { return s.dim == replica; });
    if (term.out == kThread) {
      terms.push_back(term);
    } else if (!drops) {
      slots.push_back(term);
    } else if (term.sources.size() > 1) {
      return std::nullopt;
    }
  }
  int64_t next = 1;
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {  // by rising stride
    slot->stride = next;
    next *= slot->extent;
    terms.push_back(*slot);
  }
  const Fragment derived = condense(
      Fragment(Layout::tight(map->shape(), std::move(terms), 2), loop.first_thread(), addends));
  if (!is_injective(derived.map())) return std::nullopt;
  return derived;
}

}  // namespace

bool same_owners(const Fragment& a, const Fragment& b) {
  return a.first_thread() == b.first_thread() && a.shape() == b.shape() &&
         thread_map(a) == thread_map(b);
}

bool reads_own(const Fragment& loop, const Fragment& buffer, const Layout& index) {
  check_boxes(loop, buffer, index);
  if (fits_loop(loop, buffer, index)) return true;
  return owners_match(loop, buffer, index, [](const auto& running, const auto& owning) {
    return std::includes(owning.begin(), owning.end(), running.begin(), running.end());
  });
}

bool writes_own(const Fragment& loop, const Fragment& buffer, const Layout& index) {
  check_boxes(loop, buffer, index);
  if (!is_injective(index)) return false;
  if (fits_loop(loop, buffer, index)) return true;
  return owners_match(loop, buffer, index,
                      [](const auto& running, const auto& owning) { return running == owning; });
}

std::optional<Fragment> derive(const Fragment& loop, const Layout& index) {
  TW_CHECK(index.shape() == loop.shape(), "index {} of a loop {}", index, loop);
  return derive_partial(loop, index, 1);
}

std::optional<Fragment> reduce(const Fragment& fragment, int dim, bool partial) {
  TW_CHECK(fragment.addends() == 1, "reduction of {}, whose addends aren't combined", fragment);
  const Coords shape = fragment.shape();
  Coords extents;
  std::vector<Term> kept;
  for (int d = 0; d < fragment.rank(); ++d) {
    if (d == dim) continue;
    kept.push_back({{{d, 1}}, shape[d], static_cast<int>(extents.size()), 1});
    extents.push_back(shape[d]);
  }
  if (extents.empty()) extents.push_back(1);  // a scalar is a box of one element
  return derive_partial(fragment, Layout(shape, std::move(kept), extents),
                        partial ? shape[dim] : 1);
}

}  // namespace tw::layout
