#include "tilewright/lang/blocks.h"

#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

using ir::SyncCode;

void emit_sync(const Site& site, SyncCode code) {
  Trace::in_launch(site).emit(ir::sync(site.where, code));
}

/// A dimension of the grid; 0 is the first.
size_t checked(const Site& site, int dim) {
  if (dim >= 0 && dim < 3) return static_cast<size_t>(dim);
  throw Error({}, site.where, "{}: dimension {}, it must be 0, 1 or 2", site.name, dim);
}
int64_t extent(const Trace& trace, size_t dim) {
  return dim < trace.cluster.size() ? trace.cluster[dim] : 1;
}

}  // namespace

void grid_sync(SourceLoc where) { emit_sync({"grid_sync", where}, SyncCode::grid); }

Expr cluster_idx(int dim, SourceLoc where) {
  const Site site{"cluster_idx", where};
  const Trace& trace = Trace::in_launch(site);
  const size_t d = checked(site, dim);
  if (d >= trace.block_vars.size()) return Expr(ir::index(0));
  return Expr(ir::floordiv(trace.block_vars[d], ir::index(extent(trace, d))));
}
int64_t cluster_dim(int dim, SourceLoc where) {
  const Site site{"cluster_dim", where};
  return extent(Trace::in_launch(site), checked(site, dim));
}
Expr num_clusters(int dim, SourceLoc where) {
  const Site site{"num_clusters", where};
  const Trace& trace = Trace::in_launch(site);
  const size_t d = checked(site, dim);
  if (d >= trace.grid.size()) return Expr(ir::index(1));
  return Expr(ir::floordiv(trace.grid[d], ir::index(extent(trace, d))));
}
Expr block_rank_in_cluster(SourceLoc where) {
  const Trace& trace = Trace::in_launch({"block_rank_in_cluster", where});
  ir::Expr rank = ir::index(0);
  for (size_t d = trace.block_vars.size(); d-- > 0;) {
    const ir::Expr own = ir::index(extent(trace, d));
    rank = ir::add(ir::mul(rank, own), ir::floormod(trace.block_vars[d], own));
  }
  return Expr(rank);
}

void cluster_sync(SourceLoc where) {
  emit_sync({"cluster_sync", where}, SyncCode::cluster_arrive);
  emit_sync({"cluster_sync", where}, SyncCode::cluster_wait);
}
void cluster_arrive(SourceLoc where) {
  emit_sync({"cluster_arrive", where}, SyncCode::cluster_arrive);
}
void cluster_arrive_relaxed(SourceLoc where) {
  emit_sync({"cluster_arrive_relaxed", where}, SyncCode::cluster_arrive_relaxed);
}
void cluster_wait(SourceLoc where) { emit_sync({"cluster_wait", where}, SyncCode::cluster_wait); }

}  // namespace lang
}  // namespace tw
