// Simplifies expressions; the part of `simplify` (simplify.h) that knows no statements.
#pragma once

#include <unordered_map>

#include "tilewright/pass/bounds.h"
#include "tilewright/pass/rules.h"

namespace tw::pass {

/// Simplifies expressions under bounds that its user changes. Results are remembered by node.
class ExprSimplifier : private Maker {
 public:
  explicit ExprSimplifier(Bounds bounds) : bounds(std::move(bounds)) {}

  ir::Expr simplify(const ir::Expr& expr);
  /// From here on the variable is that (simplified) expression.
  void substitute(const ir::Var& var, const ir::Expr& value);
  /// From here on the variable has that (simplified) value, but stays where it is used unless its
  /// value makes things simpler.
  void name(const ir::Var& var, const ir::Expr& value) { named_[var.get()] = value; }
  /// What is remembered may no longer hold, or could be better: facts were taken back or came.
  void forget() { known_.clear(); }

  Bounds bounds;

 protected:
  /// What becomes of a buffer that is loaded from.
  virtual ir::Buffer buffer(const ir::Buffer& b) { return b; }

 private:
  struct Known {
    ir::Expr expr, result;  // `expr` keeps the key alive
  };
  ir::Expr compute(const ir::Expr& expr);
  ir::Expr load(const ir::Expr& expr);
  ir::Expr cast(const ir::Expr& expr);
  ir::Expr operation(const ir::Expr& expr);
  ir::Expr under(const ir::Expr& condition, bool holds, const ir::Expr& expr);
  ir::Expr make(ir::OpCode code, DType dtype, std::vector<ir::Expr> args,
                const ir::Expr& instead_of) override;

  // An operation on simplified operands.
  ir::Expr finish(const ir::Expr& expr);
  ir::Expr finish_division(const ir::Expr& expr);
  ir::Expr finish_comparison(const ir::Expr& expr);
  ir::Expr without_common_terms(const ir::Expr& comparison);

  // Sums of integers, in their own (wrapping) arithmetic.
  ir::Expr sum(const ir::Expr& expr);
  void collect(const ir::Expr& expr, int64_t factor, Linear& sum, int& steps);
  void combine_terms(Linear& sum, DType dtype);

  std::unordered_map<const ir::ExprBase*, Known> known_;
  std::unordered_map<const ir::ExprBase*, ir::Expr> values_;  // of substituted variables
  std::unordered_map<const ir::ExprBase*, ir::Expr> named_;
  int depth_ = 0;   // of rules
  int guards_ = 0;  // conditions that hold here and not outside
};

}  // namespace tw::pass
