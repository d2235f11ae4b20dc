#include "tilewright/pass/lower_parallel.h"

#include <algorithm>
#include <bit>
#include <map>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/lanes.h"
#include "tilewright/pass/linear.h"
#include "tilewright/pass/vector_form.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

/// How one access moves when an index grows by one.
enum class Movement { none, contiguous, far };

Movement movement(const ir::Buffer& buffer, const std::vector<Expr>& indices, const Var& var) {
  const auto strides = ir::strides_of(buffer);
  int64_t step = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    const auto coefficient = Linear::of(indices[d]).coefficient_of(var);
    if (!coefficient) return Movement::far;
    if (*coefficient == 0) continue;
    const auto stride = ir::as_int(strides[d]);
    if (!stride) return Movement::far;
    step += *coefficient * *stride;
  }
  if (step == 0) return Movement::none;
  return step == 1 ? Movement::contiguous : Movement::far;
}

/// Cost of one element when `var` runs along the lanes, in loads of a scalar.
double cost_of_lanes(const Stmt& body, const Var& var, const Expr& extent, int64_t lanes) {
  double far = 0, near = 0;
  const auto count = [&](const ir::Buffer& buffer, const std::vector<Expr>& indices,
                         double weight) {
    (movement(buffer, indices, var) == Movement::far ? far : near) += weight;
  };
  ir::for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) count(store->buffer, store->indices, 2);
  });
  ir::for_each_expr(body, [&](const Expr& e) {
    if (const auto* load = e.try_as<ir::Load>()) count(load->buffer, load->indices, 1);
  });
  const auto n = ir::as_int(extent);
  const auto used = static_cast<double>(n ? std::min(*n, lanes) : lanes);
  return far + near / used + 1 / used;
}

/// The widest element that the body touches.
int64_t widest_bits(const Stmt& body) {
  int64_t bits = 8;
  const auto widen = [&](DType dtype) { bits = std::max<int64_t>(bits, dtype.bits()); };
  ir::for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) widen(store->buffer.dtype());
  });
  ir::for_each_expr(body, [&](const Expr& e) {
    if (e.is<ir::Load>() || e.is<ir::Cast>()) widen(e.dtype());
  });
  return bits;
}

/// The narrowest element that the body writes to a tensor; that of a register if there is none.
int64_t narrowest_output_bits(const Stmt& body, const VectorShape& shape) {
  int64_t bits = shape.bytes * 8;
  ir::for_each_stmt(body, [&](const Stmt& s) {
    const auto* store = s.try_as<ir::Store>();
    if (store == nullptr || store->buffer.space() != ir::MemSpace::global) return;
    bits = std::min<int64_t>(bits, store->buffer.dtype().bits());
  });
  return bits;
}

/// Gives each lane its own copy of what the body allocates: a last dimension of `lanes`.
class PrivatePerLane : public ir::Rewriter {
 public:
  PrivatePerLane(const Var& lane, int64_t lanes) : lane_(lane), lanes_(lanes) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    const auto* load = expr.try_as<ir::Load>();
    if (load == nullptr || !widened_.contains(load->buffer)) return children(expr);
    std::vector<Expr> indices = rewrite_all(load->indices);
    indices.push_back(lane_);
    return ir::load(widened_.at(load->buffer), std::move(indices), true);
  }
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) {
      std::vector<Expr> shape = alloc->buffer.shape();
      shape.push_back(ir::index(lanes_));
      const ir::Buffer wide =
          ir::make_buffer(alloc->buffer.name(), alloc->buffer.dtype(), ir::MemSpace::local, shape);
      widened_[alloc->buffer] = wide;
      std::vector<Stmt> stmts{ir::alloc(wide)};
      if (alloc->initial) stmts.push_back(ir::store(wide, {lane_}, rewrite(alloc->initial), true));
      return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(stmts); });
    }
    if (const auto* store = stmt.try_as<ir::Store>();
        store != nullptr && widened_.contains(store->buffer)) {
      std::vector<Expr> indices = rewrite_all(store->indices);
      indices.push_back(lane_);
      return ir::store(widened_.at(store->buffer), std::move(indices), rewrite(store->value), true);
    }
    if (const auto* seq = stmt.try_as<ir::Seq>()) return splice(stmt, *seq);
    return children(stmt);
  }

 private:
  std::vector<Expr> rewrite_all(const std::vector<Expr>& list) {
    std::vector<Expr> next;
    for (const Expr& e : list) next.push_back(rewrite(e));
    return next;
  }
  /// An allocation turned into several statements keeps its scope.
  Stmt splice(const Stmt& stmt, const ir::Seq& seq) {
    std::vector<Stmt> next;
    for (const Stmt& s : seq.stmts) {
      const Stmt one = rewrite(s);
      if (s.is<ir::Alloc>()) {
        const auto& parts = one.as<ir::Seq>().stmts;
        next.insert(next.end(), parts.begin(), parts.end());
      } else {
        next.push_back(one);
      }
    }
    return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(next); });
  }

  Var lane_;
  int64_t lanes_;
  std::map<ir::Buffer, ir::Buffer, ir::ById> widened_;
};

