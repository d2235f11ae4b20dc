// What an author wrote for single threads of a block, among operations of the whole block.
#pragma once

#include <set>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Tells, of a launch in tile or scheduled IR, what may differ between the threads of a block: what
/// comes from the index of the thread, from operations of warps, from atomics of single threads,
/// and what is made of that or under a condition on it.
///
/// A statement is `own` code if an operand differs or only some threads may be at it: each thread
/// executes it as written. All others are done once by the block. Bodies of parallel loops are of
/// the block.
class ThreadCode {
 public:
  explicit ThreadCode(const ir::Stmt& launch);

  /// Whether threads may disagree about the value.
  bool varies(const ir::Expr& expr) const;
  /// Whether a view is another place for each thread.
  bool varies(const ir::Buffer& buffer) const;
  /// Whether each thread executes the statement as written.
  bool is_own(const ir::Stmt& stmt) const { return own_.contains(stmt.get()); }
  /// Whether only some threads may be at it.
  bool is_divergent(const ir::Stmt& stmt) const { return divergent_.contains(stmt.get()); }
  /// Whether it runs so often or so far as each thread for itself says: a condition or a loop.
  bool diverges(const ir::Stmt& stmt) const { return branches_.contains(stmt.get()); }
  /// A variable or local array of which each thread has its own.
  bool is_own(const ir::Buffer& buffer) const { return buffers_.contains(buffer.root().get()); }
  /// Whether there may be any.
  bool any() const { return any_; }

 private:
  void walk(const ir::Stmt& stmt, bool divergent);
  void jump(bool divergent);
  void mark(const ir::Var& var);
  void mark(const ir::Buffer& buffer);

  struct Loop {
    const ir::Node* node;
    bool divergent;  // around it
  };
  std::vector<Loop> loops_;
  bool any_ = false, changed_ = false;
  std::set<const ir::Node*> vars_, buffers_, own_, divergent_, branches_;
};

}  // namespace tw::pass
