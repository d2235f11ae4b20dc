#include "tilewright/pass/thread/lower_block_ops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tilewright/ir/build.h"
#include "tilewright/ir/bulk.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;

/// Iterations of a symbolic loop that are in flight at once.
constexpr int64_t kStrip = 1024;

Stmt parallel(SourceLoc where, std::vector<Var> vars, std::vector<Expr> extents, Stmt body) {
  if (vars.empty()) return body;
  return ir::make<ir::Parallel>(where, [&](ir::Parallel& n) {
    n.vars = std::move(vars);
    n.extents = std::move(extents);
    n.body = std::move(body);
  });
}

/// A statement of one element as a box of one iteration, so that one thread makes it.
Stmt in_one_iteration(const Stmt& stmt) {
  return parallel(stmt.loc(), {Var::make("i", i64)}, {ir::index(1)}, stmt);
}

/// Element (at...) of a region.
std::vector<Expr> inside(const ir::Region& region, const std::vector<Expr>& at) {
  std::vector<Expr> index = region.begin;
  for (size_t d = 0; d < index.size(); ++d) index[d] = ir::add(index[d], at[d]);
  return index;
}

// ---- multiplies -------------------------------------------------------------------------------

/// One loop over the elements of c, the products of each in order of k.
Stmt lower_gemm_by_fma(const ir::Gemm& n) {
  const Var m = Var::make("m", i64), column = Var::make("n", i64), k = Var::make("k", i64);
  const DType dtype = n.c.buffer.dtype();
  const auto element = [&](const ir::Region& region, Expr row, Expr col, bool transposed) {
    if (transposed) std::swap(row, col);
    std::vector<Expr> at(region.begin.size(), ir::index(0));
    at.end()[-2] = row;
    at.end()[-1] = col;
    return ir::load(region.buffer, inside(region, at), region.unchecked);
  };
  const std::vector<Expr> c_index = [&] {
    std::vector<Expr> at(n.c.begin.size(), ir::index(0));
    at.end()[-2] = m;
    at.end()[-1] = column;
    return inside(n.c, at);
  }();
  const Expr depth = n.trans_a ? n.a.extent.end()[-2] : n.a.extent.end()[-1];
  const ir::Buffer sum =
      ir::make_buffer("sum", dtype, ir::MemSpace::variable, std::vector<int64_t>{});
  const Expr old = ir::load(n.c.buffer, c_index, n.c.unchecked);
  const Expr start = ir::is_true(n.clear) ? ir::zero(dtype)
                     : ir::is_false(n.clear)
                         ? old
                         : ir::op(ir::OpCode::if_else, dtype, {n.clear, ir::zero(dtype), old});
  const Expr product = ir::op(ir::OpCode::mul, dtype,
                              {ir::cast(dtype, element(n.a, m, k, n.trans_a)),
                               ir::cast(dtype, element(n.b, k, column, n.trans_b))});
  const Stmt step =
      ir::store(sum, {}, ir::op(ir::OpCode::add, dtype, {ir::load(sum, {}), product}));
  return parallel(n.loc, {m, column}, {n.c.extent.end()[-2], n.c.extent.end()[-1]},
                  ir::seq({ir::alloc(sum, start), ir::for_(k, ir::index(0), depth, step),
                           ir::store(n.c.buffer, c_index, ir::load(sum, {}), n.c.unchecked)}));
}

// ---- reductions and scans ---------------------------------------------------------------------

bool is_whole_fragment(const ir::Region& region) {
  const ir::Buffer& buffer = region.buffer;
  if (buffer.space() != ir::MemSpace::fragment || buffer->view_of) return false;
  for (size_t d = 0; d < region.begin.size(); ++d) {
    const auto begin = ir::as_int(region.begin[d]), extent = ir::as_int(region.extent[d]);
    if (begin != 0 || !extent || extent != ir::as_int(buffer.shape()[d])) return false;
  }
  return true;
}

/// A loop over a box; the body is made for its indices.
template <class Body>
Stmt over(SourceLoc where, const std::vector<Expr>& extents, const Body& body) {
  std::vector<Var> vars;
  std::vector<Expr> at;
  for (size_t d = 0; d < extents.size(); ++d) {
    vars.push_back(Var::make(std::string(1, static_cast<char>('i' + d % 8)), i64));
    at.push_back(vars.back());
  }
  return parallel(where, vars, extents, body(at));
}

