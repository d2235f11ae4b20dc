// Scan: a serial walk along the dimension, for a vector of neighbours at once where another
// dimension is the contiguous one.
#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/lanes.h"
#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {

ir::Stmt lower_scan(const ir::Scan& scan, const VectorShape& shape) {
  const auto dim = static_cast<size_t>(scan.dim);
  const size_t rank = scan.src.extent.size();
  const DType accumulator = ir::accumulator_type(scan.dst.buffer.dtype());
  const ir::ReduceKind fold = ir::reduction_of(scan.scan);
  const int64_t n = *ir::as_int(scan.src.extent[dim]);

  // at[d]: the present element relative to the boxes of src and dst.
  std::vector<ir::Expr> at(rank, ir::index(0));
  std::vector<std::pair<ir::Var, int64_t>> outer;
  const bool across = dim + 1 != rank && *ir::as_int(scan.src.extent[rank - 1]) > 1;
  for (size_t d = 0; d < rank; ++d) {
    if (d == dim || (across && d + 1 == rank)) continue;
    const ir::Var var = ir::Var::make("i", i64);
    at[d] = var;
    outer.emplace_back(var, *ir::as_int(scan.src.extent[d]));
  }
  const auto index = [&](const ir::Region& region) {
    std::vector<ir::Expr> list = region.begin;
    for (size_t d = 0; d < rank; ++d) list[d] = ir::add(list[d], at[d]);
    return list;
  };

  // Walks `width` neighbours starting at column `from`.
  const auto walk = [&](const ir::Expr& from, int64_t width) {
    const ir::Buffer acc =
        ir::make_buffer("acc", accumulator, ir::MemSpace::local, std::vector<int64_t>{width});
    const ir::Var step = ir::Var::make("k", i64);
    at[dim] = scan.reverse ? ir::sub(ir::index(n - 1), step) : ir::Expr(step);
    const ir::Stmt start = over_lanes(width, [&](const ir::Expr& lane) {
      return ir::store(acc, {lane}, reduce_identity(fold, accumulator), true);
    });
    const ir::Stmt one = over_lanes(width, [&](const ir::Expr& lane) {
      if (across) at[rank - 1] = ir::add(from, lane);
      const ir::Expr held = ir::load(acc, {lane}, true);
      const ir::Var element = ir::Var::make("x", accumulator);
      // The element is read before dst is written: dst may be src.
      const ir::Expr x = ir::load(scan.src.buffer, index(scan.src), scan.src.unchecked);
      const ir::Stmt read = ir::let(element, ir::cast(accumulator, x));
      const ir::Stmt update = ir::store(acc, {lane}, reduce_step(fold, false, held, element), true);
      const ir::Stmt write = ir::store(scan.dst.buffer, index(scan.dst),
                                       ir::cast(scan.dst.buffer.dtype(), held), scan.dst.unchecked);
      return ir::make<ir::Seq>(scan.loc, [&](ir::Seq& s) {
        s.stmts = {read, update, write};
        if (scan.exclusive) std::swap(s.stmts[1], s.stmts[2]);
      });
    });
    return ir::seq({ir::alloc(acc), start, ir::for_(step, ir::index(0), ir::index(n), one)});
  };

  ir::Stmt stmt;
  if (across) {
    const int64_t columns = *ir::as_int(scan.src.extent[rank - 1]);
    std::vector<ir::Stmt> parts;
    int64_t width = std::min(shape.lanes(accumulator) * 2, columns);
    if (columns / width > 1) {
      const ir::Var j = ir::Var::make("j", i64);
      parts.push_back(ir::for_(j, ir::index(0), ir::index(columns / width),
                               walk(ir::mul(j, ir::index(width)), width)));
    } else {
      parts.push_back(walk(ir::index(0), width));
    }
    if (columns % width != 0)
      parts.push_back(walk(ir::index(columns / width * width), columns % width));
    stmt = ir::seq(std::move(parts));
  } else {
    stmt = walk(ir::index(0), 1);
  }
  for (auto loop = outer.rbegin(); loop != outer.rend(); ++loop) {
    stmt = ir::for_(loop->first, ir::index(0), ir::index(loop->second), std::move(stmt));
  }
  return stmt;
}

}  // namespace tw::pass
