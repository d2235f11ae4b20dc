// Numbers of experts: what the gates share. Logical experts are the e routed ones and, behind them,
// those that all tokens share; physical ones are the places of their duplicates on all ranks.
#pragma once

#include <bit>
#include <string>

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// Where the duplicates of logical experts are. Both tensors are empty where physical ids are the
/// logical ones: such calls have a kernel of their own, without a division of 64 bits.
struct Duplicates {
  /// Declares them as parameters, of so many logical experts, and the rank that begins with other
  /// duplicates than the next.
  Duplicates(Builder& k, int64_t logical) : exist(k.constant("has_map") != 0) {
    mapped_ = exist ? Expr(logical) : k.dim("mapped");
    most_ = k.dim("duplicates");
    places = k.input("to_physical_map", i32, {mapped_, most_});
    counts = k.input("logical_count", i32, {mapped_});
    rank = k.scalar("ep_rank", i64);
  }

  /// The physical id of one of the logical experts for a token: tokens take turns with the
  /// duplicates.
  Expr physical(const Expr& expert, const Expr& token) const {
    if (!exist) return expert;
    const Expr logical = let(expert);
    assume(0 <= logical && logical < mapped_);
    const Expr count = let(cast(counts(logical), i64));
    device_assert(1 <= count && count <= most_,
                  "logical_count of this expert isn't a number of duplicates", {logical, count});
    const Expr turn = let((rank + token * 23333) % count);
    assume(0 <= turn && turn < most_);
    return cast(places(logical, turn), i64);
  }

  Buffer places, counts;
  Expr rank;
  const bool exist;

 private:
  Expr mapped_, most_;
};

/// Divides integers p from 0 to 2^63 - 1 by one that is known on the host. With d <= 2^l, m =
/// floor(2^(63 + l) / d) + 1 fits 64 bits, and p m / 2^(63 + l) exceeds p / d by less than 1 / d,
/// so that both have one floor (Granlund and Montgomery, Division by invariant integers using
/// multiplication, theorem 4.2).
struct Divisor {
  explicit Divisor(int64_t d)
      : shift(std::bit_width(static_cast<uint64_t>(d - 1))),
        multiplier(static_cast<uint64_t>((static_cast<unsigned __int128>(1) << (63 + shift)) /
                                         static_cast<uint64_t>(d)) +
                   1) {}
  int32_t shift;
  uint64_t multiplier;
};

/// Physical experts as one rank of tensor parallelism numbers them, see mask_indices_by_tp.
struct LocalExperts {
  /// Declares how many experts a rank has, how many ranks there are, and which one it is; a call
  /// has the first two with what divides by them.
  explicit LocalExperts(Builder& k)
      : of_rank(k, "experts_of_rank"),
        num_tp_ranks(k, "num_tp_ranks"),
        tp_rank(k.scalar("tp_rank", i64)) {}

  /// -1 for an expert that is none, if it may be none, or that of another rank.
  Expr number(const Expr& physical, bool may_be_none = true) const {
    const Expr p = let(physical), rank = let(of_rank.divide(p)),
               group = let(num_tp_ranks.divide(rank));
    const Expr local = group * of_rank.value + (p - rank * of_rank.value);
    const Expr is_own = rank - group * num_tp_ranks.value == tp_rank;
    return select(may_be_none ? p >= 0 && is_own : is_own, local, -1);
  }

  struct By {
    By(Builder& k, const std::string& name)
        : value(k.scalar(name, i64)),
          multiplier(k.scalar(name + "_multiplier", u64)),
          shift(k.scalar(name + "_shift", i32)) {}
    Expr divide(const Expr& p) const {
      return cast(mul_high(cast(p, u64) << 1, multiplier) >> shift, i64);
    }
    Expr value, multiplier, shift;
  };
  By of_rank, num_tp_ranks;
  Expr tp_rank;
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