/// A reducer is an array of the block: init fills it, finalize copies it.
Stmt fill_of(const ir::ReducerInit& init) {
  ir::Fill fill;
  fill.loc = init.loc;
  fill.dst = ir::Region::whole(init.reducer);
  fill.value =
      init.initial ? init.initial : reduce_identity(init.reducer->reduce, init.reducer.dtype());
  return lower_fill(fill);
}
Stmt copy_of(const ir::ReducerFinalize& finalize) {
  ir::Copy copy;
  copy.loc = finalize.loc;
  copy.src = ir::Region::whole(finalize.reducer);
  copy.dst = finalize.dst;
  return lower_copy(copy);
}

Expr step_of(const ir::Buffer& reducer, const Expr& held, const Expr& value) {
  return reduce_step(reducer->reduce, reducer->propagate_nan, held, value);
}

Stmt plain_update(const ir::ReducerUpdate& update) {
  const Expr old = ir::load(update.reducer, update.indices);
  return ir::store(update.reducer, update.indices, step_of(update.reducer, old, update.value));
}

/// The updates of a vector body whose element all lanes share: each lane folds into a partial
/// result of its own through the whole loop, and these are folded behind it.
class SharedUpdates {
 public:
  SharedUpdates(const Var& var, int64_t lanes) : var_(var), lanes_(lanes) {}

  /// The body with updates of a partial result of `lane`; fills `before` and `after`.
  Stmt rewrite(const Stmt& body) {
    return ir::rewrite(body, [&](auto&, const ir::ReducerUpdate& update) -> Stmt {
      for (const Expr& index : update.indices) {
        if (uses(index, var_)) return plain_update(update);
      }
      const ir::Buffer& reducer = update.reducer;
      const ir::Buffer partial = ir::make_buffer("partial", reducer.dtype(), ir::MemSpace::local,
                                                 std::vector<int64_t>{lanes_});
      before.push_back(ir::alloc(partial));
      before.push_back(over_lanes(lanes_, [&](const Expr& l) {
        return ir::store(partial, {l}, reduce_identity(reducer->reduce, partial.dtype()), true);
      }));
      for (int64_t half = lanes_ / 2; half >= 1; half /= 2) {
        after.push_back(over_lanes(half, [&](const Expr& l) {
          const Expr other = ir::load(partial, {ir::add(l, ir::index(half))}, true);
          return ir::store(partial, {l}, step_of(reducer, ir::load(partial, {l}, true), other),
                           true);
        }));
      }
      ir::ReducerUpdate total = update;
      total.value = ir::load(partial, {ir::index(0)}, true);
      after.push_back(plain_update(total));
      const Expr held = ir::load(partial, {lane}, true);
      return ir::store(partial, {lane}, step_of(reducer, held, update.value), true);
    });
  }

  const Var lane = Var::make("lane", i64);  // free in the body: each vector loop sets it
  std::vector<Stmt> before, after;

 private:
  Var var_;
  int64_t lanes_;
};

