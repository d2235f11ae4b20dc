// Reduce: a vector of partial results per output, folded lane by lane at the end; where the last
// dimension is kept, one vector of outputs at a time. Both orders are fixed, so repeated runs give
// the same bits.
#include <algorithm>
#include <functional>
#include <limits>

#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/pass/lanes.h"
#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;
using ir::ReduceKind;

double infinity() { return std::numeric_limits<double>::infinity(); }

Expr lowest(DType dtype) {
  if (dtype.is_float()) return ir::float_const(dtype, -infinity());
  if (dtype == i64) return ir::int_const(dtype, INT64_MIN);
  return ir::int_const(dtype, static_cast<int64_t>(lowest_finite(dtype)));
}
Expr highest(DType dtype) {
  if (dtype.is_float()) return ir::float_const(dtype, infinity());
  if (dtype == i64) return ir::int_const(dtype, INT64_MAX);
  if (dtype == u64) return ir::int_const(dtype, -1);
  return ir::int_const(dtype, static_cast<int64_t>(max_finite(dtype)));
}

/// One reduction as loops.
class Lowering {
 public:
  Lowering(const ir::Reduce& reduce, const VectorShape& shape)
      : reduce_(reduce),
        src_(reduce.src),
        accumulator_(ir::accumulator_type(reduce.dst.buffer.dtype(), reduce.low_precision)) {
    if (reduce.reduce == ReduceKind::any || reduce.reduce == ReduceKind::all) accumulator_ = bool_;
    lanes_ = shape.lanes(accumulator_.is_bool() ? u8 : accumulator_);
    const size_t rank = src_.extent.size();
    for (size_t d = 0; d < rank; ++d) {
      const bool reduced = std::find(reduce.dims.begin(), reduce.dims.end(),
                                     static_cast<int64_t>(d)) != reduce.dims.end();
      (reduced ? reduced_ : kept_).push_back(d);
      extents_.push_back(*ir::as_int(src_.extent[d]));
      at_.push_back(ir::index(0));
    }
  }

  ir::Stmt build() {
    const bool last_reduced =
        reduced_.back() + 1 == extents_.size() || kept_.empty() || extents_[kept_.back()] == 1;
    return last_reduced ? along_the_last() : across_the_last();
  }

