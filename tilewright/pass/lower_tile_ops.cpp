#include "tilewright/pass/lower_tile_ops.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {

ir::Program lower_tile_ops(const ir::Program& program, const VectorShape& shape) {
  return ir::rewrite(
      program, [&](auto&, const ir::Copy& n) { return lower_copy(n); },
      [&](auto&, const ir::Fill& n) { return lower_fill(n); },
      [&](auto&, const ir::Reduce& n) { return lower_reduce(n, shape); },
      [&](auto&, const ir::Scan& n) { return lower_scan(n, shape); },
      [&](auto&, const ir::Gemm& n) { return lower_gemm(n, shape); },
      // Launches wait for each other anyway (check_target leaves no others).
      [&](auto&, const ir::Sync&) { return ir::seq({}); });
}

}  // namespace tw::pass
