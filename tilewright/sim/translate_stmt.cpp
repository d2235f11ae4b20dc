// Statements that are no tile operations: bindings, loops, conditions, element accesses.
#include <algorithm>
#include <set>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/sim/translate.h"

namespace tw::sim {
namespace {

/// Whether the body touches nothing that threads share (then each thread runs all iterations on its
/// own data, language 5.4, which is the serial loop).
struct TouchesShared : ir::Visitor {
  bool found = false;
  using Visitor::visit;
  void visit(const ir::Buffer& buffer) override {
    const ir::MemSpace space = buffer.root().space();
    found = found || (space != ir::MemSpace::local && space != ir::MemSpace::variable);
  }
};

/// The one statement that a loop body consists of, if it is a parallel loop.
const ir::Parallel* nested_parallel(const ir::Stmt& body) {
  if (const auto* seq = body.try_as<ir::Seq>()) {
    return seq->stmts.size() == 1 ? nested_parallel(seq->stmts[0]) : nullptr;
  }
  return body.try_as<ir::Parallel>();
}

}  // namespace

Exec Translator::stmt(const ir::Stmt& s) {
  if (!s) return [](Machine&) { return Flow::next; };
  switch (s.kind()) {
    case ir::Kind::Seq:
      return sequence(s.as<ir::Seq>());
    case ir::Kind::Let: {
      const auto& let = s.as<ir::Let>();
      return [value = expr(let.value), n = slot(let.var)](Machine& m) {
        m.vars[n] = value(m);
        return Flow::next;
      };
    }
    case ir::Kind::Alloc:
      return alloc(s.as<ir::Alloc>());
    case ir::Kind::Store:
      return store(s.as<ir::Store>());
    case ir::Kind::For:
      return serial_loop(s.as<ir::For>());
    case ir::Kind::Parallel:
      return parallel(s.as<ir::Parallel>());
    case ir::Kind::If:
      return branch(s.as<ir::If>());
    case ir::Kind::While:
      return while_loop(s.as<ir::While>());
    case ir::Kind::Break:
      return [](Machine&) { return Flow::break_loop; };
    case ir::Kind::Continue:
      return [](Machine&) { return Flow::continue_loop; };
    case ir::Kind::Copy:
      return copy(s.as<ir::Copy>());
    case ir::Kind::Fill:
      return fill(s.as<ir::Fill>());
    case ir::Kind::Gemm:
      return gemm(s.as<ir::Gemm>());
    case ir::Kind::Reduce:
      return reduce(s.as<ir::Reduce>());
    case ir::Kind::Scan:
      return scan(s.as<ir::Scan>());
    case ir::Kind::ReducerInit:
      return reducer_init(s.as<ir::ReducerInit>());
    case ir::Kind::ReducerUpdate:
      return reducer_update(s.as<ir::ReducerUpdate>());
    case ir::Kind::ReducerFinalize:
      return reducer_finalize(s.as<ir::ReducerFinalize>());
    case ir::Kind::Sync:  // between launches, which run one after the other
    case ir::Kind::Prefetch:
      return [](Machine&) { return Flow::next; };
    case ir::Kind::Atomic:
      return atomic(s.as<ir::Atomic>());
    case ir::Kind::Print:
      return print(s.as<ir::Print>());
    case ir::Kind::Assert: {
      const auto& a = s.as<ir::Assert>();
      return check(a.cond, s.loc(), a.message, a.values, false);
    }
    case ir::Kind::Assume:
      return check(s.as<ir::Assume>().cond, s.loc(), "", {}, true);
    default:
      throw_internal("kind", SourceLoc::here(), "no statement of a block");
  }
}

Exec Translator::sequence(const ir::Seq& seq) {
  std::vector<Exec> stmts;
  for (const ir::Stmt& s : seq.stmts) stmts.push_back(stmt(s));
  return [stmts](Machine& m) {
    for (const Exec& s : stmts) {
      if (const Flow flow = s(m); flow != Flow::next) return flow;
    }
    return Flow::next;
  };
}

Exec Translator::alloc(const ir::Alloc& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  const Exec bind = bind_view(buffer);
  if (buffer->view_of || buffer->address) return bind;
  const Exec make = make_storage(buffer);
  if (!alloc.initial) {
    return [make, bind](Machine& m) {
      make(m);
      return bind(m);
    };
  }
  return [make, bind, initial = expr(alloc.initial), n = static_cast<size_t>(view(buffer)),
          width = buffer.dtype().bits()](Machine& m) {
    const Bits value = initial(m);
    make(m);
    m.views[n].storage->write(0, width, value);
    return bind(m);
  };
}

Exec Translator::store(const ir::Store& store) {
  return [place = place(store.buffer, store.loc, store.unchecked),
          indices = integers(store.indices), value = expr(store.value)](Machine& m) {
    const Index index = evaluate_index(indices, m);
    m.store(*place, index, value(m));
    return Flow::next;
  };
}

Exec Translator::serial_loop(const ir::For& loop) {
  const size_t var = slot(loop.var);
  const DType dtype = loop.var.dtype();
  return [=, key = &loop, where = loop.loc, lo = integer(loop.lo), hi = integer(loop.hi),
          step = integer(loop.step), body = stmt(loop.body)](Machine& m) {
    const auto end = static_cast<int64_t>(hi(m)), stride = static_cast<int64_t>(step(m));
    if (stride == 0) {
      m.report(FindingKind::loop_step, key, where, [] { return "the loop's step is 0"; });
      return Flow::stop;
    }
    for (auto i = static_cast<int64_t>(lo(m)); stride > 0 ? i < end : i > end; i += stride) {
      if (!m.step(key, where)) return Flow::stop;
      m.vars[var] = encode(i, dtype);
      const Flow flow = body(m);
      if (flow == Flow::stop) return flow;
      if (flow == Flow::break_loop) break;
    }
    return Flow::next;
  };
}

Exec Translator::parallel(const ir::Parallel& outer) {
  // Perfectly nested loops are one box (language 5.4).
  std::vector<ir::Var> vars = outer.vars;
  std::vector<ir::Expr> extents = outer.extents;
  ir::Stmt body = outer.body;
  while (const ir::Parallel* inner = nested_parallel(body)) {
    const auto uses_outer = [&](const ir::Expr& extent) {
      return ir::contains(extent, [&](const ir::Expr& e) {
        return std::any_of(vars.begin(), vars.end(),
                           [&](const ir::Var& v) { return v.same_as(e); });
      });
    };
    if (std::any_of(inner->extents.begin(), inner->extents.end(), uses_outer)) break;
    vars.insert(vars.end(), inner->vars.begin(), inner->vars.end());
    extents.insert(extents.end(), inner->extents.begin(), inner->extents.end());
    body = inner->body;
  }
  TouchesShared shared;
  shared.visit(body);
  std::vector<size_t> slots;
  std::vector<DType> dtypes;
  for (const ir::Var& var : vars) {
    slots.push_back(slot(var));
    dtypes.push_back(var.dtype());
  }
  return [=, key = &outer, where = outer.loc, box = integers(extents), run = stmt(body),
          watch = shared.found](Machine& m) {
    const Flow flow = m.for_each(evaluate(box, m), watch && !m.in_parallel(), [&](const Index& at) {
      if (!m.step(key, where)) return Flow::stop;
      for (size_t dim = 0; dim < slots.size(); ++dim) {
        m.vars[slots[dim]] = encode(at[dim], dtypes[dim]);
      }
      return run(m);
    });
    return flow;
  };
}

Exec Translator::branch(const ir::If& branch) {
  return [cond = expr(branch.cond), then_body = stmt(branch.then_body),
          else_body = stmt(branch.else_body)](Machine& m) {
    return cond(m) != 0 ? then_body(m) : else_body(m);
  };
}

Exec Translator::while_loop(const ir::While& loop) {
  return
      [key = &loop, where = loop.loc, cond = expr(loop.cond), body = stmt(loop.body)](Machine& m) {
        while (cond(m) != 0) {
          if (!m.step(key, where)) return Flow::stop;
          const Flow flow = body(m);
          if (flow == Flow::stop) return flow;
          if (flow == Flow::break_loop) break;
        }
        return Flow::next;
      };
}

Exec Translator::atomic(const ir::Atomic& atomic) {
  using ir::AtomicOp;
  const DType dtype = atomic.buffer.dtype();
  const Eval value = atomic.value ? expr(atomic.value) : Eval();
  const Eval compare = atomic.compare ? expr(atomic.compare) : Eval();
  const ElementFn combine = atomic_function(atomic.op, dtype);
  TW_CHECK(combine != nullptr, "atomic {} of {}", ir::enum_name(atomic.op), dtype);
  const bool bound = static_cast<bool>(atomic.result);
  return [=, place = place(atomic.buffer, atomic.loc, false), indices = integers(atomic.indices),
          reads = atomic.op != AtomicOp::store,
          result = bound ? slot(atomic.result) : size_t{0}](Machine& m) {
    const Index index = evaluate_index(indices, m);
    const Bits operand = value ? value(m) : 0, expected = compare ? compare(m) : 0;
    const Bits old = m.exchange(*place, index, reads,
                                [&](Bits before) { return combine(before, operand, expected); });
    if (bound) m.vars[result] = old;
    return Flow::next;
  };
}

Exec Translator::print(const ir::Print& print) {
  std::vector<Eval> values;
  std::vector<DType> dtypes;
  for (const ir::Expr& value : print.values) {
    values.push_back(expr(value));
    dtypes.push_back(value.dtype());
  }
  const auto line = [message = print.message, values, dtypes](Machine& m) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < values.size(); ++i) {
      texts.push_back(value_text(values[i](m), dtypes[i]));
    }
    return fill_in(message, texts);
  };
  if (!print.buffer) {
    return [line](Machine& m) {
      m.result.printed.push_back(line(m));
      return Flow::next;
    };
  }
  return [line, place = place(print.buffer, print.loc, false)](Machine& m) {
    std::string head = line(m);
    if (!head.empty()) m.result.printed.push_back(std::move(head));
    const View& view = m.views[static_cast<size_t>(place->view)];
    const std::vector<int64_t> shape = view.extents();
    for (int64_t n = 0; n < points_in(shape); ++n) {
      const Index index = point_of(n, shape);
      m.result.printed.push_back(element_text(place->name, index, view.rank) + " = " +
                                 value_text(m.load(*place, index), view.dtype));
    }
    return Flow::next;
  };
}

Exec Translator::check(const ir::Expr& cond, SourceLoc where, const std::string& message,
                       const std::vector<ir::Expr>& values, bool assumed) {
  std::vector<std::pair<Eval, DType>> shown;
  for (const ir::Expr& value : values) shown.emplace_back(expr(value), value.dtype());
  return [=, key = cond.get(), holds = expr(cond)](Machine& m) {
    if (holds(m) != 0) return Flow::next;
    const FindingKind kind = assumed ? FindingKind::false_assumption : FindingKind::failed_assert;
    m.report(kind, key, where, [&] {
      std::vector<std::string> texts;
      for (const auto& [value, dtype] : shown) texts.push_back(value_text(value(m), dtype));
      return fill_in(assumed ? "the assumed condition is false" : message, texts);
    });
    return assumed ? Flow::next : Flow::stop;
  };
}

}  // namespace tw::sim
