#include "tilewright/ir/visit.h"

#include <memory>
#include <set>

namespace tw::ir {
namespace {

/// Calls the visitor on the expressions, statements, buffers and bindings inside one field.
template <class OnExpr, class OnStmt, class OnBuffer>
struct FieldWalk {
  OnExpr on_expr;
  OnStmt on_stmt;
  OnBuffer on_buffer;

  template <class T>
  void operator()(const char*, const T& field) {
    walk(field);
  }
  void walk(const Expr& e) {
    if (e) on_expr(e);
  }
  void walk(const Var&) {}  // a binding, not a use
  void walk(const Stmt& s) {
    if (s) on_stmt(s);
  }
  void walk(const Buffer& b) {
    if (b) on_buffer(b);
  }
  template <class T>
  void walk(const std::vector<T>& list) {
    for (const T& item : list) walk(item);
  }
  template <class T>
  void walk(const T& value) {
    if constexpr (requires { T::visit_fields(value, *this); }) T::visit_fields(value, *this);
  }
};
template <class A, class B, class C>
FieldWalk(A, B, C) -> FieldWalk<A, B, C>;

template <class Root>
void walk_children(const Root& root, auto on_expr, auto on_stmt, auto on_buffer) {
  FieldWalk walk{on_expr, on_stmt, on_buffer};
  dispatch(*root.get(), [&]<class T>(const T& node) { T::visit_fields(node, walk); });
}

/// Replaces what a rewriter changes in the fields of a copied node; tells whether anything changed.
template <class OnExpr, class OnStmt, class OnBuffer, class OnBinding>
struct FieldRewrite {
  OnExpr on_expr;
  OnStmt on_stmt;
  OnBuffer on_buffer;
  OnBinding on_binding;
  bool changed = false;

