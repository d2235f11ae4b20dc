// The scores of chosen experts are computed again, which takes less than keeping all of them.
#include "tilewright/kernels/moe/gate.h"

#include "tilewright/kernels/moe/weights.h"

namespace tw::kernels {

void finish_gate(const GateRows& g, const Found& found,
                 const std::function<Expr(const Expr& i, const Expr& expert)>& score_of,
                 const std::function<Expr(const Expr& expert, const Expr& token)>& number) {
  const auto kind = [&](const Expr& i) { return g.kind(i, 0); };
  parallel({g.rows, 1}, [&](Expr i, Expr) {
    device_assert(kind(i) != kRouted || found.last(i, 0) > kOrderedMinusInfinity,
                  g.function + ": too few experts of this token have a key above -inf",
                  {g.first + i});
  });
  const Buffer expert = fragment(i64, {g.rows, kMostChoices}, "expert");
  const Buffer score = fragment(f32, {g.rows, kMostChoices}, "score");
  parallel({g.rows, kMostChoices}, [&](Expr i, Expr r) {
    const Expr token = g.first + i;
    const Expr chosen = let(if_else(kind(i) == kFixed, g.unmapped(token, r), found.columns(i, r)));
    const Expr counts = let(r < g.count && kind(i) >= kFixed);
    device_assert(!counts || (0 <= chosen && chosen < g.experts),
                  g.function + ": no such expert of this token", {token, chosen});
    expert(i, r) = select(r < g.count, chosen, g.experts + r - g.count);
    score(i, r) = if_else(counts, score_of(i, chosen), 0.0F);
  });
  const Buffer sum = denominator(value(score)).fragment();
  parallel({g.rows, kMostChoices}, [&](Expr i, Expr r) {
    if_(r < g.slots && kind(i) != kForced, [&] {
      const Expr token = g.first + i, exists = let(kind(i) != kMasked);
      const auto store = [&](const Expr& id, const Expr& weight) {
        g.idx(token, r) = id;
        g.weights(token, r) = weight;
      };
      if_(
          exists,
          [&] {
            store(number(expert(i, r), token),
                  select(r < g.count, ieee::mul(score(i, r) / sum(i, 0), g.scale), 1.0F));
          },
          [&] { store(-1, 0.0F); });
      g.unmapped(token, r) = select(exists, expert(i, r), -1);
    });
  });
}

}  // namespace tw::kernels
