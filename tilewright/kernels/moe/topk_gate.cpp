// idx[t, :] = the K best experts of scores[t, :].
// Bound by instructions, as top_k: a row is sorted in short lists, of which each round takes a
// head.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/weights.h"
#include "tilewright/kernels/select/best.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

void dataflow(Builder& k) {
  const Expr tokens = k.dim("tokens");
  const int64_t experts = k.constant("experts"), count = k.constant("k");
  const int64_t rows = k.tunable("rows", 1);
  const Search search{rows, experts, count, /*in_word=*/false, k.tunable("staged", 0) != 0};
  constexpr const char* not_finite = "topk_gate: a score of this token isn't finite";
  const Buffer scores = k.input("scores", f32, {tokens, experts});
  const Buffer idx = k.output("idx", i64, {tokens, count});
  k.launch({cdiv(tokens, rows)}, [&](Expr block) {
    const Expr row = let(block * rows);
    const auto keys = [&](const Expr& i, const std::vector<Expr>& columns) {
      std::vector<Expr> all;
      Expr finite = true;
      const Expr token = let(min(row + i, tokens - 1));  // that of rows behind the last, too
      for (const Expr& expert : columns) {
        const Expr score = let(scores(token, expert));
        finite = finite & isfinite(score);
        if (search.is_staged()) {
          const Expr key = ordered_without_zeros(score + 0.0F);  // -0 + 0 is 0
          all.push_back(select(isfinite(score), key, kNoKey));
        } else {
          all.push_back(ordered(score));
        }
      }
      if (!search.is_staged()) device_assert(finite, not_finite, {token});
      return all;
    };
    const int64_t width = search.is_staged() ? width_of(count) : search.lists();
    const Found found = find_best(search, width, keys);
    parallel({rows, width}, [&](Expr i, Expr r) {
      if (search.is_staged()) device_assert(found.keys(i, r) != kNoKey, not_finite, {row + i});
      idx(row + i, r) = cast(found.columns(i, r), i64);
    });
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("topk_gate", dataflow).schedule("cuda", [](Schedule& s, const Case& c) {
        const Search search{1, c.constant("experts"), c.constant("k")};
        s.threads(128).set("rows", rows_of_block(search.lists())).set("staged", 1);
      }));
  return jit;
}

}  // namespace

void topk_gate(const Tensor& scores, const Tensor& idx, Stream stream) {
  constexpr const char* f = "topk_gate";
  const Named s{"scores", scores}, i{"idx", idx};
  check_rank(f, s, 2);
  check_dtype(f, s, {f32});
  check_rank(f, i, 2);
  check_dtype(f, i, {i64});
  const int64_t tokens = scores.dim(0), experts = scores.dim(1), count = idx.dim(1);
  const int64_t most = std::min(experts, kMostChoices);
  TW_REQUIRE(count >= 1 && count <= most,
             "{}: num_topk is {}, it must be from 1 to {} for {} experts", f, count, most, experts);
  check_shape(f, i, {tokens, count}, "[tokens, num_topk]");
  check_apart(f, i, {s});
  kernel()({}, {{"experts", experts}, {"k", count}}, scores.device().kind)
      .launch(stream, {scores, idx});
}

}  // namespace tw::kernels