/// A fragment with the elements of a region.
ir::Buffer staged(const ir::Region& region, DType dtype, SourceLoc where,
                  std::vector<Stmt>& stmts) {
  const ir::Buffer buffer =
      ir::make_buffer(region.buffer.name(), dtype, ir::MemSpace::fragment, region.extent);
  stmts.push_back(ir::alloc(buffer));
  stmts.push_back(over(where, region.extent, [&](const std::vector<Expr>& at) {
    const Expr element = ir::load(region.buffer, inside(region, at), region.unchecked);
    return ir::store(buffer, at, ir::cast(dtype, element));
  }));
  return buffer;
}

/// A scan of a whole fragment in place, in the type in which it accumulates.
Stmt stage_scan(const ir::Scan& n) {
  std::vector<Stmt> stmts;
  const DType dtype = ir::accumulator_type(n.dst.buffer.dtype());
  const bool in_place = n.src.buffer.same_as(n.dst.buffer) && is_whole_fragment(n.src) &&
                        is_whole_fragment(n.dst) && n.dst.buffer.dtype() == dtype;
  const ir::Buffer line = in_place ? n.dst.buffer : staged(n.src, dtype, n.loc, stmts);
  stmts.push_back(ir::make<ir::Scan>(n.loc, [&](ir::Scan& s) {
    s = n;
    s.src = s.dst = ir::Region::whole(line);
  }));
  if (!in_place) {
    stmts.push_back(over(n.loc, n.dst.extent, [&](const std::vector<Expr>& at) {
      return ir::store(n.dst.buffer, inside(n.dst, at),
                       ir::cast(n.dst.buffer.dtype(), ir::load(line, at)), n.dst.unchecked);
    }));
  }
  return ir::make<ir::Seq>(n.loc, [&](ir::Seq& s) { s.stmts = std::move(stmts); });
}

Stmt stage_reduce(const ir::Reduce& n) {
  const size_t rank = n.src.extent.size();
  std::vector<Stmt> stmts;
  // 1. The source as a whole fragment.
  const ir::Region src = is_whole_fragment(n.src)
                             ? n.src
                             : ir::Region::whole(staged(n.src, n.src.buffer.dtype(), n.loc, stmts));
  // 2. The fold, every dimension kept with extent 1.
  const bool logical = n.reduce == ir::ReduceKind::any || n.reduce == ir::ReduceKind::all;
  // The largest of some numbers is one of them: nothing is gained by a wider type.
  const DType dtype = n.dst.buffer.dtype();
  const bool low = n.low_precision || (ir::is_extremum(n.reduce) && n.src.buffer.dtype() == dtype);
  const DType sum_type = logical ? bool_ : ir::accumulator_type(dtype, low);
  std::vector<Expr> folded = n.src.extent;
  for (const int64_t d : n.dims) folded[static_cast<size_t>(d)] = ir::index(1);
  const ir::Buffer total = ir::make_buffer(std::string(ir::enum_name(n.reduce)), sum_type,
                                           ir::MemSpace::fragment, folded);
  stmts.push_back(ir::alloc(total));
  stmts.push_back(ir::make<ir::Reduce>(n.loc, [&](ir::Reduce& r) {
    r = n;
    r.src = src;
    r.dst = ir::Region::whole(total);
    r.clear = true;
  }));
  // 3. Into the destination.
  std::vector<Var> vars;
  std::vector<Expr> extents, from(rank, ir::index(0)), to = n.dst.begin;
  const bool keeps_dims = to.size() == rank;
  for (size_t d = 0, kept = 0; d < rank; ++d) {
    if (std::find(n.dims.begin(), n.dims.end(), static_cast<int64_t>(d)) != n.dims.end()) continue;
    const size_t place = keeps_dims ? d : kept;
    ++kept;
    if (ir::is_int(n.src.extent[d], 1) || place >= to.size()) continue;
    vars.push_back(Var::make(std::string(1, static_cast<char>('i' + d % 8)), i64));
    extents.push_back(n.src.extent[d]);
    from[d] = vars.back();
    to[place] = ir::add(to[place], vars.back());
  }
  Expr value = ir::load(total, from);
  if (!n.clear) {
    const Expr old = ir::load(n.dst.buffer, to, n.dst.unchecked);
    value = reduce_step(n.reduce, n.propagate_nan,
                        logical ? reduce_element(n.reduce, bool_, old) : ir::cast(sum_type, old),
                        value);
  }
  if (vars.empty()) {  // one element: a box of one iteration
    vars.push_back(Var::make("i", i64));
    extents.push_back(ir::index(1));
  }
  stmts.push_back(parallel(
      n.loc, vars, extents,
      ir::store(n.dst.buffer, to, ir::cast(n.dst.buffer.dtype(), value), n.dst.unchecked)));
  return ir::make<ir::Seq>(n.loc, [&](ir::Seq& s) { s.stmts = std::move(stmts); });
}

