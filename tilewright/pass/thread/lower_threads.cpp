#include "tilewright/pass/thread/lower_threads.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/parse.h"
#include "tilewright/layout/query.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/thread/index_layout.h"
#include "tilewright/pass/thread/plan_box.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;
using layout::Fragment;
using layout::Layout;

/// Loops of so many turns are expanded although no registers ask for it, since their loads overlap;
/// unless so many instructions would no longer fit the cache for them.
constexpr int64_t kOverlap = 8, kInstructions = 512;

/// About how many instructions an iteration takes; neighbors share the arithmetic of indices.
int64_t cost_of(const Stmt& body) {
  int64_t cost = 0;
  ir::for_each_stmt(body, [&](const Stmt& s) { cost += s.is<ir::Store>() || s.is<ir::Atomic>(); });
  ir::for_each_expr(body, [&](const Expr& e) {
    cost += e.is<ir::Load>();
    const auto* op = e.try_as<ir::Op>();
    if (op == nullptr || op->args[0].dtype() == i64) return;
    const bool function = op->code >= ir::OpCode::exp && op->code <= ir::OpCode::erfc;
    const bool divides = op->code == ir::OpCode::fdiv || op->code == ir::OpCode::fmod;
    const bool one_step = op->code == ir::OpCode::rcp || op->code == ir::OpCode::rsqrt;
    const bool few_steps = op->code == ir::OpCode::exp || op->code == ir::OpCode::exp2;
    cost += op->exactness == ir::Exactness::fast ? 2
            : one_step                           ? 4
            : few_steps                          ? 9
            : function                           ? 20
            : divides                            ? 16
                                                 : 1;
  });
  return cost;
}

bool is_block_memory(const Buffer& buffer) {
  const ir::MemSpace space = buffer.root().space();
  return is_tensor(buffer.root()) || space == ir::MemSpace::shared ||
         space == ir::MemSpace::shared_static;
}

/// Whether something that other threads could notice happens in it.
bool has_side_effects(const Stmt& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) found |= is_block_memory(store->buffer);
    found |= s.is<ir::Atomic>() || s.is<ir::Print>() || s.is<ir::ReducerUpdate>();
  });
  return found;
}

bool has_load(const Stmt& body) {
  bool found = false;
  ir::for_each_expr(body, [&](const Expr& e) { found = found || e.is<ir::Load>(); });
  return found;
}

class LowerThreads : public ir::Rewriter {
 public:
  /// `conditions` are known to hold.
  LowerThreads(const ir::Program& program, const Stmt& launch, const std::vector<Expr>& conditions,
               VectorNeeds& needs)
      : bounds_(program), needs_(needs), launch_(launch), code_(launch) {
    for (const Expr& condition : conditions) bounds_.assume(condition);
  }
  using Rewriter::rewrite;

