#include "tilewright/lang/loops.h"

#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/settle.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

void Body::run(const Site& site, const std::vector<Expr>& indices) const {
  if (arity_ != kAny && arity_ != static_cast<int>(indices.size())) {
    throw Error({}, site.where, "{}: the body takes {} indices, there are {}", site.name, arity_,
                indices.size());
  }
  core_(indices);
}

namespace {

/// Records the body of a loop with the given indices in scope.
ir::Stmt record_body(const Site& site, ScopeKind kind, const std::vector<ir::Var>& vars,
                     const Body& body, bool pipelined = false) {
  Trace& trace = Trace::current(site);
  trace.open(kind, site.where, vars.size());
  trace.scope().pipelined = pipelined;
  std::vector<Expr> indices;
  for (const ir::Var& var : vars) {
    trace.declare(var);
    indices.emplace_back(var);
  }
  const auto epochs = trace.epochs;
  body.run(site, indices);
  trace.check_epochs(epochs, site);
  return trace.close();
}

struct Bounds {
  ir::Expr lo, hi, step;
};

Bounds bounds(const Site& site, const Operand& lo, const Operand& hi, const Operand& step) {
  Trace& trace = Trace::in_launch(site);
  const auto settled = trace.settle(
      site.where,
      {as_index(site, lo.value()), as_index(site, hi.value()), as_index(site, step.value())});
  if (ir::is_int(settled[2], 0)) {
    throw Error(codes::flow_03, site.where, "{}: the step is 0", site.name);
  }
  return {settled[0], settled[1], settled[2]};
}

void record_for(const Site& site, const Bounds& range, ir::LoopKind kind, const Body& body,
                const std::function<void(ir::For&)>& details = nullptr) {
  Trace& trace = Trace::current(site);
  const ir::Var var = ir::Var::make(trace.index_name(), i64, site.where);
  const bool is_pipelined = kind == ir::LoopKind::pipelined;
  const ir::Stmt recorded = record_body(site, ScopeKind::loop, {var}, body, is_pipelined);
  trace.emit(ir::make<ir::For>(site.where, [&](ir::For& n) {
    n.var = var;
    n.lo = range.lo;
    n.hi = range.hi;
    n.step = range.step;
    n.loop = kind;
    n.body = recorded;
    if (details) details(n);
  }));
}

}  // namespace

void serial(const Operand& lo, const Operand& hi, const Operand& step, const Body& body) {
  const Site site{"serial", lo.where()};
  record_for(site, bounds(site, lo, hi, step), ir::LoopKind::serial, body);
}
void serial(const Operand& lo, const Operand& hi, const Body& body) { serial(lo, hi, 1, body); }
void serial(const Operand& n, const Body& body) { serial(Operand(0, n.where()), n, 1, body); }

void unroll(const Operand& lo, const Operand& hi, const UnrollOptions& options, const Body& body) {
  const Site site{"unroll", lo.where()};
  if (options.full == (options.factor != 0)) {
    throw Error(codes::loop_01, site.where, "unroll: {}",
                options.full ? format("full and factor {} are both given", options.factor)
                             : std::string("neither full nor a factor is given"))
        .help("give one of them");
  }
  const Bounds range = bounds(site, lo, hi, 1);
  if (options.full && !ir::as_int(ir::sub(range.hi, range.lo))) {
    throw Error(codes::loop_02, site.where, "unroll: the extent is not known while tracing")
        .help("give a factor, as in unroll(n, 4, body)");
  }
  record_for(site, range, ir::LoopKind::unrolled, body,
             [&](ir::For& n) { n.factor = options.factor; });
}
void unroll(const Operand& n, const Body& body) {
  unroll(Operand(0, n.where()), n, UnrollOptions{.full = true}, body);
}
void unroll(const Operand& n, int64_t factor, const Body& body) {
  unroll(Operand(0, n.where()), n, UnrollOptions{.factor = factor}, body);
}

void vectorized(const Operand& n, const VectorOptions& options, const Body& body) {
  const Site site{"vectorized", n.where()};
  const Bounds range = bounds(site, 0, n, 1);
  if (!ir::as_int(range.hi)) {
    throw Error(codes::loop_02, site.where, "vectorized: the extent is not known while tracing")
        .help("use parallel, or serial");
  }
  record_for(site, range, ir::LoopKind::vectorized, body,
             [&](ir::For& f) { f.strict = options.strict; });
}
void vectorized(const Operand& n, const Body& body) { vectorized(n, VectorOptions{}, body); }

