// The verifier of IR: what is checked of each node, in one place per kind.
#pragma once

#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/ir/visit.h"

namespace tw::ir {

/// Fields that may be null.
template <class T>
constexpr bool optional(std::string_view field) {
  if (std::is_same_v<T, Atomic>) return field == "value" || field == "compare" || field == "result";
  return field == "rbits" || field == "offset" || field == "address" || field == "safe_value" ||
         field == "l2_persist" || field == "peer" || field == "initial" || field == "else_body" ||
         field == "view_of" || (std::is_same_v<T, Launch> && field == "guard") ||
         (std::is_same_v<T, Launch> && field == "thread") ||
         (std::is_same_v<T, WarpOp> && field == "result") ||
         ((std::is_same_v<T, Barrier> || std::is_same_v<T, Sync> || std::is_same_v<T, AsyncCopy>) &&
          (field == "cond" || field == "result" || field == "value" || field == "valid" ||
           field == "barrier")) ||
         (std::is_same_v<T, Print> && field == "buffer");
}

class Verifier {
 public:
  Verifier(Level level) : level_(level) { scopes_.emplace_back(); }

  void program(const Program& p);
  std::vector<std::string> take() { return std::move(found_); }

 private:
  struct Around {  // what a statement is in
    bool launch = false, parallel = false, breakable = false;
  };

  // ---- reports ----
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    if (holds || found_.size() >= 20) return;
    std::string message = tw::format(text, std::forward<Args>(args)...);
    if (current_) {
      std::string where = print(current_);
      where = where.substr(0, where.find('\n'));
      message = "`" + where.substr(0, 120) + "`: " + message;
    }
    for (const std::string& known : found_) {
      if (known == message) return;
    }
    found_.push_back(std::move(message));
  }

  // ---- names ----
  void define(const Var& var) {
    require(defined_.insert(var.get()).second, "{} is defined a second time", var.name());
    enter(var.get());
  }
  void declare(const Buffer& buffer) {
    require(defined_.insert(buffer.get()).second, "{} is declared a second time", buffer.name());
    fields(*buffer.get());
    declaration(buffer);
    enter(buffer.get());
  }
  void enter(const Node* node) {
    if (visible_.insert(node).second) scopes_.back().push_back(node);
  }
  template <class F>
  void scope(F&& body) {
    scopes_.emplace_back();
    body();
    for (const Node* node : scopes_.back()) visible_.erase(node);
    scopes_.pop_back();
  }
  void use(const Buffer& buffer) {
    require(visible_.contains(buffer.get()), "{} is used outside its scope", buffer.name());
  }

  // ---- expressions ----
  void expr(const Expr& e);
  void check(const VarNode&) {}
  void check(const Const& n);
  void check(const Op& n);
  void converts(DType from, DType to);
  void reduces(ReduceKind kind, DType from, DType to);
  void check(const Cast& n);
  void check(const Load& n);
  void access(const Buffer& buffer, const std::vector<Expr>& indices);
  void integer(const Expr& e, const char* what) {
    require(!e || e.dtype().is_int(), "{} `{}` is {}, must be an integer", what, e,
            e ? e.dtype() : i64);
  }
  void typed(const Expr& e, DType dtype, const char* what) {
    require(!e || e.dtype() == dtype, "{} is {}, must be {}", what, e ? e.dtype() : dtype, dtype);
  }

  // ---- buffers and regions ----
  void declaration(const Buffer& buffer);
  void region(const Region& r);
  /// The extents as numbers, -1 where they are not known; those of 1 left out if `dropping`.
  static std::vector<int64_t> extents(const Region& r, bool dropping);
  void same_extents(std::vector<int64_t> a, std::vector<int64_t> b, const char* what);

  // ---- statements ----
  void statement(const Stmt& stmt);
  void body(const Stmt& stmt, Around around);
  Around within(const For& n) const {
    Around around = around_;
    around.breakable = n.loop != LoopKind::vectorized;
    return around;
  }
  Around within(const Parallel&) const { return {true, true, false}; }
  Around within(const While&) const { return {true, around_.parallel, true}; }
  Around within(const Launch&) const { return {true, false, false}; }
  template <class T>
  Around within(const T&) const {
    return around_;
  }