 private:
  /// Loops over `dims`, outermost first, around what `body` makes; sets their indices.
  ir::Stmt nest(const std::vector<size_t>& dims, const std::function<ir::Stmt()>& body) {
    std::vector<std::pair<size_t, ir::Var>> loops;
    for (const size_t d : dims) {
      if (extents_[d] == 1) continue;
      const ir::Var var = ir::Var::make("r", i64);
      at_[d] = var;
      loops.emplace_back(d, var);
    }
    ir::Stmt stmt = body();
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      stmt =
          ir::for_(loop->second, ir::index(0), ir::index(extents_[loop->first]), std::move(stmt));
      at_[loop->first] = ir::index(0);
    }
    return stmt;
  }

  Expr element() const {
    std::vector<Expr> index = src_.begin;
    for (size_t d = 0; d < index.size(); ++d) index[d] = ir::add(index[d], at_[d]);
    return reduce_element(reduce_.reduce, accumulator_,
                          ir::load(src_.buffer, std::move(index), src_.unchecked));
  }
  Expr step(const Expr& a, const Expr& b) const {
    return reduce_step(reduce_.reduce, reduce_.propagate_nan, a, b);
  }
  Expr identity() const { return reduce_identity(reduce_.reduce, accumulator_); }

  /// dst's element for the present indices of the kept dimensions.
  std::vector<Expr> dst_index() const {
    std::vector<Expr> index = reduce_.dst.begin;
    const bool keeps_dims = index.size() == extents_.size();
    for (size_t i = 0; i < kept_.size(); ++i) {
      const size_t to = keeps_dims ? kept_[i] : i;
      if (extents_[kept_[i]] == 1 || to >= index.size()) continue;
      index[to] = ir::add(index[to], at_[kept_[i]]);
    }
    return index;
  }

  ir::Stmt write(const std::vector<Expr>& index, const Expr& result) const {
    const ir::Buffer& dst = reduce_.dst.buffer;
    Expr value = result;
    if (!reduce_.clear) {
      const Expr old = ir::load(dst, index, reduce_.dst.unchecked);
      value = step(accumulator_.is_bool() ? reduce_element(reduce_.reduce, bool_, old)
                                          : ir::cast(accumulator_, old),
                   value);
    }
    return ir::store(dst, index, ir::cast(dst.dtype(), value), reduce_.dst.unchecked);
  }

  /// Folds a vector loop of constant extent over `count` elements of dimension d from `from` on
  /// into acc.
  ir::Stmt fold_lanes(const ir::Buffer& acc, size_t d, const Expr& from, int64_t count) {
    return over_lanes(count, [&](const Expr& lane) {
      at_[d] = ir::add(from, lane);
      ir::Stmt body = ir::store(acc, {lane}, step(ir::load(acc, {lane}, true), element()), true);
      at_[d] = ir::index(0);
      return body;
    });
  }

  // The innermost dimension is reduced (or nothing else is left to vectorize over): a reducer,
  // updated in a parallel loop over the source, which fuse_loops may join to the loop that makes
  // the source.
  ir::Stmt along_the_last() {
    std::vector<Expr> shape;
    for (const size_t d : kept_) shape.push_back(ir::index(extents_[d]));
    if (shape.empty()) shape.push_back(ir::index(1));
    const ir::Buffer reducer = ir::make<ir::BufferNode>(reduce_.loc, [&](ir::BufferNode& n) {
      n.name = std::string(ir::enum_name(reduce_.reduce));
      n.dtype = accumulator_;
      n.space = ir::MemSpace::reducer;
      n.shape = shape;
      n.reduce = reduce_.reduce;
      n.propagate_nan = reduce_.propagate_nan;
    });
    std::vector<ir::Stmt> stmts{
        ir::alloc(reducer),
        ir::make<ir::ReducerInit>(reduce_.loc, [&](auto& n) { n.reducer = reducer; })};
    std::vector<ir::Var> vars;
    std::vector<Expr> box;
    for (size_t d = 0; d < extents_.size(); ++d) {
      if (extents_[d] == 1) continue;
      vars.push_back(ir::Var::make(std::string(1, static_cast<char>('i' + d)), i64));
      box.push_back(ir::index(extents_[d]));
      at_[d] = vars.back();
    }
    std::vector<Expr> to;
    for (const size_t d : kept_) to.push_back(at_[d]);
    if (to.empty()) to.push_back(ir::index(0));
    const ir::Stmt update = ir::make<ir::ReducerUpdate>(reduce_.loc, [&](ir::ReducerUpdate& n) {
      n.reducer = reducer;
      n.indices = to;
      n.value = element();
    });
    std::fill(at_.begin(), at_.end(), ir::index(0));
    stmts.push_back(vars.empty() ? update
                                 : ir::make<ir::Parallel>(reduce_.loc, [&](ir::Parallel& n) {
                                     n.vars = vars;
                                     n.extents = box;
                                     n.body = update;
                                   }));
    finish(reducer, stmts);
    return ir::make<ir::Seq>(reduce_.loc, [&](ir::Seq& n) { n.stmts = std::move(stmts); });
  }

  /// Ends the epoch: into dst, or by way of an array where dst takes part or isn't of the block.
  void finish(const ir::Buffer& reducer, std::vector<ir::Stmt>& stmts) {
    const ir::Buffer& dst = reduce_.dst.buffer;
    const bool direct = reduce_.clear && dst.space() != ir::MemSpace::global;
    const ir::Buffer result =
        ir::make_buffer("total", accumulator_, ir::MemSpace::fragment, reducer.shape());
    if (!direct) stmts.push_back(ir::alloc(result));
    stmts.push_back(ir::make<ir::ReducerFinalize>(reduce_.loc, [&](ir::ReducerFinalize& n) {
      n.reducer = reducer;
      n.dst = direct ? reduce_.dst : ir::Region::whole(result);
    }));
    if (direct) return;
    stmts.push_back(nest(kept_, [&] {
      std::vector<Expr> from;
      for (const size_t d : kept_) from.push_back(at_[d]);
      if (from.empty()) from.push_back(ir::index(0));
      return write(dst_index(), ir::load(result, from));
    }));
  }

  // The last kept dimension is contiguous: vectors of outputs, the reduced
  // dimensions in serial loops.
  ir::Stmt across_the_last() {
    const size_t d = kept_.back();
    const int64_t n = extents_[d];
    std::vector<size_t> outer = kept_;
    outer.pop_back();
    return nest(outer, [&] {
      std::vector<ir::Stmt> stmts;
      int64_t width = std::min<int64_t>(4 * lanes_, n), done = 0;
      if (n / width > 1) {
        const ir::Var j = ir::Var::make("j", i64);
        stmts.push_back(ir::for_(j, ir::index(0), ir::index(n / width),
                                 columns(d, ir::mul(j, ir::index(width)), width)));
        done = n / width * width;
      }
      for (; done < n; done += width) {
        while (width > n - done) width = width > lanes_ ? width - lanes_ : n - done;
        stmts.push_back(columns(d, ir::index(done), width));
      }
      return ir::seq(std::move(stmts));
    });
  }

  ir::Stmt columns(size_t d, const Expr& from, int64_t width) {
    const ir::Buffer acc =
        ir::make_buffer("acc", accumulator_, ir::MemSpace::local, std::vector<int64_t>{width});
    std::vector<ir::Stmt> stmts{ir::alloc(acc), fill(acc, width)};
    stmts.push_back(nest(reduced_, [&] { return fold_lanes(acc, d, from, width); }));
    stmts.push_back(over_lanes(width, [&](const Expr& lane) {
      at_[d] = ir::add(from, lane);
      const ir::Stmt out = write(dst_index(), ir::load(acc, {lane}, true));
      at_[d] = ir::index(0);
      return out;
    }));
    return ir::seq(std::move(stmts));
  }

  ir::Stmt fill(const ir::Buffer& acc, int64_t width) const {
    return over_lanes(width,
                      [&](const Expr& lane) { return ir::store(acc, {lane}, identity(), true); });
  }

  const ir::Reduce& reduce_;
  ir::Region src_;
  DType accumulator_;
  int64_t lanes_ = 1;
  std::vector<size_t> reduced_, kept_;
  std::vector<int64_t> extents_;
  std::vector<Expr> at_;  // the present element of src, relative to its box
};

}  // namespace