void pipelined(const Operand& n, const PipelineOptions& options, const Body& body) {
  const Site site{"pipelined", n.where()};
  if (Trace::in_launch(site).inside(ScopeKind::parallel)) {
    throw Error(codes::loop_05, site.where, "pipelined: inside a parallel loop")
        .help("use serial there, or put the parallel loop inside");
  }
  Trace& trace = Trace::current(site);
  if (!options.name.empty()) trace.loops.insert(options.name);
  record_for(site, bounds(site, 0, n, 1), ir::LoopKind::pipelined, body, [&](ir::For& f) {
    f.stages = options.stages;
    if (trace.schedule().all_stages != 0) f.stages = trace.schedule().all_stages;
    if (const auto* set = find_setting(trace.schedule().stages, options.name))
      f.stages = set->value;
    f.stage = options.stage;
    f.order = options.order;
    f.name = options.name;
  });
}
void pipelined(const Operand& n, const Body& body) { pipelined(n, PipelineOptions{}, body); }

// ---- parallel ----

namespace {

/// Parallel loops that are perfectly nested are one box: the inner loop joins the outer one, lets
/// of the outer body move inside. Raises E-LOOP-07 for any other nesting.
void merge_nested(const Site& site, ir::Parallel& outer) {
  std::vector<ir::Stmt> stmts = {outer.body};
  if (const auto* seq = outer.body.try_as<ir::Seq>()) stmts = seq->stmts;
  const auto is_parallel = [](const ir::Stmt& s) { return s.is<ir::Parallel>(); };
  if (std::ranges::none_of(stmts, is_parallel)) return;
  const auto* inner = stmts.back().try_as<ir::Parallel>();
  bool perfect = inner != nullptr;
  for (size_t n = 0; n + 1 < stmts.size(); ++n) perfect = perfect && stmts[n].is<ir::Let>();
  if (perfect) {
    for (const ir::Expr& extent : inner->extents) {
      perfect = perfect && !ir::contains(extent, [&](const ir::Expr& e) {
                  return std::ranges::any_of(outer.vars,
                                             [&](const ir::Var& v) { return v.same_as(e); }) ||
                         e.is<ir::Load>();
                });
    }
  }
  if (!perfect) {
    throw Error(codes::loop_07, site.where,
                "parallel: it contains a parallel loop beside other statements, or of an extent "
                "that depends on the outer index")
        .help("write one box, as in parallel({{n, m}}, body), or make the inner loop serial");
  }
  outer.vars.insert(outer.vars.end(), inner->vars.begin(), inner->vars.end());
  outer.extents.insert(outer.extents.end(), inner->extents.begin(), inner->extents.end());
  stmts.back() = inner->body;
  outer.body = ir::seq(std::move(stmts));
}

/// A loop whose extent is not known can't walk along a fragment, whose elements have owners.
void check_fragments(const Site& site, const ir::Parallel& loop) {
  const auto check = [&](const ir::Buffer& buffer, const std::vector<ir::Expr>& indices) {
    if (buffer.space() != ir::MemSpace::fragment) return;
    for (size_t d = 0; d < loop.vars.size(); ++d) {
      if (ir::as_int(loop.extents[d])) continue;
      const auto uses = [&](const ir::Expr& index) {
        return ir::contains(index, [&](const ir::Expr& e) { return e.same_as(loop.vars[d]); });
      };
      if (std::ranges::none_of(indices, uses)) continue;
      throw Error(codes::lay_06, site.where,
                  "parallel: {} is a fragment, but the extent of {} is not known while tracing",
                  buffer.name(), loop.vars[d].name())
          .help("run over the constant extent of the fragment and guard with if_");
    }
  };
  ir::for_each_expr(loop.body, [&](const ir::Expr& e) {
    if (const auto* load = e.try_as<ir::Load>()) check(load->buffer, load->indices);
  });
  ir::for_each_stmt(loop.body, [&](const ir::Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) check(store->buffer, store->indices);
  });
}

}  // namespace

