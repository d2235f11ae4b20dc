// Functions that make nodes. They fold constants and drop neutral elements, so that passes can
// write index arithmetic plainly; everything else is for `simplify` (pass/simplify.h).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

[[noreturn]] void too_high(SourceLoc where);

/// Sets the height of a node from its operands. An Error above kMaxHeight.
template <class T>
void measure(T& node) {
  int32_t height = 1;
  T::visit_fields(node, [&]<class V>(const char*, const V& value) {
    const auto above = [&](const Expr& e) { height = std::max(height, e ? e->height + 1 : 1); };
    if constexpr (std::is_same_v<V, Expr>) above(value);
    if constexpr (std::is_same_v<V, std::vector<Expr>>)
      std::for_each(value.begin(), value.end(), above);
  });
  node.height = height;
  if (height > kMaxHeight) too_high(node.loc);
}

/// Finishes a new node: `make<For>(where, [&](For& n) { n.var = i; ... })`.
template <class T, class Fill>
auto make(SourceLoc where, Fill&& fill) {
  auto* node = new T();
  node->loc = where;
  if constexpr (std::is_base_of_v<ExprBase, T>) {
    Expr handle(node);
    fill(*node);
    measure(*node);
    return handle;
  } else if constexpr (std::is_base_of_v<StmtBase, T>) {
    Stmt handle(node);
    fill(*node);
    return handle;
  } else {
    Buffer handle(node);
    fill(*node);
    return handle;
  }
}

// ---- literals ----
/// An integer (or bool) literal, wrapped to the type's width.
Expr int_const(DType dtype, int64_t value, SourceLoc where = {});
/// A float literal, rounded to the type.
Expr float_const(DType dtype, double value, SourceLoc where = {});
/// A literal of any type.
Expr literal(DType dtype, double value, SourceLoc where = {});
/// An index: i64.
Expr index(int64_t value);
Expr bool_const(bool value);
Expr zero(DType dtype);
std::optional<int64_t> as_int(const Expr& expr);
bool is_int(const Expr& expr, int64_t value);
bool is_true(const Expr& expr);
bool is_false(const Expr& expr);

// ---- operations ----
/// An operation as it is, with the result type of `dtype` (bool for compare, logic and test).
Expr op(OpCode code, DType dtype, std::vector<Expr> args, SourceLoc where = {});
/// Index arithmetic on operands of one integer type; folds.
Expr add(const Expr& a, const Expr& b);
Expr sub(const Expr& a, const Expr& b);
Expr mul(const Expr& a, const Expr& b);
Expr floordiv(const Expr& a, const Expr& b);
Expr floormod(const Expr& a, const Expr& b);
Expr cdiv(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr lt(const Expr& a, const Expr& b);
Expr le(const Expr& a, const Expr& b);
Expr eq(const Expr& a, const Expr& b);
Expr land(const Expr& a, const Expr& b);
Expr lor(const Expr& a, const Expr& b);
Expr lnot(const Expr& a);
Expr select(const Expr& cond, const Expr& a, const Expr& b);
/// The value converted with the default cast; itself if it has the type.
Expr cast(DType dtype, const Expr& value);

// ---- memory ----
Buffer make_buffer(std::string name, DType dtype, MemSpace space, std::vector<Expr> shape);
Buffer make_buffer(std::string name, DType dtype, MemSpace space,
                   const std::vector<int64_t>& shape);
Expr load(const Buffer& buffer, std::vector<Expr> indices, bool unchecked = false);
Stmt store(const Buffer& buffer, std::vector<Expr> indices, Expr value, bool unchecked = false);
/// Strides in elements: those declared, or row-major with the padding of rows.
std::vector<Expr> strides_of(const Buffer& buffer);

/// The dimensions of a region that a tile operation iterates: those whose extent is not 1.
std::vector<size_t> iterated_dims(const Region& region);

// ---- statements ----
/// A sequence; nested sequences without bindings are flattened, a single statement stays itself.
Stmt seq(std::vector<Stmt> stmts);
Stmt let(const Var& var, const Expr& value);
Stmt alloc(const Buffer& buffer, Expr initial = {}, std::string layout = {});
Stmt for_(const Var& var, const Expr& lo, const Expr& hi, Stmt body,
          LoopKind kind = LoopKind::serial);
Stmt for_(const Var& var, const Expr& lo, const Expr& hi, const Expr& step, Stmt body,
          LoopKind kind = LoopKind::serial);
Stmt if_(const Expr& cond, Stmt then_body, Stmt else_body = {});
/// All threads of the block wait for each other; the reason is for the reader of the code.
Stmt barrier(SourceLoc where, std::string reason);
Stmt sync(SourceLoc where, SyncCode code);
bool is_empty(const Stmt& stmt);

}  // namespace tw::ir
