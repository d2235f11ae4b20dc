// idx, weights = the best experts of each token, of its best groups, as numbers of one rank; see
// moe.h.
// Bound by latency: calls are small, a token is a chain of folds.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/experts.h"
#include "tilewright/kernels/moe/gate.h"
#include "tilewright/kernels/moe/groups.h"
#include "tilewright/kernels/moe/optional.h"
#include "tilewright/kernels/moe/scoring.h"
#include "tilewright/kernels/moe/weights.h"
#include "tilewright/kernels/select/best.h"

namespace tw::kernels {
namespace {

/// The groups of experts of the rows of a block.
struct Groups {
  int64_t rows, groups;
  Buffer sums;   // shared i32 [rows, groups]: the key of the sum of a group's two best
  Buffer stays;  // shared i32 [rows, groups]: whether a group is one of those that stay
};

/// The sums, of groups that are lists with these heads.
void sum_heads(const Groups& g, const Buffer& best, const Buffer& second, int64_t lists) {
  const int64_t n = lists / g.groups;
  const auto of_groups = [&](const Buffer& keys) {
    return reshape(value(keys), {g.rows, g.groups, n});
  };
  const Tile largest = max(of_groups(best), 2), place = iota({g.rows, g.groups, n}, 2);
  // Of equal ones all but one are left.
  const Tile first = min(select(of_groups(best) == largest, place, static_cast<int32_t>(n)), 2);
  const Tile next = max(select(place == first, of_groups(second), of_groups(best)), 2);
  const Buffer a = largest.fragment(), b = next.fragment();
  parallel({g.rows, g.groups}, [&](Expr i, Expr group) {
    const Expr sum = ordered_by(a(i, group, 0)) + ordered_by(b(i, group, 0));
    g.sums(i, group) = ordered_without_zeros(sum + 0.0F);
  });
}

/// Groups with one of the `kept` largest sums stay; of equal ones the first.
void keep_groups(const Groups& g, int64_t kept) {
  parallel({g.rows, g.groups}, [&](Expr i, Expr group) {
    const Expr sum = let(g.sums(i, group)), number = let(cast(group, i32));
    Variable before = var(i32, 0);
    const auto compare = [&](const Expr& other) {
      const Expr its = let(g.sums(i, other));
      if_(its > sum || (its == sum && cast(other, i32) < number), [&] { before += 1; });
    };
    if (g.groups <= 8) {
      unroll(0, g.groups, {.full = true}, compare);
    } else {
      serial(g.groups, compare);
    }
    g.stays(i, group) = select(before < static_cast<int32_t>(kept), 1, 0);
  });
}

// Tensors that a call may leave out are empty then, see optional.h.
void dataflow(Builder& k) {
  const Expr t = k.dim("t");
  const int64_t e = k.constant("e"), count = k.constant("k"), slots = count + k.constant("shared");
  const int64_t groups = k.constant("groups"), kept = k.constant("kept");  // 0: all are
  const auto scoring = static_cast<Scoring>(k.constant("scoring"));
  const int64_t rows = k.tunable("rows", 1);
  const Search search{rows,
                      e,
                      count,
                      /*in_word=*/false,
                      k.tunable("staged", 0) != 0,
                      /*with_keys=*/true};
  const Buffer logits = k.input("logits", f32, {t, e});
  const Buffer bias = k.input("bias", f32, {e});
  const Buffer mask = k.input("mask", bool_, {k.dim("masks")});
  const Buffer fix = k.input("fix_routing_mask", bool_, {k.dim("fixes")});
  const Duplicates duplicates(k, e + slots - count);
  const LocalExperts local(k);
  const Expr scale = k.scalar("routed_scaling_factor", f32);
  const Buffer unmapped = k.inout("unmapped_topk_idx", i64, {k.dim("unmapped"), count},
                                  {.strides = {k.dim("unmapped_row"), 1}});
  const Buffer idx = k.output("idx", i64, {t, slots});
  const Buffer weights = k.output("weights", f32, {t, slots});
  safe_value(mask, true);
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const Buffer kind = shared(i32, {rows, 1}, "kind");
    parallel({rows, 1}, [&](Expr i, Expr j) {
      const Expr at = row + i;
      kind(i, j) = select(!mask(at) || at >= t, kMasked, select(fix(at), kFixed, kRouted));
    });

    // 1. Scores of all experts, or what those of a row have in common.
    const ScoresOfRows of_rows(rows, e);
    Buffer largest, sum_of_row;
    if (scoring == Scoring::softmax) {
      of_rows.load(logits, row);
      const Buffer all = fragment(f32, {rows, e}, "all");
      parallel({rows, e}, [&](Expr i, Expr expert) { all(i, expert) = of_rows(i, expert); });
      const Tile most = max(value(all), 1);
      largest = most.fragment();
      sum_of_row = sum(exp(value(all) - most), 1).fragment();
    } else {
      of_rows.load(logits, row, [&](const Expr& logit) { return score(scoring, logit); });
    }

    // 2. The groups that stay, by the sums of their two best: of the heads of the search's lists,
    // where a group is some of these, or else of all experts.
    const int64_t size = kept > 0 ? e / groups : 1, length = e / search.lists();
    const bool by_lists =
        kept > 0 && search.is_staged() && length * search.lists() == e && size % length == 0;
    Groups of_row{rows, groups, {}, {}};
    if (kept > 0) {
      of_row.sums = shared(i32, {rows, groups}, "sums");
      of_row.stays = shared(i32, {rows, groups}, "stays");
    }
    if (kept > 0 && !by_lists) {
      const Buffer of_groups = fragment(f32, {rows, groups, size}, "of_groups");
      parallel({rows, groups, size}, [&](Expr i, Expr g, Expr j) {
        const Expr expert = g * size + j;
        of_groups(i, g, j) = of_rows(i, expert) + bias(expert);
      });
      const Buffer sum = group_scores(value(of_groups), 2).fragment();
      parallel({rows, groups}, [&](Expr i, Expr g) {
        of_row.sums(i, g) = ordered_without_zeros(sum(i, g, 0) + 0.0F);
      });
      keep_groups(of_row, kept);
    }
    const ListsOf lists_of_groups = [&](const Buffer& best, const Buffer& second) {
      sum_heads(of_row, best, second, search.lists());
      keep_groups(of_row, kept);
      return
          [&](const Expr& i, const Expr& l) { return of_row.stays(i, l / (size / length)) != 0; };
    };

    // 3. The best experts of these groups. A logit may be -0, a score isn't: its sum with a bias
    // has no other key than that of 0 then.
    const auto bias_of = [&](const Expr& expert) {
      return scoring == Scoring::softmax ? bias(expert) + 0.0F : bias(expert);
    };
    const auto keys = [&](const Expr& i, const std::vector<Expr>& experts) {
      std::vector<Expr> all;
      for (const Expr& expert : experts) {
        const Expr key = let(of_rows.key(i, expert, bias_of(expert)));
        if (kept > 0 && !by_lists) {
          // What fills up a row has no group, and isn't looked at.
          const Expr stay = of_row.stays(i, min(expert / size, groups - 1)) != 0;
          all.push_back(select(stay || key == kNoKey, key, kOrderedMinusInfinity));
        } else {
          all.push_back(key);
        }
      }
      return all;
    };
    const Found found =
        find_best(search, width_of(slots), keys, by_lists ? lists_of_groups : ListsOf{});

    const auto score_of = [&](const Expr& i, const Expr& expert) {
      const Expr worth = of_rows(i, expert);
      if (scoring != Scoring::softmax) return worth;
      return exp(worth - largest(i, 0)) / sum_of_row(i, 0);
    };
    const auto number = [&](const Expr& expert, const Expr& token) {
      return local.number(duplicates.physical(expert, token), duplicates.exist);
    };
    finish_gate({"top2_sum_gate", rows, e, count, slots, row, scale, /*forces=*/false,
                 /*excludes=*/true, kind, unmapped, idx, weights},
                found, score_of, number);
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("top2_sum_gate", dataflow).schedule("cuda", [](Schedule& s, const Case& c) {
        const Search search{1, c.constant("e"), c.constant("k")};
        s.threads(128).set("rows", rows_of_block(search.lists())).set("staged", 1);
      }));
  return jit;
}

/// Shared experts, where there are any, are dealt out evenly, and have places of their own.
void check_shared(const char* f, int64_t shared, int64_t k, int64_t e, const Tensor* map) {
  if (shared == 0) return;
  TW_REQUIRE(k % shared == 0 && e % (k / shared) == 0,
             "{}: {} shared experts must divide num_topk, {}, and that many times fewer the {} "
             "experts",
             f, shared, k, e);
  const int64_t most = map == nullptr ? 0 : map->dim(1);
  TW_REQUIRE(shared <= most - 1,
             "{}: {} shared experts need a to_physical_map with at least {} columns", f, shared,
             shared + 1);
}

/// Whether some groups are left out.
bool is_grouped(const char* f, int64_t groups, int64_t kept, int64_t k, int64_t e) {
  TW_REQUIRE((groups == 0) == (kept == 0) && kept >= 0 && kept <= groups,
             "{}: num_topk_groups is {} of {} groups; both must be 0, or from 1 to num_groups", f,
             kept, groups);
  if (groups == 0) return false;
  TW_REQUIRE(e % groups == 0, "{}: {} groups must divide {} experts", f, groups, e);
  if (kept == groups) return false;
  const int64_t size = e / groups;
  TW_REQUIRE(groups <= kMostChoices && size >= 2 && size <= 32,
             "{}: {} groups of {} experts, there may be 32 of 2 to 32", f, groups, size);
  TW_REQUIRE(k <= kept * size, "{}: num_topk is {}, but {} groups have {} experts", f, k, kept,
             kept * size);
  return true;
}

}  // namespace

