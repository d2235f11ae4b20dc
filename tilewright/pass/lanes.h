// Vector loops of lane counts that every target has.
#pragma once

#include <algorithm>
#include <bit>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {

/// A vectorized loop has a power of two of lanes, and at most so many: LLVM takes other counts
/// apart element by element.
inline constexpr int64_t kMostLanes = 64;

/// Statements that run body(i) for i = 0 to count - 1, as vectorized loops of such counts. `body`
/// is called once per loop with the index.
template <class Body>
ir::Stmt over_lanes(int64_t count, Body body) {
  std::vector<ir::Stmt> parts;
  for (int64_t done = 0; done < count;) {
    const auto rest = static_cast<uint64_t>(std::min(count - done, kMostLanes));
    const auto lanes = static_cast<int64_t>(std::bit_floor(rest));
    if (lanes == 1) {
      parts.push_back(body(ir::index(done)));
    } else {
      const ir::Var lane = ir::Var::make("lane", i64);
      parts.push_back(ir::for_(lane, ir::index(0), ir::index(lanes),
                               body(ir::add(ir::index(done), lane)), ir::LoopKind::vectorized));
    }
    done += lanes;
  }
  // Bodies may share what was bound outside of `body`.
  for (size_t i = 1; i < parts.size(); ++i) parts[i] = ir::with_fresh_bindings(parts[i]);
  return ir::seq(std::move(parts));
}

}  // namespace tw::pass