// ---- reducers ---------------------------------------------------------------------------------

/// Finalizes into a fragment, from there into the destination.
Stmt stage_finalize(const ir::ReducerFinalize& n) {
  const ir::Buffer total = ir::make_buffer(n.reducer.name(), n.reducer.dtype(),
                                           ir::MemSpace::fragment, n.reducer.shape());
  std::vector<Var> vars;
  std::vector<Expr> extents, from(n.reducer.shape().size(), ir::index(0)), to = n.dst.begin;
  const std::vector<size_t> dims = ir::iterated_dims(n.dst);
  size_t next = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (ir::is_int(n.reducer.shape()[d], 1)) continue;
    vars.push_back(Var::make(std::string(1, static_cast<char>('i' + d % 8)), i64));
    extents.push_back(n.reducer.shape()[d]);
    from[d] = vars.back();
    if (next < dims.size()) to[dims[next]] = ir::add(to[dims[next]], vars.back());
    ++next;
  }
  const Expr value = ir::cast(n.dst.buffer.dtype(), ir::load(total, from));
  const Stmt store = ir::store(n.dst.buffer, to, value, n.dst.unchecked);
  return ir::make<ir::Seq>(n.loc, [&](ir::Seq& s) {
    s.stmts = {ir::alloc(total),
               ir::make<ir::ReducerFinalize>(n.loc,
                                             [&](ir::ReducerFinalize& f) {
                                               f.reducer = n.reducer;
                                               f.dst = ir::Region::whole(total);
                                             }),
               vars.empty() ? in_one_iteration(store) : parallel(n.loc, vars, extents, store)};
  });
}

// ---- symbolic loops ---------------------------------------------------------------------------

/// An extent min(rest, most), taken apart.
struct Limited {
  Expr rest;
  int64_t most;
};
std::optional<Limited> limited(const Expr& extent) {
  const auto* op = extent.try_as<ir::Op>();
  if (op == nullptr || op->code != ir::OpCode::min) return std::nullopt;
  for (const size_t i : {0, 1}) {
    if (const auto most = ir::as_int(op->args[i])) return Limited{op->args[1 - i], *most};
  }
  return std::nullopt;
}

/// A loop of at most `most` iterations: without guards where it has them all.
Stmt whole_or_guarded(const ir::Parallel& n, const Stmt& body, size_t d, const Limited& extent) {
  const auto loop = [&](const Stmt& inner) {
    return ir::make<ir::Parallel>(n.loc, [&](ir::Parallel& p) {
      p = n;
      p.extents[d] = ir::index(extent.most);
      p.body = inner;
    });
  };
  const Stmt part = loop(ir::if_(ir::lt(n.vars[d], extent.rest), body));
  return ir::if_(ir::le(ir::index(extent.most), extent.rest), loop(body),
                 ir::with_fresh_bindings(part));
}

/// The innermost symbolic dimension runs in strips of constant extent, those around it serially.
Stmt strip_mine(const ir::Parallel& n, const Stmt& body) {
  std::vector<size_t> symbolic;
  for (size_t d = 0; d < n.extents.size(); ++d) {
    if (!ir::as_int(n.extents[d])) symbolic.push_back(d);
  }
  if (symbolic.empty()) {
    if (body.same_as(n.body)) return Stmt(&n);
    return ir::make<ir::Parallel>(n.loc, [&](ir::Parallel& p) {
      p = n;
      p.body = body;
    });
  }
  const size_t inner = symbolic.back();
  const auto extent = limited(n.extents[inner]);
  if (extent && extent->most > 0 && symbolic.size() == 1) {
    return whole_or_guarded(n, body, inner, *extent);
  }
  const Var strip = Var::make("strip", i64), lane = Var::make(n.vars[inner].name(), i64);
  const Expr index = ir::add(ir::mul(strip, ir::index(kStrip)), lane);
  std::vector<Var> vars = n.vars;
  std::vector<Expr> extents = n.extents;
  vars[inner] = lane;
  extents[inner] = ir::index(kStrip);
  for (size_t i = 0; i + 1 < symbolic.size(); ++i) {
    vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(symbolic[i] - i));
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(symbolic[i] - i));
  }
  Stmt loop = ir::make<ir::Parallel>(n.loc, [&](ir::Parallel& p) {
    p = n;
    p.vars = vars;
    p.extents = extents;
    p.body =
        ir::if_(ir::lt(index, n.extents[inner]), ir::substitute(body, {{n.vars[inner], index}}));
  });
  loop = ir::for_(strip, ir::index(0), ir::cdiv(n.extents[inner], ir::index(kStrip)), loop);
  for (size_t i = symbolic.size() - 1; i-- > 0;) {
    loop = ir::for_(n.vars[symbolic[i]], ir::index(0), n.extents[symbolic[i]], loop);
  }
  return loop;
}