void top2_sum_gate(const Tensor& logits, const Tensor& bias, const Tensor& idx,
                   const Tensor& weights, const Top2SumGateArgs& args, Stream stream) {
  constexpr const char* f = "top2_sum_gate";
  const Top2SumGateArgs& a = args;
  const GateSizes sizes = check_gate(f, logits, idx, weights, a.num_shared_experts);
  const auto [t, e, k, shared] = sizes;
  check_dtype(f, {"bias", bias}, {f32});
  check_shape(f, {"bias", bias}, {e}, "[experts]");
  const bool grouped = is_grouped(f, a.num_groups, a.num_topk_groups, k, e);
  check_optional(f, {"mask", a.mask}, bool_, {t}, "[tokens]");
  check_fixed(f, {"fix_routing_mask", a.fix_routing_mask},
              {"unmapped_topk_idx", a.unmapped_topk_idx}, sizes);
  check_map(f, {"to_physical_map", a.to_physical_map}, {"logical_count", a.logical_count},
            e + shared, a.ep_rank);
  check_shared(f, shared, k, e, a.to_physical_map);
  const int64_t places = a.to_physical_map == nullptr ? e : e + a.to_physical_map->dim(1) - 1;
  const int64_t of_rank = experts_of_rank(f, {places, a.num_ep_ranks, a.tp_rank, a.num_tp_ranks});
  const Divisor by_rank(of_rank), by_tp(a.num_tp_ranks);
  const Device device = logits.device();
  try {
    kernel()({},
             {{"e", e},
              {"k", k},
              {"shared", shared},
              {"has_map", a.to_physical_map != nullptr},
              {"groups", grouped ? a.num_groups : 0},
              {"kept", grouped ? a.num_topk_groups : 0},
              {"scoring", static_cast<int64_t>(a.scoring)}},
             device.kind)
        .launch(stream, {logits, bias, or_empty(a.mask, bool_, {0}, device),
                         or_empty(a.fix_routing_mask, bool_, {0}, device),
                         or_empty(a.to_physical_map, i32, {0, 1}, device),
                         or_empty(a.logical_count, i32, {0}, device), a.ep_rank, of_rank,
                         by_rank.multiplier, by_rank.shift, a.num_tp_ranks, by_tp.multiplier,
                         by_tp.shift, a.tp_rank, a.routed_scaling_factor,
                         or_empty(a.unmapped_topk_idx, i64, {0, k}, device), idx, weights});
  } catch (const Error& error) {
    fail_gate(error, logits);
  }
}

}  // namespace tw::kernels