class LowerParallel : public ir::Rewriter {
 public:
  explicit LowerParallel(const VectorShape& shape) : shape_(shape) {}
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = stmt.try_as<ir::Parallel>()) return lower(*loop);
    if (const auto* update = stmt.try_as<ir::ReducerUpdate>()) return plain_update(*update);
    if (const auto* init = stmt.try_as<ir::ReducerInit>()) return rewrite(fill_of(*init));
    if (const auto* end = stmt.try_as<ir::ReducerFinalize>()) return rewrite(copy_of(*end));
    if (const auto* loop = stmt.try_as<ir::For>();
        loop != nullptr && loop->loop == ir::LoopKind::vectorized) {
      return lower_author_vectors(stmt, *loop);
    }
    return children(stmt);
  }

 private:
  Stmt lower(const ir::Parallel& loop) {
    // The best index among those along which the body can run as lanes.
    const int64_t lanes = lane_count(loop.body, loop.max_vector);
    const size_t none = loop.vars.size();
    size_t best = none;
    double best_cost = 0;
    for (size_t d = none; d-- > 0;) {
      if (lanes <= 1 || ir::is_int(loop.extents[d], 1)) continue;
      if (reason_against_vectors(loop.body, loop.vars[d]) != nullptr) continue;
      const double cost = cost_of_lanes(loop.body, loop.vars[d], loop.extents[d], lanes);
      if (best != none && cost >= best_cost) continue;
      best = d;
      best_cost = cost;
    }
    Stmt stmt = best == none ? rewrite(loop.body) : vectors(loop, best, lanes);
    for (size_t d = none; d-- > 0;) {
      if (d == best) continue;
      stmt = ir::for_(loop.vars[d], ir::index(0), loop.extents[d], std::move(stmt));
    }
    return stmt;
  }

  int64_t lane_count(const Stmt& body, int64_t max_vector) const {
    // Two registers of the widest element: enough independent work to hide latencies. Or a whole
    // one of what is written to a tensor, which a streaming store needs.
    const int64_t lanes = std::max(2 * shape_.bytes * 8 / widest_bits(body),
                                   shape_.bytes * 8 / narrowest_output_bits(body, shape_));
    const int64_t limit =
        max_vector > 0 ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(max_vector)))
                       : lanes;
    return std::min({lanes, kMostLanes, limit});
  }

  /// body for var = from + lane, lane below `lanes`; with a limit only where var is below it.
  Stmt lane_loop(const Stmt& body, const Var& var, const Expr& from, int64_t lanes,
                 const Expr& limit, const Var& shared_lane) {
    const Var lane = Var::make(var.name(), i64, var.loc());
    const Expr at = ir::add(from, lane);
    Stmt inner = ir::substitute(body, {{var, at}, {shared_lane, lane}});
    inner = PrivatePerLane(lane, lanes).rewrite(ir::with_fresh_bindings(inner));
    if (limit) inner = ir::if_(ir::lt(at, limit), inner);
    return ir::for_(lane, ir::index(0), ir::index(lanes), inner, ir::LoopKind::vectorized);
  }

  /// Lines of the tiles to come that correspond to `lanes` elements of the box from `from` on.
  static std::vector<Stmt> prefetches(const ir::Parallel& loop, size_t lane_dim, const Expr& from,
                                      int64_t lanes) {
    std::vector<Stmt> stmts;
    for (const ir::Region& tile : loop.prefetch) {
      // The tile's iterated dimensions must be the box's, and its lanes contiguous.
      const std::vector<size_t> dims = ir::iterated_dims(tile);
      if (dims.size() != loop.vars.size() || dims[lane_dim] + 1 != tile.extent.size()) continue;
      const int64_t line = 64 * 8 / tile.buffer.dtype().bits();
      for (int64_t first = 0; first < lanes; first += line) {
        stmts.push_back(ir::make<ir::Prefetch>(loop.loc, [&](ir::Prefetch& n) {
          n.buffer = tile.buffer;
          n.indices = tile.begin;
          for (size_t i = 0; i < dims.size(); ++i) {
            const Expr at = i == lane_dim ? ir::add(from, ir::index(first)) : Expr(loop.vars[i]);
            n.indices[dims[i]] = ir::add(n.indices[dims[i]], at);
          }
        }));
      }
    }
    return stmts;
  }

  Stmt vectors(const ir::Parallel& loop, size_t lane_dim, int64_t lanes) {
    const Var& var = loop.vars[lane_dim];
    const Expr& extent = loop.extents[lane_dim];
    SharedUpdates updates(var, lanes);
    const Stmt body = updates.rewrite(loop.body);
    std::vector<Stmt> parts = std::move(updates.before);
    const Var piece = Var::make(var.name() + "v", i64, var.loc());
    const Expr width = ir::index(lanes);
    const Expr whole = ir::floordiv(extent, width);
    if (ir::is_int(whole, 1)) {
      parts.push_back(lane_loop(body, var, ir::index(0), lanes, {}, updates.lane));
    } else if (!ir::is_int(whole, 0)) {
      const Expr from = ir::mul(piece, width);
      std::vector<Stmt> one = prefetches(loop, lane_dim, from, lanes);
      one.push_back(lane_loop(body, var, from, lanes, {}, updates.lane));
      parts.push_back(ir::for_(piece, ir::index(0), whole, ir::seq(std::move(one))));
    }
    const Expr rest = ir::floormod(extent, width), done = ir::mul(whole, width);
    if (const auto n = ir::as_int(rest)) {
      const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(*n)));
      if (*n == 1) {
        parts.push_back(rewrite(ir::with_fresh_bindings(
            ir::substitute(body, {{var, done}, {updates.lane, ir::index(0)}}))));
      } else if (*n > 1) {
        parts.push_back(
            lane_loop(body, var, done, rounded, rounded == *n ? Expr() : extent, updates.lane));
      }
    } else {
      parts.push_back(
          ir::if_(ir::lt(done, extent), lane_loop(body, var, done, lanes, extent, updates.lane)));
    }
    parts.insert(parts.end(), updates.after.begin(), updates.after.end());
    return ir::seq(std::move(parts));
  }

  // A vectorized loop: as it is where its count and body have a vector form, else in parts of such
  // counts, or as a serial loop.
  Stmt lower_author_vectors(const Stmt& stmt, const ir::For& loop) {
    const auto lo = ir::as_int(loop.lo), hi = ir::as_int(loop.hi);
    const bool fits = lo && hi && ir::is_int(loop.step, 1) && *hi - *lo > 1;
    const char* reason = reason_against_vectors(loop.body, loop.var);
    if (loop.strict && reason != nullptr) {
      throw Error(codes::loop_03, loop.loc, "vectorized: the body has {}, which has no vector form",
                  reason)
          .help("take it out of the loop, or leave strict out for a serial loop");
    }
    if (!fits || reason != nullptr) {
      return ir::for_(loop.var, loop.lo, loop.hi, loop.step, rewrite(loop.body));
    }
    const auto count = static_cast<uint64_t>(*hi - *lo);
    const bool is_legal = *lo == 0 && std::has_single_bit(count) && count <= kMostLanes;
    if (is_legal && !has_private(loop.body)) return stmt;
    return vectors(as_box(loop), 0,
                   std::min(static_cast<int64_t>(std::bit_floor(count)), kMostLanes));
  }

  /// A vectorized loop from 0 on as a box of one dimension.
  static ir::Parallel as_box(const ir::For& loop) {
    ir::Parallel box;
    box.loc = loop.loc;
    box.vars = {Var::make(loop.var.name(), i64, loop.loc)};
    box.extents = {ir::sub(loop.hi, loop.lo)};
    box.body = ir::substitute(loop.body, {{loop.var, ir::add(loop.lo, box.vars[0])}});
    return box;
  }

  static bool has_private(const Stmt& body) {
    bool found = false;
    ir::for_each_stmt(body, [&](const Stmt& s) {
      found = found || s.is<ir::Alloc>() || s.is<ir::ReducerUpdate>();
    });
    return found;
  }

  VectorShape shape_;
};

/// Once its updates are plain, a reducer is an array like others.
class ReducersAsArrays : public ir::Rewriter {
 public:
  using Rewriter::rewrite;
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override {
    const ir::Buffer next = declaration_children(buffer);
    if (buffer.space() != ir::MemSpace::reducer) return next;
    return ir::make<ir::BufferNode>(buffer.loc(), [&](ir::BufferNode& n) {
      n = *next.get();
      n.space = ir::MemSpace::fragment;
    });
  }
};

}  // namespace

ir::Program lower_parallel(const ir::Program& program, const VectorShape& shape) {
  return ReducersAsArrays().rewrite(LowerParallel(shape).rewrite(program));
}

}  // namespace tw::pass