  template <class T>
  void check(const T&) {}
  void check(const Let& n) { typed(n.value, n.var.dtype(), "the value"); }
  void check(const Alloc& n) {
    require(!n.initial || n.buffer.space() == MemSpace::variable, "only a variable has a value");
    typed(n.initial, n.buffer.dtype(), "the value");
  }
  void check(const Store& n) {
    access(n.buffer, n.indices);
    typed(n.value, n.buffer.dtype(), "the value");
  }
  void check(const For& n);
  void check(const Parallel& n);
  void condition(const Expr& cond) {
    require(!cond || cond.dtype().is_bool() || cond.dtype().is_int(),
            "the condition is {}, must be bool or an integer", cond ? cond.dtype() : bool_);
  }
  void check(const If& n) { condition(n.cond); }
  void check(const While& n) { condition(n.cond); }
  void check(const Break&) { require(around_.breakable, "outside a serial loop"); }
  void check(const Continue&) { require(around_.breakable, "outside a serial loop"); }
  void check(const Copy& n);
  static std::vector<int64_t> extents_of_copy(const Copy& n);
  void check(const Fill& n) { typed(n.value, n.dst.buffer.dtype(), "the value"); }
  void check(const Gemm& n);
  void check(const Reduce& n);
  void check(const Scan& n);
  void reducer(const Buffer& buffer) {
    require(buffer.space() == MemSpace::reducer, "{} is no reducer", buffer.name());
  }
  void check(const ReducerInit& n);
  void check(const ReducerUpdate& n);
  void check(const ReducerFinalize& n);
  void check(const Prefetch& n) { access(n.buffer, n.indices); }
  void check(const Atomic& n);
  void check(const Barrier& n);
  void check(const WarpOp& n);
  void check(const Move& n);
  void phases(const Buffer& barrier, const std::vector<Expr>& at);
  void box(const std::vector<int64_t>& extents, DType dtype, int64_t swizzle);
  void check(const AsyncCopy& n);
  void check(const Sync& n);
  void check(const Assert& n) { condition(n.cond); }
  void check(const Assume& n) { typed(n.cond, bool_, "the condition"); }
  void check(const Launch& n);

  // ---- fields, generically: what is used, then what is defined, then what is inside ----
  template <class T>
  void fields(const T& node) {
    T::visit_fields(node, [&]<class V>(const char* name, const V& value) {
      if constexpr (requires { value.get(); }) {
        complete(value || optional<T>(name), name);
      }
      used(value, std::is_same_v<T, Alloc>);
    });
  }
  void complete(bool present, const char* what) {
    require(present, "{} is missing", what);
    complete_ = complete_ && present;
  }
  void used(const Expr& e, bool) {
    if (e) expr(e);
  }
  void used(const Var&, bool) {}
  void used(const Stmt&, bool) {}
  void used(const Buffer& b, bool declares) {
    if (b && !declares) use(b);
  }
  void used(const Region& r, bool) { region(r); }
  template <class V>
  void used(const std::vector<V>& list, bool declares) {
    if constexpr (requires(const V& v) { v.get(); }) {
      for (const V& v : list) complete(static_cast<bool>(v), "an element of a list");
    }
    for (const auto& v : list) used(v, declares);
  }
  template <class V>
  void used(const V&, bool) {}

  void defined(const Var& var) {
    if (var) define(var);
  }
  void defined(const std::vector<Var>& vars) {
    for (const Var& var : vars) defined(var);
  }
  template <class V>
  void defined(const V&) {}

  Level level_;
  std::vector<std::string> found_;
  Stmt current_;
  bool complete_ = true;  // the fields of the statement are there, so that it can be checked
  Around around_;
  std::set<const Node*> defined_, visible_;
  std::vector<std::vector<const Node*>> scopes_;
};

}  // namespace tw::ir
