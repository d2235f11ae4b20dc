// How often each of some groups occurs in a list: what group_count and aux_fi share.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Two launches after which counts(g) tells how often group g occurs; entries below 0 are left out,
/// one that is no group stops the kernel with `message`. index: [n] i64; counts: [groups], integers
/// of 32 bits. `bins`: that of bins_for. The order of atomic adds of integers doesn't matter.
inline void count_groups(Builder& k, const Buffer& index, const Buffer& counts, int64_t bins,
                         const std::string& message) {
  const int64_t chunk = k.tunable("chunk", 4096), strip = 1024;
  const Expr n = index.extent(0), groups = counts.extent(0);
  k.launch({cdiv(groups, strip)}, {.name = "clear"},
           [&](Expr block) { parallel({strip}, [&](Expr i) { counts(block * strip + i) = 0; }); });
  safe_value(index, -1);
  const auto count = [&](const Expr& block, const Buffer& to) {
    parallel({chunk}, [&](Expr i) {
      const Expr group = let(index(block * chunk + i));
      device_assert(group < groups, message, {group, groups});
      if_(group >= 0, [&] { atomic_add(to(group), 1); });
    });
  };
  k.launch({cdiv(n, chunk)}, {.name = "count"}, [&](Expr block) {
    if (bins == 0) return count(block, counts);
    const Buffer here = shared(i32, {bins}, "here");
    clear(here);
    count(block, here);
    parallel({bins}, [&](Expr group) {
      const Expr found = let(here(group));
      if_(found > 0, [&] { atomic_add(counts(group), cast(found, counts.dtype())); });
    });
  });
}

/// How many counters a block has of its own; 0 for so many groups that they are all in `counts`.
inline int64_t bins_for(int64_t groups) {
  const auto bins = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups)));
  return bins > 8192 ? 0 : std::max<int64_t>(bins, 32);
}

/// Blocks of 8 entries a thread.
inline void schedule_count(Schedule& s, const Case&) { s.threads(256).set("chunk", 2048); }

}  // namespace tw::kernels
