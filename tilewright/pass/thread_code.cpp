#include "tilewright/pass/thread_code.h"

#include <algorithm>

#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

/// Memory of which each thread may have its own.
bool is_private(const ir::Buffer& buffer) {
  const ir::MemSpace space = buffer.root().space();
  return space == ir::MemSpace::variable || space == ir::MemSpace::local;
}

/// Whether an operand of the statement itself, not of those inside it, has the property.
template <class Has>
bool any_operand(const Stmt& stmt, Has has) {
  bool found = false;
  const auto look = [&]<class V>(auto& self, const V& value) -> void {
    if constexpr (std::is_same_v<V, Expr> || std::is_same_v<V, ir::Buffer>) {
      found = found || (value && has(value));
    } else if constexpr (std::is_same_v<V, ir::Region>) {
      self(self, value.buffer);
      self(self, value.begin);
      self(self, value.extent);
    } else if constexpr (requires { value.begin(); }) {
      if constexpr (!std::is_same_v<V, std::string>) {
        for (const auto& each : value) self(self, each);
      }
    }
  };
  ir::dispatch(*stmt.get(), [&]<class T>(const T& node) {
    if constexpr (std::is_base_of_v<ir::StmtBase, T>) {
      T::visit_fields(node, [&](const char*, const auto& value) { look(look, value); });
    }
  });
  return found;
}

bool has_operations(const Stmt& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const Stmt& s) { found = found || ir::is_thread_operation(s); });
  return found;
}

}  // namespace

ThreadCode::ThreadCode(const Stmt& launch) {
  const auto& node = launch.as<ir::Launch>();
  if (node.thread) vars_.insert(node.thread.get());
  any_ = node.thread || has_operations(node.body);
  if (!any_) return;
  do {  // what a later statement does to a variable counts in the next turn of a loop
    changed_ = false;
    walk(node.body, false);
  } while (changed_);
}

bool ThreadCode::varies(const Expr& expr) const {
  if (!expr || (vars_.empty() && buffers_.empty())) return false;
  return ir::contains(expr, [&](const Expr& e) {
    if (e.is<ir::VarNode>()) return vars_.contains(e.get());
    const auto* load = e.try_as<ir::Load>();
    return load != nullptr && (is_own(load->buffer) || varies(load->buffer));
  });
}
bool ThreadCode::varies(const ir::Buffer& buffer) const {
  const auto any = [&](const std::vector<Expr>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return varies(e); });
  };
  for (ir::Buffer b = buffer; b && b->view_of; b = b->view_of) {
    if (varies(b->offset) || varies(b->peer) || any(b->strides)) return true;
  }
  return buffer && varies(buffer.root()->address);
}

void ThreadCode::mark(const ir::Var& var) {
  if (var) changed_ = vars_.insert(var.get()).second || changed_;
}
void ThreadCode::mark(const ir::Buffer& buffer) {
  if (is_private(buffer)) changed_ = buffers_.insert(buffer.root().get()).second || changed_;
}

/// A loop that only some threads leave, or go on with, is for the rest of its body theirs.
void ThreadCode::jump(bool divergent) {
  if (loops_.empty() || !divergent || loops_.back().divergent) return;
  changed_ = branches_.insert(loops_.back().node).second || changed_;
}

void ThreadCode::walk(const Stmt& stmt, bool divergent) {
  if (!stmt) return;
  if (const auto* seq = stmt.try_as<ir::Seq>()) {
    for (const Stmt& s : seq->stmts) walk(s, divergent);
    return;
  }
  if (divergent) divergent_.insert(stmt.get());
  const bool differs = any_operand(stmt, [&](const auto& operand) { return varies(operand); });
  if (divergent || differs) own_.insert(stmt.get());
  const auto body = [&](const Stmt& inner, bool repeats) {
    if (differs) branches_.insert(stmt.get());
    const bool apart = divergent || branches_.contains(stmt.get());
    if (repeats) loops_.push_back({stmt.get(), divergent});
    walk(inner, apart);
    if (repeats) loops_.pop_back();
  };
  switch (stmt.kind()) {
    case ir::Kind::Let:
      if (differs) mark(stmt.as<ir::Let>().var);
      return;
    case ir::Kind::Alloc:
      if (divergent || differs) mark(stmt.as<ir::Alloc>().buffer);
      return;
    case ir::Kind::Store:
      if (divergent || differs) mark(stmt.as<ir::Store>().buffer);
      if (is_own(stmt.as<ir::Store>().buffer)) own_.insert(stmt.get());
      return;
    case ir::Kind::Atomic:
      if (ir::waits(stmt.as<ir::Atomic>().op)) {
        own_.insert(stmt.get());
        mark(stmt.as<ir::Atomic>().result);
      }
      if (divergent || differs) mark(stmt.as<ir::Atomic>().result);
      return;
    case ir::Kind::WarpOp:
      own_.insert(stmt.get());
      mark(stmt.as<ir::WarpOp>().result);
      return;
    case ir::Kind::Sync:
      own_.insert(stmt.get());
      mark(stmt.as<ir::Sync>().result);
      return;
    case ir::Kind::If:
      body(stmt.as<ir::If>().then_body, false);
      return body(stmt.as<ir::If>().else_body, false);
    case ir::Kind::For:
      if (differs) mark(stmt.as<ir::For>().var);
      return body(stmt.as<ir::For>().body, true);
    case ir::Kind::While:
      return body(stmt.as<ir::While>().body, true);
    case ir::Kind::Break:
    case ir::Kind::Continue:
      return jump(divergent);
    default:
      return;
  }
}

}  // namespace tw::pass
