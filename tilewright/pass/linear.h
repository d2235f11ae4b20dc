// Integer expressions as sums: constant + sum of coefficient * term, where a term is a variable or
// an expression that is no sum itself. What index analysis in every pass starts from.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Decides which operations are read as parts of a sum.
struct SumReader {
  virtual ~SumReader() = default;
  /// Whether the Op (+, -, *, << of integers) or Cast is what it would be without limits.
  virtual bool opens(const ir::Expr& operation) const = 0;
  /// Whether products of sums are multiplied out. Their terms are products in one fixed order, so
  /// that i * n and n * i are the same term.
  virtual bool distributes() const { return false; }
  /// Whether numbers count modulo 2^64, so that a u64 beyond int64_t is its bit pattern.
  virtual bool wraps() const { return false; }
};

struct Linear {
  struct Term {
    ir::Expr expr;
    int64_t coefficient;
  };
  std::vector<Term> terms;  // in order of first occurrence, no coefficient is 0
  int64_t constant = 0;
  bool overflowed = false;  // some coefficient did not fit; the numbers are those modulo 2^64

  Linear() = default;
  explicit Linear(int64_t value) : constant(value) {}

  /// Reads +, -, negation, and * and << by constants apart; anything else is a term of its own.
  /// Sums of unsigned integers wrap and so are terms too; signed overflow is undefined.
  static Linear of(const ir::Expr& expr);
  /// Reads what the reader opens.
  static Linear of(const ir::Expr& expr, const SumReader& reader);

  bool is_constant() const { return terms.empty(); }
  /// The coefficient of a variable as a plain term; empty if the variable also occurs inside
  /// another term, so that the sum is not linear in it.
  std::optional<int64_t> coefficient_of(const ir::Var& var) const;
  /// The sum without the term of that variable.
  Linear without(const ir::Var& var) const;

  Linear& add(int64_t value);
  Linear& add(const Linear& other, int64_t factor = 1);
  Linear& add(const ir::Expr& term, int64_t coefficient);
  Linear& scale(int64_t factor);
  /// The sum in that type: terms in their order, those with a common coefficient together, the
  /// constant last.
  ir::Expr to_expr(DType dtype = i64, SourceLoc where = {}) const;
};

/// The product of two sums, multiplied out.
Linear product(const Linear& a, const Linear& b);

/// Whether two expressions have the same value: the same operations, up to the order of commutative
/// ones on integers. Never wrong when true; false too where finding out would take long.
bool same_expr(const ir::Expr& a, const ir::Expr& b);
/// The same, in the same order.
bool identical(const ir::Expr& a, const ir::Expr& b);
/// Whether the variable occurs in the expression.
bool uses(const ir::Expr& expr, const ir::Var& var);
bool uses(const ir::Stmt& stmt, const ir::Var& var);

}  // namespace tw::pass