void parallel(const Extents& box, const ParallelOptions& options, const Body& body,
              SourceLoc where) {
  const Site site{"parallel", where};
  Trace& trace = Trace::in_launch(site);
  Scope* const outer = trace.enclosing(ScopeKind::parallel);
  if (outer != nullptr && outer != &trace.scope()) {
    throw Error(codes::loop_07, where, "parallel: inside a loop or condition of a parallel loop")
        .note("the outer parallel loop is at {}", outer->where.text())
        .help("write one box, as in parallel({{n, m}}, body), or make the inner loop serial");
  }
  std::vector<ir::Expr> extents;
  for (const Expr& e : box) extents.push_back(as_index(site, e));
  extents = trace.settle(site.where, extents);
  std::vector<ir::Var> vars;
  for (size_t d = 0; d < box.size(); ++d) {
    vars.push_back(ir::Var::make(trace.index_name(d), i64, where));
  }
  const ir::Stmt recorded = record_body(site, ScopeKind::parallel, vars, body);
  trace.emit(ir::make<ir::Parallel>(where, [&](ir::Parallel& n) {
    n.vars = vars;
    n.extents = extents;
    n.body = recorded;
    n.max_vector = options.max_vector != 0 ? options.max_vector : trace.schedule().max_vector;
    n.layout = options.layout;
    n.prefer_async = options.prefer_async;
    merge_nested(site, n);
    check_fragments(site, n);
  }));
}
void parallel(const Extents& box, const Body& body, SourceLoc where) {
  parallel(box, ParallelOptions{}, body, where);
}

// ---- conditions ----

namespace {

ir::Stmt record_branch(const Site& site, const std::function<void()>& body) {
  Trace& trace = Trace::current(site);
  trace.open(ScopeKind::branch, site.where);
  body();
  return trace.close();
}

/// The loop that a break or continue written here belongs to.
Scope& loop_of(const Site& site) {
  Trace& trace = Trace::in_launch(site);
  for (Scope* s = &trace.scope(); s != nullptr; s = s->parent) {
    if (s->kind == ScopeKind::parallel) {
      throw Error(codes::loop_06, site.where, "{}: it would leave a parallel loop", site.name)
          .note("the parallel loop is at {}", s->where.text())
          .help("guard the rest of the body with if_");
    }
    if (s->is_loop()) return *s;
  }
  throw Error(codes::flow_02, site.where, "{}: outside a loop", site.name);
}

}  // namespace

void if_(const Operand& condition, const std::function<void()>& then_body,
         const std::function<void()>& else_body) {
  const Site site{"if_", condition.where()};
  Trace& trace = Trace::in_launch(site);
  const ir::Expr cond = trace.settle(site.where, as_condition(site, condition.value()));
  const auto before = trace.epochs;
  const ir::Stmt then_stmt = record_branch(site, then_body);
  const auto after_then = std::exchange(trace.epochs, before);
  const ir::Stmt else_stmt = else_body ? record_branch(site, else_body) : ir::Stmt();
  trace.check_epochs(after_then, site);
  trace.emit(ir::make<ir::If>(site.where, [&](ir::If& n) {
    n.cond = cond;
    n.then_body = then_stmt;
    n.else_body = else_stmt;
  }));
}

void while_(const Operand& condition, const std::function<void()>& body) {
  const Site site{"while_", condition.where()};
  Trace& trace = Trace::in_launch(site);
  const ir::Expr cond =
      settle(trace, trace.now(), site.where, {as_condition(site, condition.value())},
             /*share=*/false)[0];
  trace.open(ScopeKind::while_loop, site.where);
  const auto epochs = trace.epochs;
  body();
  trace.check_epochs(epochs, site);
  const bool has_break = trace.scope().has_break;
  const ir::Stmt recorded = trace.close();
  if (ir::is_true(cond) && !has_break) {
    throw Error(codes::flow_01, site.where,
                "while_: the condition is always true and nothing leaves the loop")
        .help("leave it with break_()");
  }
  trace.emit(ir::make<ir::While>(site.where, [&](ir::While& n) {
    n.cond = cond;
    n.body = recorded;
  }));
}

void break_(SourceLoc where) {
  const Site site{"break_", where};
  Scope& loop = loop_of(site);
  if (loop.pipelined) {
    throw Error(codes::pipe_07, where, "break_: it would leave a pipelined loop")
        .help("use serial, or guard the rest of the body with if_");
  }
  loop.has_break = true;
  Trace::current(site).emit(ir::make<ir::Break>(where, [](ir::Break&) {}));
}

void continue_(SourceLoc where) {
  const Site site{"continue_", where};
  if (loop_of(site).pipelined) {
    throw Error(codes::pipe_07, where, "continue_: in a pipelined loop")
        .help("use serial, or guard the rest of the body with if_");
  }
  Trace::current(site).emit(ir::make<ir::Continue>(where, [](ir::Continue&) {}));
}

}  // namespace lang
}  // namespace tw
