// Numbers of experts: what the gates share. Logical experts are the e routed ones and, behind them,
// those that all tokens share; physical ones are the places of their duplicates on all ranks.
#pragma once

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Where the duplicates of logical experts are. Both tensors are empty where physical ids are the
/// logical ones.
struct Duplicates {
  /// Declares them as parameters, and the rank that begins with other duplicates than the next.
  explicit Duplicates(Builder& k) {
    const Expr n = k.dim("mapped"), most = k.dim("duplicates");
    places = k.input("to_physical_map", i32, {n, most});
    counts = k.input("logical_count", i32, {n});
    rank = k.scalar("ep_rank", i64);
    exist = n > 0;
    most_ = most;
  }

  /// The physical id for a token: tokens take turns with the duplicates.
  Expr physical(const Expr& expert, const Expr& token) const {
    const Expr count = let(if_else(exist, cast(counts(expert), i64), 1));
    device_assert(!exist || (1 <= count && count <= most_),
                  "logical_count of this expert isn't a number of duplicates", {expert, count});
    const Expr turn = (rank + token * 23333) % max(count, 1);
    return if_else(exist, cast(places(expert, turn), i64), expert);
  }

  Buffer places, counts;
  Expr rank, exist;

 private:
  Expr most_;
};

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
