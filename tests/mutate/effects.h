// What statements do at a point of a launch: whether that is nothing, and what they become by what
// is known there.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/mutate/facts.h"
#include "tilewright/ir/nodes.h"

namespace tw::test {

/// The expressions of a statement itself, without those of statements inside.
std::vector<ir::Expr> expressions(const ir::Stmt& stmt);

class Effects {
 public:
  Effects(const ir::Program& program, const ir::Launch& launch,
          const std::vector<std::string>& conditions)
      : facts_(program, launch, conditions), program_(program), launch_(launch) {}

  Facts& facts() { return facts_; }
  /// What follows a statement in its sequence may count on.
  void learn(const ir::Stmt& s);

  /// Whether the statement has no effect here, if it is executed or left out.
  bool does_nothing(const ir::Stmt& s);
  /// Whether the statement consists of assertions, which are the same for all threads.
  bool only_asserts(const ir::Stmt& s) const;
  /// Whether some thread is certainly let through.
  bool some_thread(const ir::Expr& condition);
  /// The statement with all choices made that are known.
  ir::Stmt chosen(const ir::Stmt& s);

 private:
  ir::Expr chosen(const ir::Expr& e);
  /// Whether an assertion fails, perhaps in another thread, in every run that comes here: then what
  /// is computed doesn't count.
  bool is_doomed();
  /// Whether to evaluate it neither fails nor leaves its tensors.
  bool is_harmless(const ir::Expr& e);
  bool is_inside(const ir::Buffer& b, const std::vector<ir::Expr>& indices);
  /// Whether the element keeps its value: that is stored, or what a fold with nothing makes of it.
  bool keeps(const ir::Store& store);
  /// Whether nobody reads this local element who could see that it is written here.
  bool is_unread(const ir::Buffer& b, const std::vector<ir::Expr>& indices);

  Facts facts_;
  const ir::Program& program_;
  const ir::Launch& launch_;
  std::vector<ir::Expr> asserted_;       // by some thread, on the way here
  std::set<const ir::BufferNode*> own_;  // local arrays of what is looked at
};

}  // namespace tw::test
