// What is known about the values of variables at a point of a program, and proofs from it.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/linear.h"

namespace tw::pass {

/// Ranges of variables, from symbols' facts, grids and loops. Passes bind a variable when they
/// enter its scope; a later binding of the same variable replaces the former.
class Bounds {
 public:
  Bounds() = default;
  /// The facts of the program's symbols.
  explicit Bounds(const ir::Program& program);

  /// lo <= var < hi. An empty handle is no bound.
  void bind(const ir::Var& var, const ir::Expr& lo, const ir::Expr& hi);
  /// var == value, of a Let.
  void bind_value(const ir::Var& var, const ir::Expr& value);
  /// Takes what it can from a condition that holds from here on.
  void assume(const ir::Expr& condition);

  /// Whether the condition certainly holds; false means "not known".
  bool proves(const ir::Expr& condition) const;
  /// Whether a <= b certainly holds.
  bool proves_le(const ir::Expr& a, const ir::Expr& b) const;

 private:
  struct Range {
    ir::Var var;
    std::optional<Linear> lo, hi;  // inclusive
  };
  const Range* find(const ir::Expr& var) const;
  bool proves_not_negative(const Linear& sum, int depth) const;

  std::vector<Range> ranges_;
  std::vector<Linear> facts_;  // each is >= 0
};

}  // namespace tw::pass
