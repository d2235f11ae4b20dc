// Walking and rewriting IR, generically over the field lists.
#pragma once

#include <functional>
#include <map>
#include <type_traits>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// Calls f(const T&) with the node as its own type.
template <class F>
decltype(auto) dispatch(const Node& node, F&& f) {
  switch (node.kind) {
#define TW_CASE(type) \
  case Kind::type:    \
    return f(static_cast<const type&>(node));
    TW_IR_NODES(TW_CASE)
#undef TW_CASE
  }
  throw_internal("kind", SourceLoc::here(), "unknown node kind");
}

/// Base of analyses: visits every node in program order. Override `visit` of the kinds of interest
/// and call `children` to go on. Views are visited through their uses' buffers only when
/// `visit(Buffer)` asks.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void visit(const Expr& expr) { children(expr); }
  virtual void visit(const Stmt& stmt) { children(stmt); }
  virtual void visit(const Buffer&) {}
  void visit(const Program& program);

 protected:
  void children(const Expr& expr);
  void children(const Stmt& stmt);
  /// Expressions inside a buffer's declaration (shape, strides, offset, ...).
  void children(const Buffer& buffer);
};

/// Calls f on every expression (statement) of a program part, parents before children.
void for_each_expr(const Expr& root, const std::function<void(const Expr&)>& f);
void for_each_expr(const Stmt& root, const std::function<void(const Expr&)>& f);
void for_each_stmt(const Stmt& root, const std::function<void(const Stmt&)>& f);

/// Base of passes: rebuilds what an override changed and returns the very same node where nothing
/// changed. Buffers are rewritten once and remembered, so that all uses agree.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  virtual Expr rewrite(const Expr& expr) { return expr ? children(expr) : expr; }
  virtual Stmt rewrite(const Stmt& stmt) { return stmt ? children(stmt) : stmt; }
  virtual Var rewrite_binding(const Var& var) { return var; }
  Buffer rewrite(const Buffer& buffer);
  Program rewrite(const Program& program);
  Region rewrite(const Region& region);

 protected:
  Expr children(const Expr& expr);
  Stmt children(const Stmt& stmt);
  /// What a buffer's declaration becomes; called once per buffer.
  virtual Buffer rewrite_declaration(const Buffer& buffer);
  Buffer declaration_children(const Buffer& buffer);

 private:
  std::map<Buffer, Buffer, ById> buffers_;
};

/// Rewrites with lambdas `(auto& self, const T& node) -> Expr or Stmt`, one per node type; all
/// other nodes are rebuilt from their rewritten children. `self(handle)` goes on,
/// `self.rebuild(node)` rebuilds.
template <class... Fs>
class LambdaRewriter : public Rewriter {
 public:
  explicit LambdaRewriter(Fs... fs) : fs_{std::move(fs)...} {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& expr) override { return apply(expr); }
  Stmt rewrite(const Stmt& stmt) override { return apply(stmt); }
  template <class H>
  H operator()(const H& handle) {
    return rewrite(handle);
  }
  Expr rebuild(const ExprBase& node) { return children(Expr(&node)); }
  Stmt rebuild(const StmtBase& node) { return children(Stmt(&node)); }

 private:
  struct Overloaded : Fs... {
    using Fs::operator()...;
  };
  template <class H>
  H apply(const H& handle) {
    if (!handle) return handle;
    return dispatch(*handle.get(), [&]<class T>(const T& node) -> H {
      if constexpr (std::is_invocable_r_v<H, Overloaded&, LambdaRewriter&, const T&>) {
        return fs_(*this, node);
      } else {
        return children(handle);
      }
    });
  }
  Overloaded fs_;
};

template <class Root, class... Fs>
Root rewrite(const Root& root, Fs... fs) {
  LambdaRewriter<Fs...> rewriter(std::move(fs)...);
  return rewriter.rewrite(root);
}

/// Replaces variables by expressions.
using Substitution = std::map<Var, Expr, ById>;
Expr substitute(const Expr& expr, const Substitution& values);
Stmt substitute(const Stmt& stmt, const Substitution& values);

/// The same statement with new variables and buffers for all that it binds or allocates, so that a
/// copy can stand beside it: each is defined once in a program.
Stmt with_fresh_bindings(const Stmt& stmt);

/// Whether the expression contains a node for which f is true.
bool contains(const Expr& expr, const std::function<bool(const Expr&)>& f);
/// Whether the expression reads memory.
bool has_load(const Expr& expr);

}  // namespace tw::ir