Expr reduce_identity(ReduceKind kind, DType accumulator) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::abs_sum:
    case ReduceKind::abs_max:
    case ReduceKind::bit_or:
    case ReduceKind::bit_xor:
      return ir::zero(accumulator);
    case ReduceKind::prod:
      return ir::literal(accumulator, 1);
    case ReduceKind::max:
      return lowest(accumulator);
    case ReduceKind::min:
      return highest(accumulator);
    case ReduceKind::bit_and:
      return ir::int_const(accumulator, -1);
    case ReduceKind::any:
      return ir::bool_const(false);
    case ReduceKind::all:
      return ir::bool_const(true);
  }
  return {};
}

Expr reduce_step(ReduceKind kind, bool propagate_nan, const Expr& a, const Expr& b) {
  const DType dtype = a.dtype();
  const auto is = [&](OpCode code) { return ir::op(code, dtype, {a, b}); };
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::abs_sum:
      return is(OpCode::add);
    case ReduceKind::prod:
      return is(OpCode::mul);
    case ReduceKind::max:
    case ReduceKind::abs_max:
      return is(propagate_nan && dtype.is_float() ? OpCode::max_nan : OpCode::max);
    case ReduceKind::min:
      return is(propagate_nan && dtype.is_float() ? OpCode::min_nan : OpCode::min);
    case ReduceKind::bit_and:
      return is(OpCode::bit_and);
    case ReduceKind::bit_or:
      return is(OpCode::bit_or);
    case ReduceKind::bit_xor:
      return is(OpCode::bit_xor);
    case ReduceKind::any:
      return is(OpCode::bit_or);
    case ReduceKind::all:
      return is(OpCode::bit_and);
  }
  return {};
}

Expr reduce_element(ReduceKind kind, DType accumulator, const Expr& element) {
  if (kind == ReduceKind::any || kind == ReduceKind::all) return ir::cast(bool_, element);
  const Expr value = ir::cast(accumulator, element);
  if (kind != ReduceKind::abs_sum && kind != ReduceKind::abs_max) return value;
  if (!accumulator.is_unsigned_int()) return ir::op(OpCode::abs, accumulator, {value});
  if (!element.dtype().is_signed_int()) return value;
  const Expr negative = ir::op(OpCode::lt, bool_, {element, ir::zero(element.dtype())});
  return ir::select(negative, ir::op(OpCode::sub, accumulator, {ir::zero(accumulator), value}),
                    value);
}

ir::Stmt lower_reduce(const ir::Reduce& reduce, const VectorShape& shape) {
  return Lowering(reduce, shape).build();
}

}  // namespace tw::pass
