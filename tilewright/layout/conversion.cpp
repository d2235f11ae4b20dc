#include "tilewright/layout/conversion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/bits.h"
#include "tilewright/layout/query.h"

namespace tw::layout {
namespace {

constexpr int kThread = 0, kSlot = 1;

/// One physical coordinate of a layout alone.
Layout component(const Layout& layout, int out) {
  std::vector<Term> terms;
  for (Term term : layout.terms()) {
    if (term.out != out) continue;
    term.out = 0;
    terms.push_back(std::move(term));
  }
  return Layout(layout.shape(), std::move(terms), {layout.extents()[out]});
}

/// (thread, slot) of `to` -> (thread, slot) of `from`. Of the replicas of `from` the one whose
/// digits are those of the thread itself.
std::optional<Layout> source_of(const Fragment& from, const Fragment& to) {
  const auto element = inverse(to.map());  // (thread, slot) -> (x..., replica of `to`)
  if (!element) return std::nullopt;
  const int replica = to.rank();
  std::vector<Term> terms = element->layout.terms();
  std::erase_if(terms, [&](const Term& term) { return term.out == replica; });
  for (const Term& term : from.map().terms()) {
    if (term.out != kThread || term.sources.size() != 1) continue;
    if (term.sources.front().dim != replica) continue;
    terms.push_back({{{kThread, term.stride}}, term.extent, replica, term.sources.front().div});
  }
  // Where no element lies the inverse may leave the box; the map isn't asked there.
  if (!element->total) return std::nullopt;
  return compose(Layout(to.map().extents(), std::move(terms), from.map().shape()), from.map());
}

/// The exchange by looking at every element; also right where no layout tells it.
Exchange exchange_by_elements(const Fragment& from, const Fragment& to, int64_t warp) {
  Exchange worst = Exchange::none;
  every(to.shape(), [&](const Coords& x) {
    for (int64_t r = 0; r < to.replicas() && worst != Exchange::shared; ++r) {
      const int64_t thread = to.thread(x, r);
      Exchange best = Exchange::shared;
      for (int64_t s = 0; s < from.replicas(); ++s) {
        const int64_t owner = from.thread(x, s);
        if (owner == thread) {
          const bool same = from.slot(x, s) == to.slot(x, r);
          best = std::min(best, same ? Exchange::none : Exchange::registers);
        } else if (owner / warp == thread / warp) {
          best = std::min(best, Exchange::shuffle);
        }
      }
      worst = std::max(worst, best);
    }
    return worst != Exchange::shared;
  });
  return worst;
}

/// The exchange that a source map needs; empty if its digits can't be compared with the warp's.
std::optional<Exchange> exchange_of(const Layout& source, int64_t warp) {
  const Layout identity = row_major(source.shape());
  if (component(source, kThread).terms() == component(identity, kThread).terms()) {
    const bool same = component(source, kSlot).terms() == component(identity, kSlot).terms();
    return same ? Exchange::none : Exchange::registers;
  }
  const auto warp_of = [warp](const Layout& map) {
    const int64_t threads = map.extents()[kThread];
    const int64_t warps = (threads + warp - 1) / warp;
    return compose(map, Layout(map.extents(), {{{{kThread, warp}}, warps, 0, 1}}, {warps}));
  };
  const auto from = warp_of(source), to = warp_of(identity);
  if (!from || !to) return std::nullopt;
  return from->terms() == to->terms() ? Exchange::shuffle : Exchange::shared;
}

int64_t choices_of(const Layout& source) {
  const Layout slot = component(source, kSlot);
  if (const auto matrix = bits_of(slot)) {  // the part that the thread's bits add
    const int slot_bits =
        static_cast<int>(matrix->columns.size()) -
        static_cast<int>(bits_of(row_major({source.shape()[kThread]}))->columns.size());
    BitMatrix of_thread = {{matrix->columns.begin() + slot_bits, matrix->columns.end()}};
    return int64_t{1} << rank(of_thread);
  }
  int64_t most = 0;
  for (int64_t s = 0; s < source.shape()[kSlot]; ++s) {
    std::set<int64_t> slots;
    for (int64_t t = 0; t < source.shape()[kThread]; ++t) slots.insert(slot.offset({t, s}));
    most = std::max(most, static_cast<int64_t>(slots.size()));
  }
  return most;
}

}  // namespace

std::string to_text(Exchange exchange) {
  switch (exchange) {
    case Exchange::none:
      return "nothing";
    case Exchange::registers:
      return "registers only";
    case Exchange::shuffle:
      return "warp shuffle";
    case Exchange::shared:
      return "shared memory";
  }
  throw InternalError("unknown exchange");
}

Conversion convert(const Fragment& from, const Fragment& to, int64_t warp) {
  TW_CHECK(from.shape() == to.shape(), "conversion of {} to {}", from, to);
  TW_CHECK(from.addends() == 1 && to.addends() == 1, "conversion of {} to {}", from, to);
  const Fragment source_fragment = condense(from), target = condense(to);
  Conversion result;
  if (from.first_thread() == to.first_thread()) result.source = source_of(source_fragment, target);
  const bool whole_warps = from.first_thread() % warp == 0;
  const auto exchange =
      result.source && whole_warps ? exchange_of(*result.source, warp) : std::nullopt;
  result.exchange = exchange ? *exchange : exchange_by_elements(from, to, warp);
  if (result.source) result.choices = choices_of(*result.source);
  return result;
}

}  // namespace tw::layout
