// idx[t, :] = the best groups of experts of a token, by the sum of their one or two highest scores.
// Memory bound: scores are read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/groups.h"
#include "tilewright/kernels/moe/weights.h"
#include "tilewright/kernels/select/best.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k) {
  const Expr t = k.dim("t");
  const int64_t groups = k.constant("groups"), size = k.constant("size"), count = k.constant("k");
  const int64_t summands = k.constant("summands"), rows = k.tunable("rows", 1);
  const Search search{rows, groups, count};
  const Buffer scores = k.input("scores", f32, {t, groups, size});
  const Buffer idx = k.output("idx", i64, {t, count});
  k.launch({cdiv(t, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    // In shared memory: where groups are ranked a warp has whole rows of them.
    const Buffer sums = shared(f32, {rows, groups}, "sums");
    copy(group_scores(load(scores(at(row, rows), all, all)), summands).fragment(), sums);
    const auto keys = [&](const Expr& i, const std::vector<Expr>& places) {
      return std::vector<Expr>{ordered(sums(i, places[0]))};
    };
    const Buffer found = find_best(search, groups, keys).columns;
    parallel({rows, groups}, [&](Expr i, Expr r) { idx(row + i, r) = cast(found(i, r), i64); });
  });
}

/// About 1024 scores a block.
const Jit& kernel() {
  static const Jit jit(define_kernel("topk_sum_and_topk_group_idx", dataflow)
                           .schedule("cuda", [](Schedule& s, const Case& c) {
                             const int64_t e = c.constant("groups") * c.constant("size");
                             s.threads(128).set("rows", std::clamp<int64_t>(1024 / e, 1, 32));
                           }));
  return jit;
}

}  // namespace

void topk_sum_and_topk_group_idx(const Tensor& scores, int64_t num_topk_sum, const Tensor& idx,
                                 Stream stream) {
  constexpr const char* f = "topk_sum_and_topk_group_idx";
  check_rank(f, {"scores", scores}, 3);
  check_dtype(f, {"scores", scores}, {f32});
  check_rank(f, {"idx", idx}, 2);
  check_dtype(f, {"idx", idx}, {i64});
  const int64_t t = scores.dim(0), groups = scores.dim(1), size = scores.dim(2), k = idx.dim(1);
  TW_REQUIRE(groups >= 1 && groups <= kMostChoices,
             "{}: scores is {}, there must be 1 to {} groups", f, scores, kMostChoices);
  TW_REQUIRE(num_topk_sum == 1 || num_topk_sum == 2, "{}: num_topk_sum is {}, it must be 1 or 2", f,
             num_topk_sum);
  TW_REQUIRE(num_topk_sum <= size,
             "{}: num_topk_sum is {}, but groups of scores {} have {} experts", f, num_topk_sum,
             scores, size);
  TW_REQUIRE(k >= 1 && k <= groups, "{}: num_topk_groups is {}, it must be from 1 to {}", f, k,
             groups);
  check_shape(f, {"idx", idx}, {t, k}, "[tokens, num_topk_groups]");
  kernel()({}, {{"groups", groups}, {"size", size}, {"k", k}, {"summands", num_topk_sum}},
           scores.device().kind)
      .launch(stream, {scores, idx});
}

}  // namespace tw::kernels
