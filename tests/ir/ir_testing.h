// For tests of IR: `parse("s[0] = 1; r = s[1]")` makes a statement, `EXPECT_IR_EQ(a, b)` compares
// programs, statements or expressions and shows both texts where they differ.
#pragma once

#include <sstream>

#include <gtest/gtest.h>

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

/// The lines of two texts side by side: ' ' in both, '-' expected only, '+' found only.
inline std::string difference(const std::string& found, const std::string& expected) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> list;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) list.push_back(line);
    return list;
  };
  const std::vector<std::string> a = lines(expected), b = lines(found);
  // common[i][j]: the longest common part of a from i and b from j.
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      text += "  " + a[i++] + "\n";
      ++j;
    } else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      text += "- " + a[i++] + "\n";
    } else {
      text += "+ " + b[j++] + "\n";
    }
  }
  return text;
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
  return testing::AssertionFailure() << "IR differs (- expected, + found):\n" << difference(a, b);
}

}  // namespace tw::ir

#define EXPECT_IR_EQ(found, expected) EXPECT_PRED_FORMAT2(::tw::ir::ir_equal, found, expected)
#define ASSERT_IR_EQ(found, expected) ASSERT_PRED_FORMAT2(::tw::ir::ir_equal, found, expected)
