// Pieces of C++: expressions with their precedence, types and literals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/base/dtype.h"

namespace tw::cuda {

/// How strongly the operators of C++ bind.
enum Binding : int {
  kChoice = 3,
  kOr = 4,
  kAnd = 5,
  kBitOr = 6,
  kBitXor = 7,
  kBitAnd = 8,
  kEqual = 9,
  kLess = 10,
  kShift = 11,
  kSum = 12,
  kProduct = 13,
  kPrefix = 15,
  kPrimary = 16,
};

/// An expression of C++ and the operator at its top.
struct Text {
  std::string s;
  int binding = kPrimary;

  /// With parentheses where an operator that binds like `binding` stands beside it.
  std::string in(int binding) const { return this->binding < binding ? "(" + s + ")" : s; }
};

/// `name(a, b)`.
Text call(const std::string& name, const std::vector<Text>& args);
/// `a sign b`; `sign` has its spaces.
Text infix(const Text& a, const char* sign, const Text& b, int binding);
Text prefix(const char* sign, const Text& a);
/// The value as another type: `f32(x)`.
inline Text as_type(DType dtype, const Text& x) { return call(to_text(dtype), {x}); }

/// The type of elements in memory: a bool is a byte, e2m1 come in pairs.
std::string memory_type(DType dtype);

/// An integer (or bool) of the type. `plain` leaves out what tells the type where the other operand
/// of an operator does.
Text int_literal(DType dtype, int64_t value, bool plain = false);
/// A float: f64 as such, all others as f32.
Text float_literal(DType dtype, double value);
/// Characters as in a string of C++, with the quotes.
std::string quoted(std::string_view text);

}  // namespace tw::cuda
