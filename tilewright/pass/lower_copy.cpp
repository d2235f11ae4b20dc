// Copy and Fill: one parallel loop over the elements of the destination's box.
#include "tilewright/ir/build.h"
#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {
namespace {

std::vector<ir::Expr> indices_of(const ir::Region& region, const std::vector<size_t>& dims,
                                 const std::vector<ir::Var>& vars) {
  std::vector<ir::Expr> indices = region.begin;
  for (size_t i = 0; i < dims.size(); ++i) {
    indices[dims[i]] = ir::add(indices[dims[i]], vars[i]);
  }
  return indices;
}

std::vector<ir::Var> loop_vars(size_t count) {
  static const char* const kNames[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  std::vector<ir::Var> vars;
  for (size_t i = 0; i < count; ++i) vars.push_back(ir::Var::make(kNames[i % 8], i64));
  return vars;
}

/// The loop, or the bare statement where the box has one element.
ir::Stmt over_box(const ir::Region& region, const std::vector<size_t>& dims,
                  const std::vector<ir::Var>& vars, int64_t max_vector, SourceLoc where,
                  ir::Stmt body, const std::vector<ir::Region>& prefetch = {}) {
  if (vars.empty()) return body;
  return ir::make<ir::Parallel>(where, [&](ir::Parallel& n) {
    n.vars = vars;
    for (const size_t d : dims) n.extents.push_back(region.extent[d]);
    n.max_vector = max_vector;
    n.prefetch = prefetch;
    n.body = std::move(body);
  });
}

}  // namespace

ir::Stmt lower_copy(const ir::Copy& copy) {
  const auto dst_dims = ir::iterated_dims(copy.dst);
  const auto src_dims = ir::iterated_dims(copy.src);
  const auto vars = loop_vars(dst_dims.size());
  if (copy.transpose) {
    // dst(..., j, i) = src(..., i, j): all dimensions of both sides correspond in place, also those
    // of extent 1.
    std::vector<ir::Expr> src_index = copy.src.begin;
    const size_t rank = copy.dst.extent.size(), offset = copy.src.extent.size() - rank;
    for (size_t i = 0; i < dst_dims.size(); ++i) {
      size_t d = dst_dims[i];
      if (d + 1 == rank) {
        d = rank - 2;
      } else if (d + 2 == rank) {
        d = rank - 1;
      }
      src_index[d + offset] = ir::add(src_index[d + offset], vars[i]);
    }
    const auto value = ir::load(copy.src.buffer, src_index, copy.src.unchecked);
    return over_box(copy.dst, dst_dims, vars, copy.max_vector, copy.loc,
                    ir::store(copy.dst.buffer, indices_of(copy.dst, dst_dims, vars),
                              ir::cast(copy.dst.buffer.dtype(), value), copy.dst.unchecked));
  }
  TW_CHECK(src_dims.size() == dst_dims.size(), "copy of {} iterated dims to {}", src_dims.size(),
           dst_dims.size());
  const auto value =
      ir::load(copy.src.buffer, indices_of(copy.src, src_dims, vars), copy.src.unchecked);
  ir::Stmt body = ir::make<ir::Store>(copy.loc, [&](ir::Store& n) {
    n.buffer = copy.dst.buffer;
    n.indices = indices_of(copy.dst, dst_dims, vars);
    n.value = ir::cast(copy.dst.buffer.dtype(), value);
    n.unchecked = copy.dst.unchecked;
    n.streaming =
        copy.evict == ir::EvictPolicy::first && copy.dst.buffer.space() == ir::MemSpace::global;
  });
  return over_box(copy.dst, dst_dims, vars, copy.max_vector, copy.loc, std::move(body),
                  copy.prefetch);
}

ir::Stmt lower_fill(const ir::Fill& fill) {
  const auto dims = ir::iterated_dims(fill.dst);
  const auto vars = loop_vars(dims.size());
  return over_box(
      fill.dst, dims, vars, 0, fill.loc,
      ir::store(fill.dst.buffer, indices_of(fill.dst, dims, vars), fill.value, fill.dst.unchecked));
}

}  // namespace tw::pass
