// Integer expressions as sums: constant + sum of coefficient * term, where a term is a variable or
// an expression that is no sum itself. What index analysis in every pass starts from.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

struct Linear {
  struct Term {
    ir::Expr expr;
    int64_t coefficient;
  };
  std::vector<Term> terms;  // in order of first occurrence, no coefficient is 0
  int64_t constant = 0;

  /// Reads +, -, and * by constants apart; anything else is a term of its own.
  static Linear of(const ir::Expr& expr);

  bool is_constant() const { return terms.empty(); }
  /// The coefficient of a variable as a plain term; empty if the variable also occurs inside
  /// another term, so that the sum is not linear in it.
  std::optional<int64_t> coefficient_of(const ir::Var& var) const;
  /// The sum without the term of that variable.
  Linear without(const ir::Var& var) const;

  Linear& add(const Linear& other, int64_t factor = 1);
  Linear& add(const ir::Expr& term, int64_t coefficient);
  ir::Expr to_expr(DType dtype = i64) const;
};

/// Whether the variable occurs in the expression.
bool uses(const ir::Expr& expr, const ir::Var& var);
bool uses(const ir::Stmt& stmt, const ir::Var& var);

}  // namespace tw::pass