  template <class T>
  void operator()(const char*, T& field) {
    walk(field);
  }
  template <class H, class F>
  void replace(H& handle, F& f) {
    if (!handle) return;
    H next = f(handle);
    if (next.same_as(handle)) return;
    changed = true;
    handle = std::move(next);
  }
  void walk(Expr& e) { replace(e, on_expr); }
  void walk(Var& v) { replace(v, on_binding); }
  void walk(Stmt& s) { replace(s, on_stmt); }
  void walk(Buffer& b) { replace(b, on_buffer); }
  template <class T>
  void walk(std::vector<T>& list) {
    for (T& item : list) walk(item);
  }
  template <class T>
  void walk(T& value) {
    if constexpr (requires { T::visit_fields(value, *this); }) T::visit_fields(value, *this);
  }
};
template <class A, class B, class C, class D>
FieldRewrite(A, B, C, D) -> FieldRewrite<A, B, C, D>;

}  // namespace

void Visitor::children(const Expr& expr) {
  walk_children(
      expr, [&](const Expr& e) { visit(e); }, [&](const Stmt& s) { visit(s); },
      [&](const Buffer& b) { visit(b); });
}
void Visitor::children(const Stmt& stmt) {
  walk_children(
      stmt, [&](const Expr& e) { visit(e); }, [&](const Stmt& s) { visit(s); },
      [&](const Buffer& b) { visit(b); });
}
void Visitor::children(const Buffer& buffer) {
  walk_children(
      buffer, [&](const Expr& e) { visit(e); }, [&](const Stmt& s) { visit(s); },
      [&](const Buffer& b) { visit(b); });
}
void Visitor::visit(const Program& program) {
  FieldWalk walk{[&](const Expr& e) { visit(e); }, [&](const Stmt& s) { visit(s); },
                 [&](const Buffer& b) { visit(b); }};
  Program::visit_fields(program, walk);
}

namespace {

struct ForEach : Visitor {
  const std::function<void(const Expr&)>* on_expr = nullptr;
  const std::function<void(const Stmt&)>* on_stmt = nullptr;
  using Visitor::visit;
  void visit(const Expr& expr) override {
    if (on_expr != nullptr) {
      (*on_expr)(expr);
      children(expr);
    }
  }
  void visit(const Stmt& stmt) override {
    if (on_stmt != nullptr) (*on_stmt)(stmt);
    children(stmt);
  }
};

}  // namespace

void for_each_expr(const Expr& root, const std::function<void(const Expr&)>& f) {
  ForEach walk;
  walk.on_expr = &f;
  if (root) walk.visit(root);
}
void for_each_expr(const Stmt& root, const std::function<void(const Expr&)>& f) {
  ForEach walk;
  walk.on_expr = &f;
  if (root) walk.visit(root);
}
void for_each_stmt(const Stmt& root, const std::function<void(const Stmt&)>& f) {
  ForEach walk;
  walk.on_stmt = &f;
  if (root) walk.visit(root);
}

namespace {

/// Rebuilds a node from its rewritten children: the same handle if none changed.
template <class H>
H rebuild(const H& handle, auto on_expr, auto on_stmt, auto on_buffer, auto on_binding) {
  if (handle.kind() == Kind::Const || handle.kind() == Kind::VarNode) return handle;
  FieldRewrite fields{on_expr, on_stmt, on_buffer, on_binding};
  return dispatch(*handle.get(), [&]<class T>(const T& node) -> H {
    auto copy = std::make_unique<T>(node);
    T::visit_fields(*copy, fields);
    if (!fields.changed) return handle;
    if constexpr (requires { H(copy.release()); }) {
      return H(copy.release());
    } else {
      throw_internal("category", SourceLoc::here(), "node of another category");
    }
  });
}

}  // namespace

Expr Rewriter::children(const Expr& expr) {
  return rebuild(
      expr, [&](const Expr& e) { return rewrite(e); }, [&](const Stmt& s) { return rewrite(s); },
      [&](const Buffer& b) { return rewrite(b); },
      [&](const Var& v) { return rewrite_binding(v); });
}
Stmt Rewriter::children(const Stmt& stmt) {
  return rebuild(
      stmt, [&](const Expr& e) { return rewrite(e); }, [&](const Stmt& s) { return rewrite(s); },
      [&](const Buffer& b) { return rewrite(b); },
      [&](const Var& v) { return rewrite_binding(v); });
}
Buffer Rewriter::declaration_children(const Buffer& buffer) {
  return rebuild(
      buffer, [&](const Expr& e) { return rewrite(e); }, [&](const Stmt& s) { return rewrite(s); },
      [&](const Buffer& b) { return rewrite(b); },
      [&](const Var& v) { return rewrite_binding(v); });
}
Buffer Rewriter::rewrite_declaration(const Buffer& buffer) { return declaration_children(buffer); }

Buffer Rewriter::rewrite(const Buffer& buffer) {
  if (!buffer) return buffer;
  const auto known = buffers_.find(buffer);
  if (known != buffers_.end()) return known->second;
  Buffer next = rewrite_declaration(buffer);
  buffers_.emplace(buffer, next);
  return next;
}

Program Rewriter::rewrite(const Program& program) {
  Program copy = program;
  FieldRewrite fields{[&](const Expr& e) { return rewrite(e); },
                      [&](const Stmt& s) { return rewrite(s); },
                      [&](const Buffer& b) { return rewrite(b); },
                      [&](const Var& v) { return rewrite_binding(v); }};
  Program::visit_fields(copy, fields);
  return copy;
}
Region Rewriter::rewrite(const Region& region) {
  Region copy = region;
  FieldRewrite fields{[&](const Expr& e) { return rewrite(e); },
                      [&](const Stmt& s) { return rewrite(s); },
                      [&](const Buffer& b) { return rewrite(b); },
                      [&](const Var& v) { return rewrite_binding(v); }};
  Region::visit_fields(copy, fields);
  return copy;
}

namespace {

struct Substitute : Rewriter {
  const Substitution& values;
  explicit Substitute(const Substitution& v) : values(v) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    if (expr.is<VarNode>()) {
      const auto it = values.find(Var::of(expr));
      return it == values.end() ? expr : it->second;
    }
    return children(expr);
  }
};

/// Renames what a statement binds. Uses follow their definition, so one walk in
/// program order suffices.
struct FreshBindings : Rewriter {
  Substitution vars;
  std::set<Buffer, ById> allocated;
  using Rewriter::rewrite;

  Var rewrite_binding(const Var& var) override {
    const Var fresh = Var::make(var.name(), var.dtype(), var.loc());
    vars[var] = fresh;
    return fresh;
  }
  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    if (expr.is<VarNode>()) {
      const auto it = vars.find(Var::of(expr));
      return it == vars.end() ? expr : it->second;
    }
    return children(expr);
  }
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* alloc = stmt.try_as<Alloc>()) allocated.insert(alloc->buffer);
    return children(stmt);
  }
  Buffer rewrite_declaration(const Buffer& buffer) override {
    const Buffer next = declaration_children(buffer);
    if (!next.same_as(buffer) || !allocated.contains(buffer)) return next;
    return Buffer(new BufferNode(*buffer.get()));
  }
};

}  // namespace

Stmt with_fresh_bindings(const Stmt& stmt) { return FreshBindings().rewrite(stmt); }

Expr substitute(const Expr& expr, const Substitution& values) {
  return values.empty() ? expr : Substitute(values).rewrite(expr);
}
Stmt substitute(const Stmt& stmt, const Substitution& values) {
  return values.empty() ? stmt : Substitute(values).rewrite(stmt);
}

bool contains(const Expr& expr, const std::function<bool(const Expr&)>& f) {
  bool found = false;
  for_each_expr(expr, [&](const Expr& e) { found = found || f(e); });
  return found;
}
bool has_load(const Expr& expr) {
  return contains(expr, [](const Expr& e) { return e.is<Load>(); });
}

}  // namespace tw::ir
