// Random element expressions: every operation on every type, and never an undefined result.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/fuzz/random.h"
#include "tilewright/ir/build.h"

namespace tw::fuzz {

/// A value that expressions may use: a variable, or an element of a buffer in scope.
struct Leaf {
  DType dtype;
  std::function<ir::Expr()> make;
};

/// The functions of floats that programs call: all, or only those whose bits the language fixes.
enum class Functions : uint8_t { all, exact };

/// What the language leaves open is avoided where it would show: signed arithmetic stays in range
/// or goes through unsigned types, divisors aren't 0, shift counts are below the width, and neither
/// the sign of a NaN nor that of the zero that min and max choose can reach a result.
class Expressions {
 public:
  Expressions(Random& random, Functions functions) : random_(random), functions_(functions) {}

  /// In scope at present; whoever opens a scope truncates them at its end.
  std::vector<Leaf> leaves;
  std::vector<ir::Expr> indices;  // i64, of small magnitude

  ir::Expr value(DType dtype, int depth);
  ir::Expr condition(int depth) { return value(bool_, depth); }
  /// An i64 of small magnitude, possibly negative.
  ir::Expr index(int depth);
  /// An index in [0, extent).
  ir::Expr index_within(int64_t extent, int depth);
  /// A number whose sums and products are exact: an integer of at most 4 (1 if `tiny`) in
  /// magnitude. For folds with min and max see `positive_zero`.
  ir::Expr small_number(DType dtype, int depth, bool tiny = false);
  /// A finite number of at most 4 in magnitude with all its digits, for sums that may round.
  ir::Expr moderate_number(DType dtype, int depth);
  /// The value with +0 for any zero.
  ir::Expr positive_zero(const ir::Expr& value);
  ir::Expr constant(DType dtype);

 private:
  ir::Expr leaf(DType dtype);
  /// A conversion to `dtype`, in more than one step where there is no direct one.
  ir::Expr convert(const ir::Expr& value, DType dtype);
  ir::Expr bool_value(int depth);
  ir::Expr int_value(DType dtype, int depth);
  ir::Expr signed_arithmetic(DType dtype, int depth);
  ir::Expr bit_operation(DType dtype, int depth);
  ir::Expr division(DType dtype, int depth);
  ir::Expr float_value(DType dtype, int depth);
  ir::Expr float_function(DType dtype, int depth);
  ir::Expr exact_function(DType dtype, int depth);
  /// The value, or 1 where it is a NaN.
  ir::Expr no_nan(const ir::Expr& value);
  DType any_dtype();

  Random& random_;
  Functions functions_;
};

}  // namespace tw::fuzz
