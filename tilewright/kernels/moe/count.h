// How often each of some groups occurs in a list: what group_count and aux_fi share.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// How the groups of a list are counted.
struct Count {
  int64_t bins;  // counters that a block has of its own, see bins_for
  bool alone;    // one block has all of the list
  std::string message;
};

using ResultOf = std::function<Expr(const Expr& count)>;

constexpr int64_t kEntries = 8;  // of a thread, all on their way together

/// Each entry of the list that is in this chunk, where there is one, is added to counters.
inline void count_chunk(const Buffer& index, const Expr& first, int64_t chunk, const Expr& groups,
                        const std::string& message, const Buffer& to) {
  const int64_t threads = chunk / kEntries;
  parallel({threads}, [&](Expr i) {
    std::vector<Expr> entries;
    for (int64_t c = 0; c < kEntries; ++c) {
      entries.push_back(let(index(first + c * threads + i)));
    }
    Expr most = entries[0];
    for (const Expr& group : entries) most = max(most, group);
    most = let(most);
    device_assert(most < groups, message, {most, groups});
    for (const Expr& group : entries) if_(group >= 0, [&] { atomic_add(to(group), 1); });
  });
}

/// A list of at most so many entries is counted by one block.
constexpr int64_t kMostAlone = 4096;

inline void count_alone(Builder& k, const Buffer& index, const Buffer& out, const Count& how,
                        const ResultOf& result) {
  k.launch({1}, {.name = "count"}, [&](Expr) {
    const Buffer here = shared(i32, {how.bins}, "here");
    clear(here);
    count_chunk(index, 0, kMostAlone, out.extent(0), how.message, here);
    parallel({how.bins}, [&](Expr g) { out(g) = result ? result(here(g)) : Expr(here(g)); });
  });
}

/// Writes how often group g occurs to out(g), or the result of that; entries below 0 are left out,
/// one that is no group stops the kernel with the message. index: [n] i64; out: [groups], of 32
/// bits, as results are. The order of atomic adds of integers doesn't matter.
inline void count_groups(Builder& k, const Buffer& index, const Buffer& out, const Count& how,
                         const ResultOf& result = {}) {
  safe_value(index, -1);
  if (how.alone) return count_alone(k, index, out, how, result);
  const int64_t chunk = k.tunable("chunk", 4096), strip = 1024, bins = how.bins;
  const Expr n = index.extent(0), groups = out.extent(0);
  const auto all = [&](const char* name, const auto& set) {
    k.launch({cdiv(groups, strip)}, {.name = name},
             [&](Expr block) { parallel({strip}, [&](Expr i) { set(let(block * strip + i)); }); });
  };
  all("clear", [&](const Expr& g) { out(g) = 0; });
  k.launch({cdiv(n, chunk)}, {.name = "count"}, [&](Expr block) {
    if (bins == 0) return count_chunk(index, block * chunk, chunk, groups, how.message, out);
    const Buffer here = shared(i32, {bins}, "here");
    clear(here);
    count_chunk(index, block * chunk, chunk, groups, how.message, here);
    parallel({bins}, [&](Expr group) {
      const Expr found = let(here(group));
      if_(found > 0, [&] { atomic_add(out(group), cast(found, out.dtype())); });
    });
  });
  if (result) all("finish", [&](const Expr& g) { out(g) = result(out(g)); });
}

/// How many counters a block has of its own; 0 for so many groups that they are all in `counts`.
inline int64_t bins_for(int64_t groups) {
  const auto bins = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups)));
  return bins > 8192 ? 0 : std::max<int64_t>(bins, 32);
}

/// Whether one block does for so long a list.
inline bool is_alone(int64_t n, int64_t bins) { return bins > 0 && n <= kMostAlone; }

inline void schedule_count(Schedule& s, const Case& c) {
  if (c.constant("alone") != 0) {
    s.threads(kMostAlone / kEntries);
  } else {
    s.threads(256).set("chunk", kEntries * 256);
  }
}

}  // namespace tw::kernels