  Stmt launch() {
    const auto& n = launch_.as<ir::Launch>();
    threads_ = layout::product(n.threads);
    thread_ = n.thread ? n.thread : Var::make("thread", i64);
    bind_launch(bounds_, n);
    if (!n.thread) bounds_.bind(thread_, ir::index(0), ir::index(threads_));
    const Stmt body = rewrite(n.body);
    return ir::make<ir::Launch>(n.loc, [&](ir::Launch& l) {
      l = n;
      l.thread = thread_;
      l.body = body;
    });
  }

  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    const auto* load = expr.try_as<ir::Load>();
    const auto known = load == nullptr ? registers_.end() : registers_.find(load->buffer);
    if (known == registers_.end()) return children(expr);
    return ir::load(known->second.array, {slot_of(known->second, load->indices)}, true);
  }

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    switch (stmt.kind()) {
      case ir::Kind::Alloc:
        return allocate(stmt, stmt.as<ir::Alloc>());
      case ir::Kind::Let:
        bounds_.bind_value(stmt.as<ir::Let>().var, stmt.as<ir::Let>().value);
        return children(stmt);
      case ir::Kind::Assume:
        bounds_.assume(stmt.as<ir::Assume>().cond);
        return ir::seq({});
      case ir::Kind::If:
        return rewrite_if(bounds_, *this, stmt);
      case ir::Kind::For:
      case ir::Kind::While:
        return loop(stmt);
      case ir::Kind::Parallel:
        return box(stmt.as<ir::Parallel>());
      case ir::Kind::Store: {
        const auto& store = stmt.as<ir::Store>();
        const auto known = registers_.find(store.buffer);
        if (known == registers_.end()) return children(stmt);
        return ir::store(known->second.array, {slot_of(known->second, store.indices)},
                         rewrite(store.value), true);
      }
      case ir::Kind::Reduce: {
        const auto& n = stmt.as<ir::Reduce>();
        return ir::seq({own_part(n), exchange({partial(n)})});
      }
      case ir::Kind::Scan: {
        const auto& n = stmt.as<ir::Scan>();
        const Registers& line = registers_.at(n.dst.buffer);
        if (needs_.remarks != nullptr) {
          needs_.remarks->add(
              {n.loc,
               format("scan {} of {}: {}", ir::enum_name(n.scan), n.dst.buffer.name(),
                      scan_text(line.fragment, n.dim, threads_)),
               {}});
        }
        return scan_block(n, line, thread_, threads_, loops_ > 0);
      }
      case ir::Kind::ReducerInit:
        return init(stmt.as<ir::ReducerInit>());
      case ir::Kind::ReducerUpdate:
        return update(stmt.as<ir::ReducerUpdate>());
      case ir::Kind::ReducerFinalize:
        return finalize(stmt.as<ir::ReducerFinalize>());
      case ir::Kind::Seq: {
        std::vector<Stmt> list;
        sequence(stmt.as<ir::Seq>().stmts, list);
        return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& q) { q.stmts = std::move(list); });
      }
      case ir::Kind::Atomic: {
        const auto& n = stmt.as<ir::Atomic>();
        if (in_box_ || !n.result || code_.is_own(stmt)) return children(stmt);
        std::vector<Stmt> list;
        by_one_thread(n, list);
        return ir::seq(std::move(list));
      }
      case ir::Kind::Print:
      case ir::Kind::Assert:
        if (in_box_ || code_.is_own(stmt)) return children(stmt);
        return ir::if_(is_first_thread(), children(stmt));
      default:
        return children(stmt);
    }
  }

 private:
  void remark(const ir::Reduce& n) const {
    if (needs_.remarks == nullptr) return;
    const Registers &src = registers_.at(n.src.buffer), &dst = registers_.at(n.dst.buffer);
    needs_.remarks->add(
        {n.loc,
         format("{} of {}: {} elements in a thread, {}", ir::enum_name(n.reduce),
                n.src.buffer.name(), src.fragment.slots() / dst.fragment.slots(),
                exchange_text(src.fragment, n.dims, threads_, n.reduce, dst.array.dtype())),
         {}});
  }

  // ---- reductions ----
  Stmt own_part(const ir::Reduce& n) const {
    remark(n);
    return fold_own_part(n, registers_.at(n.src.buffer), registers_.at(n.dst.buffer), thread_);
  }
  PartialFold partial(const ir::Reduce& n) const {
    return partial_fold(n, registers_.at(n.src.buffer), registers_.at(n.dst.buffer));
  }
  Stmt exchange(const std::vector<PartialFold>& folds) const {
    return exchange_parts(folds, thread_, threads_, loops_ > 0);
  }

  /// Buffers in registers that statements of the block read and write.
  struct Touched {
    std::set<Buffer, ir::ById> reads, writes;
    bool meets(const Touched& later) const {
      const auto both = [](const auto& a, const auto& b) {
        return std::any_of(a.begin(), a.end(), [&](const Buffer& x) { return b.contains(x); });
      };
      return both(writes, later.reads) || both(writes, later.writes) || both(reads, later.writes);
    }
  };
  /// None where the statement does anything else too.
  std::optional<Touched> touched(const Stmt& stmt) const {
    if (!stmt.is<ir::Parallel>() && !stmt.is<ir::Reduce>()) return std::nullopt;
    Touched result;
    bool plain = true;
    ir::for_each_expr(stmt, [&](const Expr& e) {
      if (const auto* load = e.try_as<ir::Load>()) result.reads.insert(load->buffer);
    });
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      if (const auto* store = s.try_as<ir::Store>()) result.writes.insert(store->buffer);
      if (const auto* reduce = s.try_as<ir::Reduce>()) {
        result.reads.insert(reduce->src.buffer);
        result.writes.insert(reduce->dst.buffer);
      }
      plain = plain && (s.is<ir::Parallel>() || s.is<ir::Store>() || s.is<ir::Reduce>() ||
                        s.is<ir::Let>() || s.is<ir::Seq>() || s.is<ir::For>() || s.is<ir::If>());
    });
    for (const auto* buffers : {&result.reads, &result.writes}) {
      for (const Buffer& b : *buffers) plain = plain && registers_.contains(b);
    }
    return plain ? std::optional(result) : std::nullopt;
  }

  /// Statements of the block. A thread's own parts of reductions that don't need one another come
  /// first, their exchange behind one barrier, then what needs the results.
  void sequence(const std::vector<Stmt>& stmts, std::vector<Stmt>& out) {
    std::vector<PartialFold> folds;
    Touched results;            // of the folds
    std::vector<Stmt> waiting;  // for the results
    const auto finish = [&] {
      if (folds.empty()) return;
      out.push_back(exchange(std::exchange(folds, {})));
      results = {};
      sequence(std::exchange(waiting, {}), out);
    };
    const auto add = [&](auto& self, const Stmt& s) -> void {
      if (const auto* inner = s.try_as<ir::Seq>()) {
        for (const Stmt& each : inner->stmts) self(self, each);
        return;
      }
      const auto* alloc = s.try_as<ir::Alloc>();
      const bool is_plain_alloc = alloc != nullptr && !alloc->initial && !alloc->buffer->view_of;
      const auto touches = folds.empty() ? std::nullopt : touched(s);
      if (touches && results.meets(*touches)) {
        results.reads.insert(touches->reads.begin(), touches->reads.end());
        results.writes.insert(touches->writes.begin(), touches->writes.end());
        waiting.push_back(s);
        return;
      }
      if (!touches && !is_plain_alloc) finish();
      const auto* atomic = s.try_as<ir::Atomic>();
      if (const auto* reduce = s.try_as<ir::Reduce>()) {
        out.push_back(own_part(*reduce));
        folds.push_back(partial(*reduce));
        results.writes.insert(reduce->dst.buffer);
      } else if (atomic != nullptr && atomic->result && !in_box_ && !code_.is_own(s)) {
        by_one_thread(*atomic, out);
      } else {
        out.push_back(rewrite(s));
      }
    };
    for (const Stmt& s : stmts) add(add, s);
    finish();
  }

  Expr is_first_thread() const { return ir::eq(thread_, ir::index(0)); }

  // ---- memory ----
  Stmt allocate(const Stmt& stmt, const ir::Alloc& n) {
    if (n.buffer.space() == ir::MemSpace::reducer) {
      int64_t count = 1;
      for (int d = 0; d < n.buffer.rank(); ++d) count *= n.buffer.extent(d);
      const Buffer array = ir::make_buffer(n.buffer.name(), n.buffer.dtype(), ir::MemSpace::local,
                                           std::vector<int64_t>{count});
      partial_.emplace(n.buffer, array);
      return ir::alloc(array);
    }
    if (n.layout.empty() || is_block_memory(n.buffer)) return children(stmt);
    const Fragment fragment = layout::parse_fragment(n.layout);
    const Buffer array = ir::make_buffer(n.buffer.name(), n.buffer.dtype(), ir::MemSpace::local,
                                         std::vector<int64_t>{fragment.slots()});
    registers_.emplace(n.buffer, Registers{array, fragment});
    return ir::alloc(array);
  }

  /// The slot of an element in the present thread: by composition of layouts inside a box, where
  /// it then depends on the loop's slot alone, else computed from the indices.
  Expr slot_of(const Registers& held, const std::vector<Expr>& indices) {
    if (in_box_) {
      if (const auto index = index_layout(indices, box_->vars, box_map_->shape())) {
        std::vector<layout::Term> terms = index->terms();
        layout::Coords shape = box_map_->map().shape(), extents = held.fragment.map().shape();
        bool fits = true;
        for (size_t d = 0; d < index->extents().size(); ++d) {
          fits = fits && index->extents()[d] <= extents[d];
        }
        const auto to_element =
            fits ? layout::compose(*box_inverse_, Layout(shape, std::move(terms), extents))
                 : std::nullopt;
        const auto place =
            to_element ? layout::compose(*to_element, held.fragment.map()) : std::nullopt;
        if (place) return coordinate(*place, kSlot, {thread_, box_slot_});
      }
    }
    std::vector<Expr> x;
    for (const Expr& index : indices) x.push_back(rewrite(index));
    x.push_back(ir::index(0));
    return coordinate(held.fragment.map(), kSlot, x);
  }

  // ---- loops of the block ----
  Stmt loop(const Stmt& stmt) {
    const Bounds::Scope scope(bounds_);
    if (const auto* n = stmt.try_as<ir::For>()) {
      const auto step = ir::as_int(n->step);
      if (step && *step > 0) bounds_.bind(n->var, n->lo, n->hi);
    }
    loops_ += in_box_ ? 0 : 1;
    const Stmt next = children(stmt);
    loops_ -= in_box_ ? 0 : 1;
    const auto* n = next.try_as<ir::For>();
    if (n == nullptr || n->loop == ir::LoopKind::serial || n->loop == ir::LoopKind::unrolled) {
      return next;
    }
    return ir::make<ir::For>(next.loc(), [&](ir::For& f) {
      f = *n;
      f.loop = n->loop == ir::LoopKind::vectorized ? ir::LoopKind::unrolled : ir::LoopKind::serial;
      f.stages = 0;
      f.stage = f.order = {};
    });
  }

  // ---- parallel loops ----
  Stmt box(const ir::Parallel& n) {
    const Fragment map = layout::parse_fragment(n.layout);
    const auto inverse = layout::inverse(map.map());
    TW_CHECK(inverse.has_value(), "{} has no inverse", map);
    const int64_t width = vector_of(inverse->layout, n);
    const int64_t turns = map.slots() / width;
    const Var turn = Var::make("s", i64), lane = Var::make("v", i64);
    const Expr first = turns == 1 ? ir::index(0) : ir::mul(turn, ir::index(width));

    const Bounds::Scope scope(bounds_);
    if (turns > 1) bounds_.bind(turn, ir::index(0), ir::index(turns));
    // 1. Where the thread is: the first of its neighbors, one Let per index.
    std::vector<Stmt> stmts;
    std::vector<Expr> at;
    const std::vector<Expr> place{thread_, first};
    Expr guard;
    const auto require = [&](const Expr& condition) {
      if (bounds_.proves(condition)) return;
      guard = guard ? ir::land(guard, condition) : condition;
    };
    if (map.threads() < threads_) require(ir::lt(thread_, ir::index(map.threads())));
    ir::Substitution values;
    for (size_t d = 0; d < n.vars.size(); ++d) {
      const Var base = Var::make(n.vars[d].name(), i64);
      const Expr value = coordinate(inverse->layout, static_cast<int>(d), place);
      stmts.push_back(ir::let(base, value));
      bounds_.bind_value(base, value);
      if (map.shape()[d] > *ir::as_int(n.extents[d])) require(ir::lt(base, n.extents[d]));
      values[n.vars[d]] = base;
    }
    // Its own neighbors lie along one index.
    if (width > 1) {
      values[n.vars[static_cast<size_t>(fast_)]] =
          ir::add(values[n.vars[static_cast<size_t>(fast_)]], lane);
      bounds_.bind(lane, ir::index(0), ir::index(width));
    }
    if (map.replicas() > 1 && has_side_effects(n.body)) {
      const Expr replica = coordinate(inverse->layout, map.rank(), place);
      if (only_side_effects(n.body)) {
        require(ir::eq(replica, ir::index(0)));
      } else {
        first_replica_ = ir::eq(replica, ir::index(0));
      }
    }
    // 2. The body in terms of that.
    const Bounds::Scope inside(bounds_);
    if (guard) bounds_.assume(guard);
    in_box_ = true;
    box_ = &n;
    box_map_ = &map;
    box_inverse_ = &inverse->layout;
    box_slot_ = width > 1 ? ir::add(first, lane) : first;
    Stmt body = rewrite(guarded(n.body));
    in_box_ = false;
    first_replica_ = {};
    body = ir::substitute(body, values);
    body = in_vectors(body, lane, width, n.prefer_async, bounds_, needs_, {n.loc, why_narrow_});
    stmts.push_back(guard ? ir::if_(guard, body) : body);
    // 3. The turns.
    const Stmt one = ir::seq(std::move(stmts));
    if (turns == 1) return ir::make<ir::Seq>(n.loc, [&](ir::Seq& s) { s.stmts = {one}; });
    bool is_edge = false;  // it accesses one by one where some neighbors are outside
    ir::for_each_stmt(body, [&](const Stmt& s) {
      const auto* branch = s.try_as<ir::If>();
      if (branch == nullptr || !branch->else_body) return;
      is_edge = is_edge || has_side_effects(branch->else_body) || has_load(branch->else_body);
    });
    const bool expanded =
        uses_registers(n.body) ||
        (!is_edge && turns <= kOverlap && turns * width * cost_of(n.body) <= kInstructions);
    return ir::make<ir::For>(n.loc, [&](ir::For& f) {
      f.var = turn;
      f.lo = ir::index(0);
      f.hi = ir::index(turns);
      f.step = ir::index(1);
      f.loop = expanded ? ir::LoopKind::unrolled : ir::LoopKind::serial;
      f.body = one;
    });
  }

  /// How many neighbors are lowered together; they lie along index `fast_`.
  int64_t vector_of(const Layout& inverse, const ir::Parallel& n) {
    const Neighbors found = neighbors_of(inverse, n);
    fast_ = found.along;
    if (needs_.remarks != nullptr) {
      const auto d = static_cast<size_t>(fast_);
      why_narrow_ = found.in_layout == 1 ? "a thread has no neighbors along an index"
                    : found.count == n.max_vector
                        ? "max_vector asks for it"
                        : format("a thread has {} of {} neighbors along {}", found.in_layout,
                                 *ir::as_int(n.extents[d]), n.vars[d].name());
    }
    return found.count;
  }
  bool uses_registers(const Stmt& body) const {
    bool found = false;
    const auto look = [&](const Buffer& b) { found |= registers_.contains(b); };
    ir::for_each_stmt(body, [&](const Stmt& s) {
      if (const auto* store = s.try_as<ir::Store>()) look(store->buffer);
    });
    ir::for_each_expr(body, [&](const Expr& e) {
      if (const auto* load = e.try_as<ir::Load>()) look(load->buffer);
    });
    return found;
  }
  /// Whether copies of an iteration have nothing to do: it writes no registers.
  bool only_side_effects(const Stmt& body) const {
    bool registers = false;
    ir::for_each_stmt(body, [&](const Stmt& s) {
      if (const auto* store = s.try_as<ir::Store>())
        registers |= registers_.contains(store->buffer);
    });
    return !registers;
  }
  /// Of several threads that run an iteration, one has the side effects.
  Stmt guarded(const Stmt& body) {
    if (!first_replica_) return body;
    return ir::rewrite(
        body,
        [&](auto&, const ir::Store& s) -> Stmt {
          return is_block_memory(s.buffer) ? ir::if_(first_replica_, Stmt(&s)) : Stmt(&s);
        },
        [&](auto&, const ir::Atomic& s) -> Stmt { return ir::if_(first_replica_, Stmt(&s)); },
        [&](auto&, const ir::Print& s) -> Stmt { return ir::if_(first_replica_, Stmt(&s)); },
        [&](auto&, const ir::ReducerUpdate& s) -> Stmt {
          return ir::if_(first_replica_, Stmt(&s));
        });
  }

  // ---- reducers: each thread has all partial results ----
  Stmt init(const ir::ReducerInit& n) {
    const Buffer array = partial_.at(n.reducer);
    const Var i = Var::make("i", i64);
    const Expr identity = reduce_identity(n.reducer->reduce, array.dtype());
    const Expr start =
        n.initial ? ir::select(is_first_thread(), rewrite(n.initial), identity) : identity;
    return ir::for_(i, ir::index(0), array.shape()[0], ir::store(array, {i}, start, true),
                    ir::LoopKind::unrolled);
  }
  Stmt update(const ir::ReducerUpdate& n) {
    const Buffer array = partial_.at(n.reducer);
    Expr at = ir::index(0);
    for (size_t d = 0; d < n.indices.size(); ++d) {
      at = ir::add(ir::mul(at, n.reducer.shape()[d]), rewrite(n.indices[d]));
    }
    const Expr value = rewrite(n.value);
    return ir::store(
        array, {at},
        fold_step(n.reducer->reduce, n.reducer->propagate_nan, ir::load(array, {at}, true), value),
        true);
  }
  Stmt finalize(const ir::ReducerFinalize& n) {
    const Buffer array = partial_.at(n.reducer);
    const Stmt combine = exchange({{n.reducer->reduce,
                                    n.reducer->propagate_nan,
                                    array,
                                    *ir::as_int(array.shape()[0]),
                                    {},
                                    {},
                                    n.loc}});
    const Registers& result = registers_.at(n.dst.buffer);
    const Var i = Var::make("i", i64);
    return ir::seq(
        {combine, ir::for_(i, ir::index(0), array.shape()[0],
                           ir::store(result.array, {i}, ir::load(array, {i}, true), true),
                           ir::LoopKind::unrolled)});
  }

  /// An atomic of the block whose result all threads get.
  void by_one_thread(const ir::Atomic& n, std::vector<Stmt>& out) {
    const Buffer slot = ir::make_buffer(n.result.name(), n.result.dtype(), ir::MemSpace::shared,
                                        std::vector<int64_t>{1});
    const Var own = Var::make(n.result.name(), n.result.dtype());
    const Stmt atomic = ir::make<ir::Atomic>(n.loc, [&](ir::Atomic& a) {
      a = children(Stmt(&n)).as<ir::Atomic>();
      a.result = own;
    });
    const std::vector<Stmt> stmts{
        ir::alloc(slot),
        ir::if_(is_first_thread(), ir::seq({atomic, ir::store(slot, {ir::index(0)}, own, true)})),
        ir::barrier(n.loc, "the atomic's result is for all threads"),
        ir::let(n.result, ir::load(slot, {ir::index(0)}, true))};
    out.insert(out.end(), stmts.begin(), stmts.end());
    if (loops_ > 0) out.push_back(ir::barrier(n.loc, "the result is replaced in the next turn"));
  }

  Bounds bounds_;
  VectorNeeds& needs_;
  const Stmt launch_;
  const ThreadCode code_;
  Var thread_;
  int64_t threads_ = 0;
  int loops_ = 0;  // of the block around the present statement
  std::map<Buffer, Registers, ir::ById> registers_;
  std::map<Buffer, Buffer, ir::ById> partial_;

  // The box around the present statement.
  bool in_box_ = false;
  const ir::Parallel* box_ = nullptr;
  const Fragment* box_map_ = nullptr;
  const Layout* box_inverse_ = nullptr;
  Expr box_slot_;
  Expr first_replica_;
  int fast_ = 0;
  std::string why_narrow_;
};

