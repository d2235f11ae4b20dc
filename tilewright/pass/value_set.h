// Which integers an expression can be: an interval with a stride. Bounds computes with these sets
// where constants suffice, which is nearly everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/base/dtype.h"
#include "tilewright/ir/ops.h"

namespace tw::pass {

/// All v with lo <= v <= hi and v = remainder (mod modulus). The limits of int64_t stand for "no
/// bound", so a u64 beyond them is still covered. Modulus 0: the one value `remainder`.
struct ValueSet {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  int64_t modulus = 1, remainder = 0;

  static ValueSet constant(int64_t value) { return {value, value, 0, value}; }
  static ValueSet between(int64_t lo, int64_t hi) { return ValueSet{lo, hi}.tightened(); }
  /// Every value of an integer type or bool.
  static ValueSet of_type(DType dtype);

  std::optional<int64_t> single() const;
  bool contains(int64_t value) const;
  bool within(const ValueSet& range) const { return lo >= range.lo && hi <= range.hi; }
  /// What is in both, or this set if that were nothing (in code that never runs).
  ValueSet meet(const ValueSet& other) const;
  /// The smallest set with the values of both.
  ValueSet join(const ValueSet& other) const;
  /// The same set with its ends at members.
  ValueSet tightened() const;
};

// Sums and products of integers without limits; beyond int64_t there is no bound.
ValueSet operator+(const ValueSet& a, const ValueSet& b);
ValueSet operator*(const ValueSet& a, const ValueSet& b);
inline ValueSet operator-(const ValueSet& a, const ValueSet& b) {
  return a + ValueSet::constant(-1) * b;
}

/// "[0, 63], 0 mod 8".
std::string to_text(const ValueSet& set);

/// Whether an operation on such integers of type `dtype` gives what it would without limits. i64
/// always does: it counts elements, and its overflow is undefined (language 2.2).
bool is_exact(ir::OpCode code, DType dtype, const ValueSet& a, const ValueSet& b);

/// The values of an operation whose integer operands have type `dtype` and values in a, b; every
/// value of the result's type where nothing better is known. Division by 0 gives 0.
ValueSet apply(ir::OpCode code, DType dtype, const ValueSet& a, const ValueSet& b);

}  // namespace tw::pass
