#include "tilewright/pass/thread/plan_box.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/parse.h"
#include "tilewright/pass/thread/lower_threads.h"

namespace tw::pass {
namespace {

/// Threads along each dimension, the first being the fastest.
struct Split {
  std::vector<int64_t> threads;
  int64_t slots = INT64_MAX;
};

/// Tries every divisor of what is left of the threads along `order[d]`, the largest first; at most
/// `most` along the first.
void split(const std::vector<int64_t>& runs, size_t d, int64_t left, int64_t most, int64_t slots,
           std::vector<int64_t>& chosen, Split& best) {
  if (slots >= best.slots) return;
  if (d == runs.size()) {
    best = {chosen, slots};
    return;
  }
  for (int64_t t = std::min({left, most, 2 * runs[d] - 1}); t >= 1; --t) {
    if (left % t != 0) continue;
    chosen.push_back(t);
    split(runs, d + 1, left / t, left / t, slots * ceil_div(runs[d], t), chosen, best);
    chosen.pop_back();
  }
}

}  // namespace

layout::Fragment plan_box(const layout::Coords& extents, int64_t threads, int64_t vector, int fast,
                          int64_t most_along_fast, int scanned) {
  const int rank = static_cast<int>(extents.size());
  const int64_t elements = layout::product(extents);
  while (vector > 1 &&
         (extents[static_cast<size_t>(fast)] % vector != 0 || elements < threads * vector)) {
    vector /= 2;
  }
  std::vector<int> order{fast};
  for (int d = rank; d-- > 0;) {
    if (d != fast) order.push_back(d);
  }
  std::vector<int64_t> runs;
  for (const int d : order) {
    runs.push_back(extents[static_cast<size_t>(d)] / (d == fast ? vector : 1));
  }
  Split best;
  std::vector<int64_t> chosen;
  split(runs, 0, threads, most_along_fast, 1, chosen, best);

  layout::Coords shape(extents.size());
  std::vector<layout::Term> terms;
  int64_t thread = 1, slot = 1;
  const auto add = [&](int dim, int64_t div, int64_t extent, int out, int64_t& stride) {
    if (extent > 1) terms.push_back({{{dim, div}}, extent, out, stride});
    stride *= extent;
  };
  add(fast, 1, vector, 1, slot);
  for (size_t i = 0; i < order.size(); ++i) {
    const int d = order[i];
    const int64_t inner = d == fast ? vector : 1, t = best.threads[i];
    const int64_t outer = ceil_div(runs[i], t);
    shape[static_cast<size_t>(d)] = inner * t * outer;
    int64_t near = t;  // threads whose runs follow one another
    if (d == scanned) near = d != fast ? 1 : t % kWarp == 0 ? kWarp : t;
    add(d, inner, near, 0, thread);
    add(d, inner * near, outer, 1, slot);
    add(d, inner * near * outer, t / near, 0, thread);
  }
  shape.push_back(threads / thread);
  add(rank, 1, threads / thread, 0, thread);
  return layout::Fragment(layout::Layout(shape, std::move(terms), {threads, slot}));
}

Neighbors neighbors_of(const layout::Layout& inverse, const ir::Parallel& loop) {
  for (const layout::Term& term : inverse.terms()) {
    if (term.sources.size() != 1 || term.sources[0].dim != kSlot || term.sources[0].div != 1 ||
        term.stride != 1 || term.out >= static_cast<int>(loop.vars.size())) {
      continue;
    }
    const int64_t extent = *ir::as_int(loop.extents[static_cast<size_t>(term.out)]);
    int64_t count = 16;
    while (count > 1 && (term.extent % count != 0 || extent % count != 0)) count /= 2;
    if (loop.max_vector > 0) count = std::min(count, loop.max_vector);
    return {count, term.out, term.extent};
  }
  return {};
}

bool has_one_run(const ir::Parallel& loop) {
  const layout::Fragment map = layout::parse_fragment(loop.layout);
  const auto inverse = layout::inverse(map.map());
  return inverse && neighbors_of(inverse->layout, loop).count == map.slots();
}

}  // namespace tw::pass
