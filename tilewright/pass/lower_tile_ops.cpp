#include "tilewright/pass/lower_tile_ops.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Stmt;

/// A reducer is an array of the block here: init fills it, finalize copies it.
Stmt lower_reducer_init(const ir::ReducerInit& init) {
  ir::Fill fill;
  fill.dst = ir::Region::whole(init.reducer);
  fill.value =
      init.initial ? init.initial : reduce_identity(init.reducer->reduce, init.reducer.dtype());
  return lower_fill(fill);
}

Stmt lower_reducer_finalize(const ir::ReducerFinalize& finalize) {
  ir::Copy copy;
  copy.src = ir::Region::whole(finalize.reducer);
  copy.dst = finalize.dst;
  return lower_copy(copy);
}

}  // namespace

ir::Program lower_tile_ops(const ir::Program& program, const VectorShape& shape) {
  return ir::rewrite(
      program, [&](auto&, const ir::Copy& n) { return lower_copy(n); },
      [&](auto&, const ir::Fill& n) { return lower_fill(n); },
      [&](auto&, const ir::Reduce& n) { return lower_reduce(n, shape); },
      [&](auto&, const ir::Scan& n) { return lower_scan(n, shape); },
      [&](auto&, const ir::Gemm& n) { return lower_gemm(n, shape); },
      [&](auto&, const ir::ReducerInit& n) { return lower_reducer_init(n); },
      [&](auto&, const ir::ReducerFinalize& n) { return lower_reducer_finalize(n); });
}

}  // namespace tw::pass