/// Perfectly nested loops as one box (language 5.4).
Stmt merged(const Stmt& stmt) {
  const auto& outer = stmt.as<ir::Parallel>();
  Stmt body = outer.body;
  while (const auto* seq = body.try_as<ir::Seq>()) {
    if (seq->stmts.size() != 1) return stmt;
    body = seq->stmts[0];
  }
  if (!body.is<ir::Parallel>()) return stmt;
  const Stmt inner = merged(body);
  return ir::make<ir::Parallel>(stmt.loc(), [&](ir::Parallel& n) {
    n = inner.as<ir::Parallel>();
    n.vars.insert(n.vars.begin(), outer.vars.begin(), outer.vars.end());
    n.extents.insert(n.extents.begin(), outer.extents.begin(), outer.extents.end());
    if (outer.max_vector != 0) n.max_vector = outer.max_vector;
  });
}

/// Views count the elements of a buffer without gaps, so its rows get none.
class DropPadding : public ir::Rewriter {
 public:
  explicit DropPadding(const ir::Program& program) {
    for (const Stmt& launch : program.launches) {
      ir::for_each_stmt(launch, [&](const Stmt& s) {
        const auto* alloc = s.try_as<ir::Alloc>();
        if (alloc != nullptr && alloc->buffer->view_of) viewed_.insert(alloc->buffer.root());
      });
    }
  }
  using Rewriter::rewrite;

 protected:
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override {
    const ir::Buffer next = declaration_children(buffer);
    if (next->padding == 0 || !viewed_.contains(buffer)) return next;
    return ir::make<ir::BufferNode>(buffer.loc(), [&](ir::BufferNode& n) {
      n = *next.get();
      n.padding = 0;
    });
  }

 private:
  std::set<ir::Buffer, ir::ById> viewed_;
};

