// For tests of IR: `parse("s[0] = 1; r = s[1]")` makes a statement, `EXPECT_IR_EQ(a, b)` compares
// programs, statements or expressions and shows both texts where they differ.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tilewright/base/text_diff.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/text.h"

namespace tw::ir {

/// A statement in the text form. Unknown names are declared by their use
/// (ParseOptions::infer_free); `given X: bf16[n, 64]` in front declares them as wanted.
inline Stmt parse(std::string_view text) { return parse_stmt(text, {.infer_free = true}); }
inline Expr expr(std::string_view text) { return parse_expr(text, {.infer_free = true}); }

inline bool equal_in_test(const Program& a, const Program& b) { return structurally_equal(a, b); }
template <class H>
bool equal_in_test(const H& a, const H& b) {
  return structurally_equal(a, b, Free::same_name);
}

template <class Root>
testing::AssertionResult ir_equal(const char*, const char*, const Root& found,
                                  const Root& expected) {
  if (equal_in_test(found, expected)) return testing::AssertionSuccess();
  std::string a = print(found), b = print(expected);
  if (a == b) {  // they differ in what is free
    if constexpr (!std::is_same_v<Root, Program>) {
      a = print(found, {.free = true});
      b = print(expected, {.free = true});
    }
  }
  return testing::AssertionFailure() << "IR differs\n" << unified_diff(b, a, "expected", "found");
}

}  // namespace tw::ir

#define EXPECT_IR_EQ(found, expected) EXPECT_PRED_FORMAT2(::tw::ir::ir_equal, found, expected)
#define ASSERT_IR_EQ(found, expected) ASSERT_PRED_FORMAT2(::tw::ir::ir_equal, found, expected)
