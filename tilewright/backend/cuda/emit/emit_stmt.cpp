// Statements: sequences, bindings, loops, branches.
#include <algorithm>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {

void Emitter::stmt(const ir::Stmt& s) {
  if (!s) return;
  if (const auto* seq = s.try_as<ir::Seq>()) {
    for (const ir::Stmt& inner : seq->stmts) stmt(inner);
    return;
  }
  if (s.loc().known()) next_ = s.loc();
  count_uses(s);
  memo_.back().clear();
  switch (s.kind()) {
    case ir::Kind::Let:
      return let(s.as<ir::Let>());
    case ir::Kind::Alloc:
      return alloc(s.as<ir::Alloc>());
    case ir::Kind::Store:
      return store(s.as<ir::Store>());
    case ir::Kind::Move:
      return move(s.as<ir::Move>());
    case ir::Kind::For:
      return loop(s.as<ir::For>());
    case ir::Kind::While:
      return while_loop(s.as<ir::While>());
    case ir::Kind::If:
      return branch(s.as<ir::If>());
    case ir::Kind::Break:
      return line("break;");
    case ir::Kind::Continue:
      return line("continue;");
    case ir::Kind::Prefetch:
      return prefetch(s.as<ir::Prefetch>());
    case ir::Kind::Atomic:
      return atomic(s.as<ir::Atomic>());
    case ir::Kind::Barrier:
      return barrier(s.as<ir::Barrier>());
    case ir::Kind::WarpOp:
      return warp(s.as<ir::WarpOp>());
    case ir::Kind::AsyncCopy:
      return async(s.as<ir::AsyncCopy>());
    case ir::Kind::Sync:
      return sync(s.as<ir::Sync>());
    case ir::Kind::Print:
      return print(s.as<ir::Print>());
    case ir::Kind::Assert:
      return check(s.as<ir::Assert>());
    case ir::Kind::Assume:
      return assume(s.as<ir::Assume>());
    default:
      throw Error(codes::tgt_03, s.loc(), "{}: this statement has no lowering on cuda",
                  ir::dispatch(*s.get(), [](const auto& node) { return node.kName; }));
  }
}

void Emitter::body(const ir::Stmt& s) {
  indented([&] { stmt(s); });
}

/// How often the statement itself, without what is inside, mentions each expression.
void Emitter::count_uses(const ir::Stmt& s) {
  uses_.clear();
  const auto visit = [&](auto& self, const ir::Expr& e) -> void {
    if (!e || e.is<ir::Const>() || e.is<ir::VarNode>() || ++uses_[e] > 1) return;
    ir::dispatch(*e.get(), [&]<class T>(const T& node) {
      T::visit_fields(node, [&]<class V>(const char*, const V& field) {
        if constexpr (std::is_same_v<V, ir::Expr>) self(self, field);
        if constexpr (std::is_same_v<V, std::vector<ir::Expr>>) {
          for (const ir::Expr& operand : field) self(self, operand);
        }
      });
    });
  };
  ir::dispatch(*s.get(), [&]<class T>(const T& node) {
    T::visit_fields(node, [&]<class V>(const char*, const V& field) {
      if constexpr (std::is_same_v<V, ir::Expr>) visit(visit, field);
      if constexpr (std::is_same_v<V, std::vector<ir::Expr>>) {
        for (const ir::Expr& e : field) visit(visit, e);
      }
    });
  });
}

void Emitter::let(const ir::Let& let) {
  const Text v = initial(let.value);
  vars_[let.var] = names_.make(let.var.name());
  line(format("const {} {} = {};", to_text(let.var.dtype()), vars_[let.var], v.s));
}

void Emitter::assume(const ir::Assume& assume) {
  if (ir::has_load(assume.cond)) return;
  line(format("__builtin_assume({});", value(assume.cond).s));
}

// ---- loops and branches

namespace {

/// The local array that a statement accesses at a place that depends on `var`, if it does.
bool depends_on(const std::vector<ir::Expr>& indices, const ir::Var& var) {
  return std::any_of(indices.begin(), indices.end(), [&](const ir::Expr& index) {
    return ir::contains(index, [&](const ir::Expr& e) { return e.same_as(var); });
  });
}

bool is_local(const ir::Buffer& buffer) {
  const ir::MemSpace space = buffer.root().space();
  return space == ir::MemSpace::local || space == ir::MemSpace::fragment;
}

}  // namespace

/// Whether the loop's variable chooses an element of a local array: such arrays are registers only
/// where every index is known, so that the compiler should unroll.
bool Emitter::indexes_local(const ir::For& loop) const {
  bool found = false;
  ir::for_each_stmt(loop.body, [&](const ir::Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) {
      found = found || (is_local(store->buffer) && depends_on(store->indices, loop.var));
    }
    if (const auto* move = s.try_as<ir::Move>()) {
      found = found || (is_local(move->src) && depends_on(move->src_indices, loop.var)) ||
              (is_local(move->dst) && depends_on(move->dst_indices, loop.var));
    }
  });
  ir::for_each_expr(loop.body, [&](const ir::Expr& e) {
    const auto* load = e.try_as<ir::Load>();
    found =
        found || (load != nullptr && is_local(load->buffer) && depends_on(load->indices, loop.var));
  });
  return found;
}

void Emitter::loop(const ir::For& loop) {
  if (goes_in_pairs(loop)) return loop_of_pairs(loop);
  const Text lo = initial(loop.lo);
  // The bounds are evaluated once.
  const Text hi =
      ir::as_int(loop.hi) ? initial(loop.hi) : named(loop.hi, (loop.var.name() + "_end").c_str());
  const auto constant_step = ir::as_int(loop.step);
  const Text step =
      constant_step ? initial(loop.step) : named(loop.step, (loop.var.name() + "_step").c_str());
  const bool down = constant_step && *constant_step < 0;
  const std::string i = vars_[loop.var] = names_.make(loop.var.name());
  const std::string next = constant_step == 1    ? "++" + i
                           : constant_step == -1 ? "--" + i
                                                 : format("{} += {}", i, step.s);
  if (loop.loop == ir::LoopKind::unrolled) {
    line(loop.factor > 0 ? format("#pragma unroll {}", loop.factor) : "#pragma unroll");
  } else if (!indexes_local(loop)) {
    line("#pragma unroll 1");
  }
  line(format("for ({} {} = {}; {} {} {}; {}) {{", to_text(loop.var.dtype()), i, lo.s, i,
              down ? ">" : "<", hi.in(kLess + 1), next));
  body(loop.body);
  line("}");
}

void Emitter::while_loop(const ir::While& loop) {
  std::string cond;
  const std::string before = captured([&] { indented([&] { cond = value(loop.cond).s; }); });
  if (before.empty()) {
    line(format("while ({}) {{", cond));
  } else {  // evaluated anew before each iteration
    line("for (;;) {");
    out_ += before;
    indented([&] { line(format("if (!({})) break;", cond)); });
  }
  body(loop.body);
  line("}");
}

void Emitter::branch(const ir::If& branch) {
  line(format("if ({}) {{", value(branch.cond).s));
  body(branch.then_body);
  if (branch.else_body && !ir::is_empty(branch.else_body)) {
    line("} else {");
    body(branch.else_body);
  }
  line("}");
}

}  // namespace tw::cuda
