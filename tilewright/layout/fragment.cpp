#include "tilewright/layout/fragment.h"

#include <algorithm>
#include <utility>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"
#include "tilewright/layout/query.h"

namespace tw::layout {
namespace {

constexpr int kThread = 0, kSlot = 1;

Coords with(Coords x, int64_t last) {
  x.push_back(last);
  return x;
}

/// Digits of dimension `dim` of refined terms: (div, extent), ascending.
std::vector<std::pair<int64_t, int64_t>> digits_read(const std::vector<Term>& terms, int dim) {
  std::vector<std::pair<int64_t, int64_t>> digits;
  for (const Term& term : terms) {
    for (const Source& s : term.sources) {
      if (s.dim == dim) digits.emplace_back(s.div, term.extent);
    }
  }
  std::sort(digits.begin(), digits.end());
  digits.erase(std::unique(digits.begin(), digits.end()), digits.end());
  return digits;
}

}  // namespace

Fragment::Fragment(Layout map, int64_t first_thread, int64_t addends)
    : map_(std::move(map)), first_thread_(first_thread), addends_(addends) {
  TW_REQUIRE(map_.out_rank() == 2 && map_.rank() >= 1,
             "fragment: {} is no map to a thread and a slot", map_);
  TW_REQUIRE(addends_ >= 1 && replicas() % addends_ == 0, "fragment: {} addends of {} replicas",
             addends_, replicas());
}

int64_t Fragment::thread(const Coords& x, int64_t replica) const {
  return first_thread_ + map_.apply(with(x, replica))[kThread];
}

int64_t Fragment::slot(const Coords& x, int64_t replica) const {
  return map_.apply(with(x, replica))[kSlot];
}

std::optional<Fragment> fragment_of(const Layout& thread_value_map) {
  TW_CHECK(thread_value_map.rank() == 2, "{} reads more than a thread and a slot",
           thread_value_map);
  // The digits of the thread that aren't read become the replica, as one more
  // coordinate; then invert.
  const auto refined = refine(thread_value_map.terms(), thread_value_map.shape());
  if (!refined) return std::nullopt;
  std::vector<Term> terms = *refined;
  const int replica = thread_value_map.out_rank();
  const int64_t threads = thread_value_map.shape()[kThread];
  int64_t covered = 1, replicas = 1;
  auto digits = digits_read(*refined, kThread);
  digits.emplace_back(threads, 1);
  for (const auto& [div, extent] : digits) {
    if (div > covered) {
      const int64_t missing = ceil_div(div, covered);
      terms.push_back({{{kThread, covered}}, missing, replica, replicas});
      replicas *= missing;
    }
    covered = div * extent;
  }
  const Layout whole(thread_value_map.shape(), std::move(terms),
                     with(thread_value_map.extents(), replicas));
  const auto back = inverse(whole);
  if (!back || !back->total) return std::nullopt;
  return Fragment(Layout(whole.extents(), back->layout.terms(), whole.shape()));
}

std::optional<Layout> thread_value_map(const Fragment& fragment) {
  const auto back = inverse(fragment.map());
  if (!back) return std::nullopt;
  std::vector<Term> terms = back->layout.terms();
  std::erase_if(terms, [&](const Term& term) { return term.out == fragment.rank(); });
  return Layout::tight(back->layout.shape(), std::move(terms), fragment.rank());
}

Fragment fully_replicated(const Coords& shape, int64_t threads) {
  const int rank = static_cast<int>(shape.size());
  const Coords strides = row_major_strides(shape);
  std::vector<Term> terms = {{{{rank, 1}}, threads, kThread, 1}};
  for (int d = 0; d < rank; ++d) terms.push_back({{{d, 1}}, shape[d], kSlot, strides[d]});
  return Fragment(Layout(with(shape, threads), std::move(terms), {threads, product(shape)}));
}

Fragment replicate(const Fragment& fragment, int64_t count) {
  const Fragment copies =
      repeat(fragment, fragment.rank(), count, On::threads);  // along the replica
  return Fragment(copies.map(), fragment.first_thread(), fragment.addends());
}

Fragment repeat(const Fragment& fragment, int dim, int64_t count, On where) {
  const Layout copies = repeat(fragment.map(), dim, count);  // -> (copy, thread, slot)
  const int out = where == On::threads ? kThread : kSlot;
  Coords extents = fragment.map().extents();
  std::vector<Term> terms = copies.terms();
  for (Term& term : terms) {
    if (term.out == 0) {
      term.stride *= extents[out];
      term.out = out;
    } else {
      --term.out;
    }
  }
  extents[out] *= count;
  return Fragment(Layout(copies.shape(), std::move(terms), std::move(extents)),
                  fragment.first_thread(), fragment.addends());
}

Fragment condense(const Fragment& fragment) {
  const Layout& map = fragment.map();
  const int replica = fragment.rank();
  // 1. Digits, cut where the addends end: a term without effect marks the place.
  std::vector<Term> terms = map.terms();
  terms.push_back({{{replica, 1}}, fragment.addends(), kThread, 0});
  auto refined = refine(std::move(terms), map.shape());
  if (!refined) return fragment;
  std::erase_if(*refined, [](const Term& term) { return term.stride == 0; });
  struct Digit {
    bool is_copy;
    int64_t thread_stride, div, extent;
    auto operator<=>(const Digit&) const = default;
  };
  std::vector<Digit> digits;
  for (const auto& [div, extent] : digits_read(*refined, replica)) {
    if (map.shape()[replica] % (div * extent) != 0) return fragment;
    Digit digit = {div >= fragment.addends(), INT64_MAX, div, extent};
    for (const Term& term : *refined) {
      const bool here = std::count(term.sources.begin(), term.sources.end(), Source{replica, div});
      if (here && term.out == kThread) {
        digit.thread_stride = std::min(digit.thread_stride, term.stride);
      }
    }
    digits.push_back(digit);
  }
  // 2. A new replica made of them in order, and the map seen through it.
  std::sort(digits.begin(), digits.end());
  std::vector<Term> labels;
  for (int d = 0; d < replica; ++d) labels.push_back({{{d, 1}}, map.shape()[d], d, 1});
  int64_t replicas = 1, addends = 1;
  for (const Digit& digit : digits) {
    labels.push_back({{{replica, replicas}}, digit.extent, replica, digit.div});
    replicas *= digit.extent;
    if (!digit.is_copy) addends = replicas;
  }
  const auto condensed =
      compose(Layout(with(fragment.shape(), replicas), std::move(labels), map.shape()), map);
  return condensed ? Fragment(*condensed, fragment.first_thread(), addends) : fragment;
}

Fragment dereplicate(const Fragment& fragment, int64_t replica) {
  TW_REQUIRE(fragment.addends() == 1, "dereplicate: the replicas of {} are addends", fragment);
  TW_REQUIRE(replica >= 0 && replica < fragment.replicas(), "dereplicate: replica {} of {}",
             replica, fragment);
  const int dim = fragment.rank();
  int64_t base[2] = {0, 0};
  std::vector<Term> terms;
  for (Term term : fragment.map().terms()) {
    int64_t value = 0;
    std::erase_if(term.sources, [&](const Source& s) {
      if (s.dim == dim) value ^= replica / s.div % term.extent;
      return s.dim == dim;
    });
    TW_REQUIRE(value == 0 || term.sources.empty(),
               "dereplicate: replica {} of {} is part of an exclusive or", replica, fragment);
    base[term.out] += value * term.stride;
    if (!term.sources.empty()) terms.push_back(std::move(term));
  }
  TW_REQUIRE(base[kSlot] == 0, "dereplicate: replica {} of {} has slots of its own", replica,
             fragment);
  return Fragment(Layout::tight(with(fragment.shape(), 1), std::move(terms), 2),
                  fragment.first_thread() + base[kThread]);
}

Fragment bind(const Fragment& fragment, int64_t first, int64_t last) {
  if (fragment.threads() > last - first) {
    throw Error(codes::lay_11, {}, "fragment: {} needs {} threads, the scope has {}", fragment,
                fragment.threads(), last - first);
  }
  return Fragment(fragment.map(), first, fragment.addends());
}

Fragment permute(const Fragment& fragment, const std::vector<int>& order) {
  std::vector<int> all = order;
  all.push_back(fragment.rank());
  return Fragment(permute(fragment.map(), all), fragment.first_thread(), fragment.addends());
}

std::optional<Fragment> reshape(const Fragment& fragment, const Coords& shape, int old_bits,
                                int new_bits) {
  // With the replica as the slowest dimension it is the reshaping of the map.
  std::vector<int> replica_first = {fragment.rank()}, replica_last;
  for (int d = 0; d < fragment.rank(); ++d) replica_first.push_back(d);
  for (size_t d = 0; d < shape.size(); ++d) replica_last.push_back(static_cast<int>(d) + 1);
  replica_last.push_back(0);
  Coords box = shape;
  box.insert(box.begin(), fragment.replicas());
  const auto map = reshape(permute(fragment.map(), replica_first), box, old_bits, new_bits);
  if (!map) return std::nullopt;
  return Fragment(permute(*map, replica_last), fragment.first_thread(), fragment.addends());
}

std::vector<int64_t> owners(const Fragment& fragment, const Coords& x) {
  std::vector<int64_t> threads;
  for (int64_t r = 0; r < fragment.replicas(); ++r) threads.push_back(fragment.thread(x, r));
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  return threads;
}

bool contains(const Fragment& fragment, const Coords& x, int64_t thread) {
  for (int64_t r = 0; r < fragment.replicas(); ++r) {
    if (fragment.thread(x, r) == thread) return true;
  }
  return false;
}

bool is_well_formed(const Fragment& fragment) { return is_injective(condense(fragment).map()); }

std::string to_text(const Fragment& fragment) {
  std::vector<std::string> names;
  for (int d = 0; d < fragment.rank(); ++d) names.push_back(dimension_name(d));
  names.push_back("r");
  std::string text = to_text(fragment.shape());
  if (fragment.replicas() > 1) text += format(" x {}", fragment.replicas());
  if (fragment.addends() > 1) text += format(" of {} addends", fragment.addends());
  text += format(" -> {} threads", fragment.threads());
  if (fragment.first_thread() != 0) text += format(" from {}", fragment.first_thread());
  return text + format(", {} slots: {}", fragment.slots(), expressions(fragment.map(), names));
}

}  // namespace tw::layout
