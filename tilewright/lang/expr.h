// Values of a traced program. `Expr` is a value that exists when the kernel runs; `Operand` is what
// every operator and function takes: a value together with the line on which the author wrote it.
//
// C++ numbers are trace-time constants. As an operand a number takes the type of the other operand
// if it fits (language 2.2); alone it is i32 (i64 if it is too large), f32 or bool.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw {
inline namespace lang {

class Ref;
class Variable;

template <class T>
concept Number = std::is_arithmetic_v<T>;

/// An immutable value. It has no truth value while tracing: write `if_`, `select`, `&&`, `||`, `!`.
class Expr {
 public:
  Expr() = default;
  explicit Expr(ir::Expr value, bool number = false) : value_(std::move(value)), number_(number) {}
  template <Number T>
  Expr(T value, SourceLoc where = SourceLoc::here()) : Expr(number(value, where)) {}
  /// The value of an element, read where the element was written.
  Expr(const Ref& element);
  /// The value that a variable has now.
  Expr(const Variable& variable, SourceLoc where = SourceLoc::here());

  DType dtype() const { return value_.dtype(); }
  /// Whether it is a C++ number that has not met a typed operand.
  bool is_number() const { return number_; }
  /// Whether the value is a known integer, and which.
  bool is_const() const;
  int64_t as_int() const;

  /// The value as IR; a C++ number has its own type here (i64, f64, bool).
  const ir::Expr& ir() const { return value_; }
  /// The value as IR, in the type that a C++ number has alone.
  ir::Expr typed() const;

 private:
  template <Number T>
  static Expr number(T value, SourceLoc where) {
    if constexpr (std::same_as<T, bool>) return from_bool(value, where);
    if constexpr (std::is_floating_point_v<T>) return from_float(value, where);
    if constexpr (std::is_unsigned_v<T>) return from_unsigned(value, where);
    return from_int(static_cast<int64_t>(value), where);
  }
  static Expr from_bool(bool value, SourceLoc where);
  static Expr from_float(double value, SourceLoc where);
  static Expr from_int(int64_t value, SourceLoc where);
  static Expr from_unsigned(uint64_t value, SourceLoc where);

  ir::Expr value_;
  bool number_ = false;
};

/// An argument of an operator or function. Its converting constructors take the author's line, so
/// that `a + b` and `X(i, j)` know where they were written.
class Operand {
 public:
  Operand(const Expr& value, SourceLoc where = SourceLoc::here()) : value_(value), where_(where) {}
  Operand(const Ref& element, SourceLoc where = SourceLoc::here());
  Operand(const Variable& variable, SourceLoc where = SourceLoc::here());
  template <Number T>
  Operand(T value, SourceLoc where = SourceLoc::here()) : value_(value, where), where_(where) {}

  const Expr& value() const { return value_; }
  SourceLoc where() const { return where_; }
  /// Another value, as if written on the same line.
  Operand beside(const Expr& value) const { return Operand(value, where_); }

 private:
  Expr value_;
  SourceLoc where_;
};

/// Extents of a shape, a grid or an iteration box.
using Extents = std::vector<Expr>;
Extents extents(const std::vector<int64_t>& shape);

// ---- the core under operators and functions, for callers that are no C++ templates ----

/// How the author's operation is named in errors, and where it is.
struct Site {
  std::string_view name;
  SourceLoc where;
};

/// The value in that type; a C++ number must fit (E-TYPE-03), another value must have the type.
ir::Expr with_type(const Site& site, const Expr& value, DType dtype);
/// All values in the one type in which an operation on them computes (E-TYPE-02, E-TYPE-03).
std::vector<ir::Expr> promoted(const Site& site, const std::vector<Expr>& values);
/// As a 64-bit index; E-TYPE-06 for what is no integer.
ir::Expr as_index(const Site& site, const Expr& value);
/// As the value to be stored in a buffer of that type (language 11.4).
ir::Expr as_stored(const Site& site, const Expr& value, DType dtype);
/// As a condition: a bool, or an integer that is compared with zero (E-FLOW-04).
ir::Expr as_condition(const Site& site, const Expr& value);

/// An element operation: promotes the operands, checks the operation's class (E-TYPE-06)
/// and folds constants.
Expr element_op(const Site& site, ir::OpCode code, const std::vector<Expr>& args,
                ir::Exactness exactness = ir::Exactness::standard,
                Rounding rounding = Rounding::rn);

}  // namespace lang
}  // namespace tw
