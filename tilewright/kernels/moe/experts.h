// Numbers of experts: what the gates share. Logical experts are the e routed ones and, behind them,
// those that all tokens share; physical ones are the places of their duplicates on all ranks.
#pragma once

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Where the duplicates of logical experts are. Both tensors are empty where physical ids are the
/// logical ones.
struct Duplicates {
  /// Declares them as parameters, and the rank that begins with other duplicates than the next.
  explicit Duplicates(Builder& k) {
    mapped_ = k.dim("mapped");
    most_ = k.dim("duplicates");
    places = k.input("to_physical_map", i32, {mapped_, most_});
    counts = k.input("logical_count", i32, {mapped_});
    rank = k.scalar("ep_rank", i64);
    exist = mapped_ > 0;
  }

  /// The physical id of one of the logical experts for a token: tokens take turns with the
  /// duplicates.
  Expr physical(const Expr& expert, const Expr& token) const {
    Variable id = var(i64, expert);
    if_(exist, [&] {
      const Expr logical = let(expert);
      assume(0 <= logical && logical < mapped_);
      const Expr count = let(cast(counts(logical), i64));
      device_assert(1 <= count && count <= most_,
                    "logical_count of this expert isn't a number of duplicates", {logical, count});
      const Expr turn = let((rank + token * 23333) % count);
      assume(0 <= turn && turn < most_);
      id = cast(places(logical, turn), i64);
    });
    return id;
  }

  Buffer places, counts;
  Expr rank, exist;

 private:
  Expr mapped_, most_;
};

/// Physical experts as one rank of tensor parallelism numbers them, see mask_indices_by_tp.
struct LocalExperts {
  /// Declares how many experts a rank has, and the ranks.
  explicit LocalExperts(Builder& k)
      : of_rank(k.scalar("experts_of_rank", i64)),
        num_tp_ranks(k.scalar("num_tp_ranks", i64)),
        tp_rank(k.scalar("tp_rank", i64)) {}

  /// -1 for an expert that is none, or that of another rank.
  Expr number(const Expr& physical) const {
    const Expr p = let(physical), rank = let(p / of_rank), group = let(rank / num_tp_ranks);
    const Expr is_own = p >= 0 && rank - group * num_tp_ranks == tp_rank;
    return select(is_own, group * of_rank + (p - rank * of_rank), -1);
  }

  Expr of_rank, num_tp_ranks, tp_rank;
};

/// Experts that each rank has; checks the ranks.
inline int64_t experts_of_rank(std::string_view f, const TpRanks& ranks) {
  TW_REQUIRE(ranks.num_ep_ranks >= 1, "{}: num_ep_ranks is {}, it must be at least 1", f,
             ranks.num_ep_ranks);
  TW_REQUIRE(ranks.num_tp_ranks >= 1, "{}: num_tp_ranks is {}, it must be at least 1", f,
             ranks.num_tp_ranks);
  TW_REQUIRE(0 <= ranks.tp_rank && ranks.tp_rank < ranks.num_tp_ranks,
             "{}: tp_rank is {}, it must be from 0 to {}", f, ranks.tp_rank,
             ranks.num_tp_ranks - 1);
  const int64_t of_rank = ranks.n / ranks.num_ep_ranks;
  TW_REQUIRE(of_rank >= 1, "{}: {} experts on {} ranks leave none for each", f, ranks.n,
             ranks.num_ep_ranks);
  return of_rank;
}

/// The arguments of Duplicates, for so many logical experts.
inline void check_map(std::string_view f, const MaybeNamed& map, const MaybeNamed& counts,
                      int64_t logical, int64_t rank) {
  check_both(f, map, counts);
  if (map.tensor == nullptr) return;
  check_rank(f, {map.name, *map.tensor}, 2);
  check_optional(f, map, i32, {logical, map.tensor->dim(1)}, "[logical experts, duplicates]");
  check_optional(f, counts, i32, {logical}, "[logical experts]");
  TW_REQUIRE(map.tensor->dim(1) >= 1, "{}: {} is {}, an expert must have at least one place", f,
             map.name, *map.tensor);
  TW_REQUIRE(rank >= 0, "{}: ep_rank is {}, with {} it must be 0 or more", f, rank, map.name);
}

}  // namespace tw::kernels