class LowerBlockOps : public ir::Rewriter {
 public:
  explicit LowerBlockOps(Remarks* remarks) : remarks_(remarks) {}
  using Rewriter::rewrite;
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    switch (stmt.kind()) {
      case ir::Kind::Copy:
        return rewrite(lower_copy(stmt.as<ir::Copy>()));
      case ir::Kind::Fill:
        return rewrite(lower_fill(stmt.as<ir::Fill>()));
      case ir::Kind::Gemm:
        remark(stmt,
               format("gemm: multiply-adds of {}, an element of c by one thread",
                      stmt.as<ir::Gemm>().c.buffer.dtype()),
               "tensor cores have no lowering yet");
        return lower_gemm_by_fma(stmt.as<ir::Gemm>());
      case ir::Kind::Scan:
        return stage_scan(stmt.as<ir::Scan>());
      case ir::Kind::Reduce:
        return stage_reduce(stmt.as<ir::Reduce>());
      case ir::Kind::ReducerFinalize:
        return stage_finalize(stmt.as<ir::ReducerFinalize>());
      case ir::Kind::Parallel: {
        const bool outside = std::exchange(in_box_, true);
        const Stmt whole = waits_ ? in_order(merged(stmt)) : merged(stmt);
        const auto& loop = whole.as<ir::Parallel>();
        const Stmt body = rewrite(loop.body);
        in_box_ = outside;
        return strip_mine(loop, body);
      }
      case ir::Kind::Launch:
        return launch(stmt);
      case ir::Kind::AsyncCopy:
        return async(stmt, stmt.as<ir::AsyncCopy>());
      case ir::Kind::Store:
        if (in_box_ || stmt.as<ir::Store>().buffer.space() == ir::MemSpace::variable) return stmt;
        return is_own(stmt) ? stmt : in_one_iteration(stmt);
      case ir::Kind::ReducerUpdate:
        return in_box_ || is_own(stmt) ? stmt : in_one_iteration(stmt);
      case ir::Kind::Atomic:
        if (in_box_ || is_own(stmt)) return stmt;
        return stmt.as<ir::Atomic>().result ? stmt : in_one_iteration(stmt);
      default:
        return children(stmt);
    }
  }

 private:
  Stmt launch(const Stmt& stmt) {
    const ThreadCode code(stmt);
    code_ = &code;
    thread_ = stmt.as<ir::Launch>().thread;
    Stmt result = children(stmt);
    code_ = nullptr;
    if (thread_.same_as(result.as<ir::Launch>().thread)) return result;
    return ir::make<ir::Launch>(stmt.loc(), [&](ir::Launch& n) {
      n = result.as<ir::Launch>();
      n.thread = thread_;
    });
  }

  // ---- asynchronous copies ----
  Stmt async(const Stmt& stmt, const ir::AsyncCopy& n) {
    if (n.engine == ir::CopyEngine::elements) return is_own(stmt) ? stmt : by_all_threads(n);
    const Stmt start = in_parts(n);
    if (code_ == nullptr || code_->is_divergent(stmt)) return start;
    if (!thread_) thread_ = Var::make("thread", i64);
    return ir::if_(ir::eq(thread_, ir::index(0)), start);
  }
  Stmt by_all_threads(const ir::AsyncCopy& n) {
    const Stmt copy = lower_copy(ir::make<ir::Copy>(n.loc, [&](ir::Copy& c) {
                                   c.src = n.src;
                                   c.dst = n.dst;
                                 }).as<ir::Copy>());
    const Stmt loop = copy.is<ir::Parallel>() ? copy : in_one_iteration(copy);
    waits_ = false;
    const Stmt result = rewrite(ir::make<ir::Parallel>(n.loc, [&](ir::Parallel& p) {
      p = loop.as<ir::Parallel>();
      p.prefer_async = true;
    }));
    waits_ = true;
    return result;
  }
  /// A loop is over when it ends, whatever moves its elements: nobody would wait for an engine.
  static Stmt in_order(const Stmt& loop) {
    if (!loop.as<ir::Parallel>().prefer_async) return loop;
    return ir::make<ir::Parallel>(loop.loc(), [&](ir::Parallel& p) {
      p = loop.as<ir::Parallel>();
      p.prefer_async = false;
    });
  }
  /// The bytes, announced where a barrier counts them, then the copies: boxes of at most 256
  /// elements a dimension, or row by row.
  static Stmt in_parts(const ir::AsyncCopy& n) {
    const bool tensor = n.engine == ir::CopyEngine::tensor, loads = bool(n.barrier);
    const ir::Region& far = loads ? n.src : n.dst;
    std::vector<int64_t> parts(far.extent.size(), 1);
    parts.back() = *ir::as_int(far.extent.back());
    if (tensor) parts = ir::parts_of_box(far);
    std::vector<Var> vars;
    std::vector<Expr> counts, steps, sizes;
    int64_t bytes = far.buffer.dtype().bits();
    for (const size_t d : ir::iterated_dims(far)) {
      const int64_t extent = *ir::as_int(far.extent[d]);
      bytes *= extent;
      vars.push_back(Var::make("part", i64));
      counts.push_back(ir::index(extent / parts[d]));
      sizes.push_back(ir::index(parts[d]));
      steps.push_back(ir::mul(vars.back(), ir::index(parts[d])));
    }
    const auto part_of = [&](const ir::Region& whole) {
      ir::Region part = whole;
      size_t next = 0;
      for (const size_t d : ir::iterated_dims(whole)) {
        part.begin[d] = ir::add(part.begin[d], steps[next]);
        part.extent[d] = sizes[next++];
      }
      return part;
    };
    Stmt copies = ir::make<ir::AsyncCopy>(n.loc, [&](ir::AsyncCopy& c) {
      c = n;
      c.src = part_of(n.src);
      c.dst = part_of(n.dst);
    });
    for (size_t i = vars.size(); i-- > 0;) {
      copies = ir::for_(vars[i], ir::index(0), counts[i], copies);
    }
    if (!loads) return copies;
    const Stmt expect = ir::make<ir::Sync>(n.loc, [&](ir::Sync& s) {
      s.code = ir::SyncCode::phase_arrive_expect;
      s.barrier = n.barrier;
      s.at = n.at;
      s.value = ir::index(bytes / 8);
    });
    return ir::seq({expect, copies});
  }

  void remark(const Stmt& stmt, std::string what, std::string why) const {
    if (remarks_ != nullptr) remarks_->add({stmt.loc(), std::move(what), std::move(why)});
  }

  bool is_own(const Stmt& stmt) const { return code_ != nullptr && code_->is_own(stmt); }

  Remarks* remarks_;
  bool in_box_ = false;
  bool waits_ = true;                 // a loop for what it copies
  const ThreadCode* code_ = nullptr;  // of the launch
  Var thread_;
};

}  // namespace

ir::Program lower_block_ops(const ir::Program& program, Remarks* remarks) {
  return LowerBlockOps(remarks).rewrite(DropPadding(program).rewrite(program));
}

}  // namespace tw::pass
