// Handles and base classes of IR nodes. A node is immutable data shared by counted handles; its
// kind is a number. ir/nodes.h has the nodes themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "tilewright/base/dtype.h"
#include "tilewright/base/error.h"
#include "tilewright/base/source_loc.h"

namespace tw::ir {

enum class Kind : uint8_t;

/// The most operations that an expression has on top of each other: whoever walks one recurses.
inline constexpr int32_t kMaxHeight = 2000;
/// The most loops and conditions that an author may write inside each other, for the same reason.
/// Passes add some; the parser reads twice as many.
inline constexpr int kMaxNesting = 250;

/// What every node has. `loc` is the author's position; it takes no part in equality or hashes.
struct Node {
  Kind kind;
  SourceLoc loc;

  explicit Node(Kind k) : kind(k) {}
  Node(const Node& other) : kind(other.kind), loc(other.loc) {}
  Node& operator=(const Node&) { return *this; }  // fields of the derived node only
  virtual ~Node() = default;

  mutable std::atomic<uint32_t> references{0};
};

/// Counted pointer to a node of a category (expression, statement, buffer). Null is allowed and is
/// how an absent optional field is written.
template <class Base>
class Handle {
 public:
  Handle() = default;
  explicit Handle(const Base* node) : node_(node) { retain(); }
  Handle(const Handle& other) : node_(other.node_) { retain(); }
  Handle(Handle&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Handle() { release(); }

  explicit operator bool() const { return node_ != nullptr; }
  const Base* get() const { return node_; }
  const Base* operator->() const { return node_; }
  Kind kind() const { return node_->kind; }
  SourceLoc loc() const { return node_ == nullptr ? SourceLoc{} : node_->loc; }

  /// Whether it is a node of type T; false for null.
  template <class T>
  bool is() const {
    return node_ != nullptr && node_->kind == T::kKind;
  }
  /// The node as a T; it must be one.
  template <class T>
  const T& as() const {
    TW_CHECK(is<T>(), "node is no {}", T::kName);
    return static_cast<const T&>(*node_);
  }
  /// The node as a T, or null.
  template <class T>
  const T* try_as() const {
    return is<T>() ? static_cast<const T*>(node_) : nullptr;
  }

  /// Whether both are the very same node. Equality of content is `structurally_equal` (ir/equal.h).
  bool same_as(const Handle& other) const { return node_ == other.node_; }

 private:
  void retain() const {
    if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (node_ != nullptr && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete node_;
  }

  const Base* node_ = nullptr;
};

/// An expression: has a type. `height` is 1 more than that of its highest operand.
struct ExprBase : Node {
  DType dtype;
  int32_t height = 1;
  using Node::Node;
};
/// A statement.
struct StmtBase : Node {
  using Node::Node;
};

class Expr : public Handle<ExprBase> {
 public:
  using Handle::Handle;
  DType dtype() const { return get()->dtype; }
};

class Stmt : public Handle<StmtBase> {
 public:
  using Handle::Handle;
};

/// Orders handles by identity, for maps and sets whose iteration order is never observed.
struct ById {
  template <class H>
  bool operator()(const H& a, const H& b) const {
    return std::less<const void*>()(a.get(), b.get());
  }
};

}  // namespace tw::ir
