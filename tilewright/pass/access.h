// Which elements of which buffers a program touches, statement by statement: what the static checks
// are built on.
#pragma once

#include <functional>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/bounds.h"

namespace tw::pass {

/// One use of elements of a buffer.
struct Access {
  enum class Kind { read, write };
  Kind kind;
  ir::Buffer buffer;
  std::vector<ir::Expr> begin, extent;  // a box; an element has extents of 1
  bool atomic = false;                  // by an atomic, or an update of a reducer
  bool unchecked = false;               // the author says that it is inside
  ir::Expr when;  // of a load in a lazy operand: the condition under which it is made; else null
  ir::Stmt by;
  SourceLoc where;
};

/// Calls f for what the statement itself touches, not for statements inside it: reads first.
void for_each_access(const ir::Stmt& stmt, const std::function<void(const Access&)>& f);

/// `t[i, 0 :+ 4]`, `sum`.
std::string to_text(const Access& access);
/// The statement in one line, for notes: `copy X[0 :+ 4] -> t`.
std::string first_line(const ir::Stmt& stmt);
/// `t is f32[8, 4] fragment`.
std::string described(const ir::Buffer& buffer);

/// Elements from lo to hi, both inclusive.
struct Box {
  std::vector<int64_t> lo, hi;
};

/// Walks a program in order and calls `on_access` for every access, with what is known about
/// variables there.
class AccessWalk {
 public:
  virtual ~AccessWalk() = default;
  void run(const ir::Program& program);

 protected:
  struct Loop {
    ir::Stmt stmt;  // For, Parallel or While
    std::vector<ir::Var> vars;
    bool constant;   // each index runs through every integer between constants, at least one
    int conditions;  // conditions_ in its body
  };

  virtual void on_access(const Access& access) = 0;
  /// Before the accesses of a statement; the bodies follow.
  virtual void on_stmt(const ir::Stmt&) {}
  /// Around the body of a loop; it is in loops_ then.
  virtual void on_loop(const ir::Stmt&, bool /*begins*/) {}

  /// A box that contains every element that the access can touch; block buffers are cut to their
  /// shape only if `clip`.
  Box box(const Access& access, bool clip) const;
  /// Whether the access touches every element of its box, whenever the outermost of the loops on
  /// whose indices it depends runs.
  bool touches_all(const Access& access) const;

  std::vector<Loop> loops_;  // around the present statement, outermost first
  int conditions_ = 0;       // of an if, or of loops that may not run, around it
  Bounds bounds_;

 private:
  void walk(const ir::Stmt& stmt);
  void body(const ir::Stmt& loop, std::vector<ir::Var> vars, bool constant, const ir::Stmt& stmt);
};

}  // namespace tw::pass