Stmt guarded_by(const Stmt& launch, const VectorNeeds& needs) {
  return ir::make<ir::Launch>(launch.loc(), [&](ir::Launch& n) {
    n = launch.as<ir::Launch>();
    n.aligned = needs.aligned;
    for (const Expr& condition : needs.conditions) {
      n.guard = n.guard ? ir::land(n.guard, condition) : condition;
    }
  });
}

/// One launch, or one with vectors and one without.
void lower_launch(const ir::Program& program, const ir::Launch& launch, std::vector<Stmt>& out,
                  Remarks* remarks) {
  Remarks first, second;
  VectorNeeds needs;
  needs.remarks = remarks != nullptr ? &first : nullptr;
  Stmt vectors = LowerThreads(program, Stmt(&launch), {}, needs).launch();
  if (!needs.conditions.empty()) {
    VectorNeeds more;
    more.remarks = remarks != nullptr ? &second : nullptr;
    vectors = LowerThreads(program, Stmt(&launch), needs.conditions, more).launch();
    more.conditions = needs.conditions;
    needs = more;
  }
  if (remarks != nullptr) {
    for (const Remark& remark : needs.remarks->list()) remarks->add(remark);
  }
  if (needs.aligned.empty()) return out.push_back(vectors);
  out.push_back(guarded_by(vectors, needs));
  VectorNeeds none;
  none.allowed = false;
  const Stmt copy = ir::make<ir::Launch>(launch.loc, [&](ir::Launch& n) {
    n = launch;
    ir::Substitution renamed;
    for (ir::Var& var : n.block_vars) {
      const ir::Var fresh = ir::Var::make(var.name(), var.dtype());
      renamed[var] = fresh;
      var = fresh;
    }
    if (n.thread) {
      const ir::Var fresh = ir::Var::make(n.thread.name(), i64);
      renamed[n.thread] = fresh;
      n.thread = fresh;
    }
    n.body = ir::substitute(ir::with_fresh_bindings(n.body), renamed);
  });
  out.push_back(LowerThreads(program, copy, {}, none).launch());
}

}  // namespace

ir::Program lower_threads(const ir::Program& program, Remarks* remarks) {
  ir::Program result = program;
  result.launches.clear();
  for (const Stmt& launch : program.launches) {
    lower_launch(program, launch.as<ir::Launch>(), result.launches, remarks);
  }
  return result;
}

}  // namespace tw::pass
