// Loops over the experts of a row have one store each, so that it is of vectors. Their boxes differ
// where a loop must not become one with the one before: then scores are in the code once.
#include "tilewright/kernels/moe/gate.h"

#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe/weights.h"

namespace tw::kernels {

ScoresOfRows::ScoresOfRows(int64_t rows, int64_t experts)
    : rows_(rows),
      strip_(4 * lists_of(experts)),
      parts_(lang::cdiv(experts, strip_)),
      all_(shared(f32, {rows, parts_ * strip_}, "all")) {}

void ScoresOfRows::load(const Buffer& logits, const Expr& first) const {
  parallel({parts_, rows_, strip_}, [&](Expr p, Expr i, Expr j) {
    const Expr expert = p * strip_ + j;
    all_(i, expert) = logits(min(first + i, logits.extent(0) - 1), expert);
  });
}

void ScoresOfRows::load(const Buffer& logits, const Expr& first,
                        const std::function<Expr(const Expr&)>& score) const {
  load(logits, first);
  parallel({rows_, parts_ * strip_}, [&](Expr i, Expr expert) {
    const Expr logit = let(all_(i, expert));
    all_(i, expert) = score(logit) + logit * 0.0F;  // no branch, as around a selection
  });
}

void ScoresOfRows::each(const std::function<void(const Expr&, const Expr&, const Expr&)>& f) const {
  parallel({parts_, rows_, strip_}, [&](Expr p, Expr i, Expr j) {
    const Expr expert = p * strip_ + j;
    f(i, expert, all_(i, expert));
  });
}

Expr ScoresOfRows::key(const Expr& row, const Expr& expert, const Expr& bias) const {
  const Expr worth = let(all_(row, expert));
  return select(isfinite(worth), ordered_without_zeros(worth + bias), kNoKey);
}

void finish_gate(const GateRows& g, const Found& found,
                 const std::function<Expr(const Expr& i, const Expr& expert)>& score_of,
                 const std::function<Expr(const Expr& expert, const Expr& token)>& number) {
  const auto kind = [&](const Expr& i) { return g.kind(i, 0); };
  const int64_t width = width_of(g.slots);
  const Buffer expert = fragment(i64, {g.rows, width}, "expert");
  const Buffer score = shared(f32, {g.rows, width}, "score");
  parallel({g.rows, width}, [&](Expr i, Expr r) {
    const Expr token = g.first + i;
    device_assert(kind(i) < kFixed || found.keys(i, r) != kNoKey,
                  g.function + ": a logit of this token isn't finite, or a bias is NaN", {token});
    if (g.excludes) {
      device_assert(kind(i) != kRouted || found.keys(i, g.count - 1) > kOrderedMinusInfinity,
                    g.function + ": too few experts of this token have a key above -inf", {token});
    }
    Variable chosen = var(i64, cast(found.columns(i, r), i64));
    if_(r < g.count && kind(i) == kFixed, [&] {
      assume(token < g.unmapped.extent(0));  // it is there
      const Expr given = let(g.unmapped(token, r));
      device_assert(0 <= given && given < g.experts, g.function + ": no such expert of this token",
                    {token, given});
      chosen = given;
    });
    const Expr one = let(chosen);
    expert(i, r) = g.slots == g.count ? one : select(r < g.count, one, g.experts + r - g.count);
    score(i, r) = score_of(i, one);
  });
  parallel({g.rows, width}, [&](Expr i, Expr r) {
    if_(r < g.slots && (!g.forces || kind(i) != kForced), [&] {
      const Expr token = g.first + i, exists = let(kind(i) != kMasked);
      const auto store = [&](const Expr& id, const Expr& weight) {
        g.idx(token, r) = id;
        g.weights(token, r) = weight;
      };
      if_(
          exists,
          [&] {
            assume(token < g.idx.extent(0));
            std::vector<Expr> all;
            for (int64_t j = 0; j < g.count; ++j) all.push_back(score(i, j));
            const Expr weight = ieee::mul(score(i, r) / (tree_sum(all) + 1e-20F), g.scale);
            store(number(expert(i, r), token), select(r < g.count, weight, 1.0F));
          },
          [&] { store(-1, 0.0F); });
      g.unmapped(token, r) = select(exists, expert(i, r), -1);
    });
  });
}

GateSizes check_gate(std::string_view f, const Tensor& logits, const Tensor& idx,
                     const Tensor& weights, int64_t shared) {
  check_rank(f, {"logits", logits}, 2);
  check_dtype(f, {"logits", logits}, {f32});
  check_rank(f, {"idx", idx}, 2);
  check_dtype(f, {"idx", idx}, {i64});
  TW_REQUIRE(shared >= 0 && shared <= 2, "{}: num_shared_experts is {}, it must be 0 to 2", f,
             shared);
  const int64_t t = logits.dim(0), e = logits.dim(1), slots = idx.dim(1), k = slots - shared;
  TW_REQUIRE(e % 4 == 0, "{}: logits is {}, the number of experts must be a multiple of 4", f,
             logits);
  const int64_t most = std::min(e, kMostChoices);
  TW_REQUIRE(k >= 1 && k <= most, "{}: num_topk is {}, it must be from 1 to {} for {} experts", f,
             k, most, e);
  TW_REQUIRE(slots <= kMostChoices, "{}: {} experts of a token and {} shared ones are more than {}",
             f, k, shared, kMostChoices);
  check_shape(f, {"idx", idx}, {t, slots}, "[tokens, num_topk and shared experts]");
  check_dtype(f, {"weights", weights}, {f32});
  check_shape(f, {"weights", weights}, {t, slots}, "like idx");
  return {t, e, k, shared};
}

void check_fixed(std::string_view f, const MaybeNamed& fix, const MaybeNamed& unmapped,
                 const GateSizes& sizes) {
  check_optional(f, fix, bool_, {sizes.tokens}, "[tokens]");
  TW_REQUIRE(fix.tensor == nullptr || unmapped.tensor != nullptr,
             "{}: {} is given without {}, which has the experts", f, fix.name, unmapped.name);
  check_optional(f, unmapped, i64, {sizes.tokens, sizes.count}, "[tokens, num_topk]");
}

void fail_gate(const Error& error, const Tensor& logits) {
  if (error.code() != codes::mem_02) throw;
  throw Error({}, {}, "{}; logits is {}: pass fewer experts, or a tensor on the CPU",
              error.message(), logits);
}

}  // namespace tw::kernels
