#include "tilewright/pass/value_set.h"

#include <gtest/gtest.h>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/sim/element.h"

namespace tw::pass {
namespace {

using ir::OpCode;
using sim::Bits;

/// Intervals with strides inside [-6, 6], and some at the ends of 8-bit types.
std::vector<ValueSet> small_sets(DType dtype) {
  std::vector<ValueSet> sets;
  const ValueSet type = ValueSet::of_type(dtype);
  const auto add = [&](int64_t lo, int64_t hi, int64_t modulus, int64_t remainder) {
    const ValueSet set = ValueSet{lo, hi, modulus, remainder}.tightened();
    if (set.lo <= set.hi && set.within(type)) sets.push_back(set);
  };
  for (int64_t lo = -6; lo <= 6; lo += 2) {
    for (int64_t length = 0; length <= 6; length += 3) add(lo, lo + length, 1, 0);
    for (int64_t modulus = 2; modulus <= 4; ++modulus) add(lo, lo + 7, modulus, 1);
  }
  for (const int64_t lo : {-128, 120, 250}) add(lo, lo + 5, 1, 0);
  add(-128, 127, 1, 0);
  add(0, 255, 4, 2);
  return sets;
}
std::vector<int64_t> members(const ValueSet& set) {
  std::vector<int64_t> values;
  for (int64_t v = set.lo; v <= set.hi; ++v) {
    if (set.contains(v)) values.push_back(v);
  }
  return values;
}
TEST(ValueSet, HoldsTheResultOfEveryOperationOnItsMembers) {
  for (const DType dtype : {i64, i8, u8}) {
    const std::vector<ValueSet> sets = small_sets(dtype);
    for (int code = 0; code <= static_cast<int>(OpCode::funnel_shr); ++code) {
      const auto op = static_cast<OpCode>(code);
      const ir::OpRow& row = ir::op_row(op);
      const sim::ElementFn function = sim::element_function(op, dtype);
      const sim::ElementFn in_i64 = sim::element_function(op, i64);
      if (row.operands > 2 || function == nullptr) continue;
      for (const ValueSet& a : sets) {
        for (const ValueSet& b : sets) {
          const ValueSet result = apply(op, dtype, a, b);
          const bool exact = dtype != i64 && is_exact(op, dtype, a, b);
          for (const int64_t x : members(a)) {
            for (const int64_t y : members(b)) {
              const int64_t value =
                  decode_int(function(encode(x, dtype), encode(y, dtype), 0), dtype);
              ASSERT_TRUE(result.contains(value)) << format(
                  "{}({}, {}) is {}, not in {} of {} and {}", row.name, x, y, value, result, a, b);
              if (!exact) continue;
              const int64_t wide = decode_int(in_i64(Bits(x), Bits(y), 0), i64);
              ASSERT_EQ(value, wide) << row.name << " of " << x << " and " << y << " wraps";
            }
            if (row.operands == 1) break;
          }
          if (row.operands == 1) break;
        }
      }
    }
  }
}

TEST(ValueSet, JoinHoldsBothAndMeetWhatIsInBoth) {
  const std::vector<ValueSet> sets = small_sets(i64);
  for (const ValueSet& a : sets) {
    for (const ValueSet& b : sets) {
      const ValueSet either = a.join(b), both = a.meet(b);
      for (const int64_t x : members(a)) {
        ASSERT_TRUE(either.contains(x)) << format("{} of {} joined with {}", x, a, b);
        ASSERT_TRUE(!b.contains(x) || both.contains(x)) << format("{} in {} and {}", x, a, b);
      }
      for (const int64_t x : members(b))
        ASSERT_TRUE(either.contains(x)) << format("{} of {}", x, b);
    }
  }
}

TEST(ValueSet, KeepsCongruencesThroughIndexArithmetic) {
  const ValueSet multiple{0, INT64_MAX, 64, 0};
  EXPECT_EQ((multiple * ValueSet::constant(3) + ValueSet::constant(5)).modulus, 192);
  EXPECT_EQ(apply(OpCode::floormod, i64, multiple + ValueSet::constant(5), ValueSet::constant(16))
                .single(),
            5);
  EXPECT_EQ(apply(OpCode::floordiv, i64, multiple, ValueSet::constant(16)).modulus, 4);
  EXPECT_EQ(
      apply(OpCode::add, u8, ValueSet{0, 255, 4, 0}.tightened(), ValueSet::constant(2)).modulus, 4)
      << "wrapping keeps powers of two";
}

TEST(ValueSet, HasNoBoundBeyondInt64) {
  const ValueSet large{INT64_MAX - 1, INT64_MAX - 1, 0, INT64_MAX - 1};
  EXPECT_EQ((large + ValueSet::between(0, 5)).hi, INT64_MAX);
  EXPECT_EQ((large * ValueSet::between(-2, 2)).lo, INT64_MIN);
  EXPECT_EQ(ValueSet::of_type(u64).lo, 0);
}

}  // namespace
}  // namespace tw::pass
