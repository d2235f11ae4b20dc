#include "tilewright/pass/guard_bounds.h"

#include "tests/ir/ir_testing.h"

namespace tw::pass {
namespace {

/// A program with one launch of that grid and body.
ir::Program launch(const std::string& grid, const std::string& body) {
  return ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  symbol n: i64\n  input X: f32[n, 64]\n"
      "  output Y: f32[n, 64]\n  launch b in " +
      grid + " {\n" + body + "\n}\n}\n");
}

TEST(GuardBounds, LeavesNoGuardWhereTheGridProvesIt) {
  EXPECT_IR_EQ(guard_bounds(launch("n", "parallel j in 64 { Y[b, j] = X[b, j] }")),
               launch("n", "parallel j in 64 { Y![b, j] = X![b, j] }"));
}

TEST(GuardBounds, LeavesNoGuardWhereTilesDivideTheExtent) {
  const auto tiles = [](const std::string& marks) {
    return ir::parse_program(
        "tilewright ir 1\nprogram \"p\" {\n  symbol n: i64 with multiple_of=64\n"
        "  input X: f32[n, n]\n  output Y: f32[n, n]\n  launch b in (n + 63) // 64 {\n"
        "for k in 0:n:16 { parallel i in 64, j in 16 {\n  Y" +
        marks + "[b * 64 + i, k + j] = X" + marks + "[b * 64 + i, k + j]\n} }\n}\n}\n");
  };
  EXPECT_IR_EQ(guard_bounds(tiles("")), tiles("!"));
}

TEST(GuardBounds, TestsAWholeBoxOnce) {
  EXPECT_IR_EQ(
      guard_bounds(
          launch("(n + 3) // 4", "parallel i in 4, j in 64 { Y[b * 4 + i, j] = X[b * 4 + i, j] }")),
      launch("(n + 3) // 4",
             "if 0 <= n - b * 4 - 4 && 0 <= n - b * 4 - 4 {\n"
             "  parallel i in 4, j in 64 { Y![b * 4 + i, j] = X![b * 4 + i, j] }\n"
             "} else {\n"
             "  parallel i in 4, j in 64 {\n"
             "    if b * 4 + i < n {\n"
             "      Y![b * 4 + i, j] = if_else(b * 4 + i < n, X![b * 4 + i, j], 0.0)\n"
             "    }\n  }\n}"));
}

TEST(GuardBounds, TestsANestOfSerialLoopsOnce) {
  EXPECT_IR_EQ(guard_bounds(launch("(n + 3) // 4",
                                   "alloc t: f32[4] local\n"
                                   "for i in 0:4 { for j in 0:64 vectorized { "
                                   "t[i] = X[b * 4 + i, j] } }")),
               launch("(n + 3) // 4",
                      "alloc t: f32[4] local\n"
                      "if 0 <= n - b * 4 - 4 {\n"
                      "  for i in 0:4 { for j in 0:64 vectorized { "
                      "t[i] = X![b * 4 + i, j] } }\n"
                      "} else {\n"
                      "  for i in 0:4 { for j in 0:64 vectorized { "
                      "t[i] = select(b * 4 + i < n, X![min(b * 4 + i, n - 1), j], 0.0) } }\n}"));
}

TEST(GuardBounds, GuardsAComputedIndexByItself) {
  EXPECT_IR_EQ(guard_bounds(launch("n", "parallel j in 64 { Y[b, j] = X[cast(X[b, j], i64), j] }")),
               launch("n",
                      "parallel j in 64 {\n"
                      "  Y![b, j] = if_else(0 <= cast(X![b, j], i64) && cast(X![b, j], i64) < n, "
                      "X![cast(X![b, j], i64), j], 0.0)\n}"));
}

TEST(GuardBounds, UsesTheConditionsAroundAnAccess) {
  EXPECT_IR_EQ(guard_bounds(launch("n + 5", "if b < n { Y[b, 3] = X[b, 3] }")),
               launch("n + 5", "if b < n { Y![b, 3] = X![b, 3] }"));
}

TEST(GuardBounds, PassesTheResultOfAGuardedAtomicThroughAVariable) {
  EXPECT_IR_EQ(
      guard_bounds(launch("n + 1", "atomic add Y[b, 0], 1.0 with result=old: f32\nY[0, 1] = old")),
      launch(
          "n + 1",
          "var old: f32 = 0.0\n"
          "if b < n {\n  atomic add Y[b, 0], 1.0 with result=previous: f32\n  old = previous\n}\n"
          "let old: f32 = old\n"
          "if 0 < n { Y![0, 1] = old }"));
}

TEST(GuardBounds, AccessesThatAreCertainlyOutsideNeedNoTestOfTheBox) {
  EXPECT_IR_EQ(guard_bounds(launch("n", "parallel j in 64 { Y[b, j] = X[-1, j] }")),
               launch("n", "parallel j in 64 { Y![b, j] = if_else(false, X![-1, j], 0.0) }"));
}

TEST(GuardBounds, ADescendingIndexIsTestedInsideItsLoop) {
  EXPECT_IR_EQ(guard_bounds(launch("n", "for k in 5:-1:-1 { Y[b, k] = X[b + 1, 3] }")),
               launch("n",
                      "if 0 <= n - b - 2 {\n"
                      "  for k in 5:-1:-1 { if 0 <= k && k < 64 { Y![b, k] = X![b + 1, 3] } }\n"
                      "} else {\n"
                      "  for k in 5:-1:-1 { if 0 <= k && k < 64 {\n"
                      "    Y![b, k] = if_else(b + 1 < n, X![b + 1, 3], 0.0) } }\n"
                      "}"));
}

TEST(GuardBounds, NestedBoxesAreOne) {
  EXPECT_IR_EQ(guard_bounds(launch("(n + 3) // 4",
                                   "parallel i in 4 { parallel j in 64 { "
                                   "Y[b * 4 + i, j] = X[0, j] } }")),
               launch("(n + 3) // 4",
                      "if 0 <= n - b * 4 - 4 {\n"
                      "  parallel i in 4 { parallel j in 64 { Y![b * 4 + i, j] = X![0, j] } }\n"
                      "} else {\n"
                      "  parallel i in 4 { parallel j in 64 {\n"
                      "    if b * 4 + i < n { Y![b * 4 + i, j] = X![0, j] } } }\n"
                      "}"));
}

}  // namespace
}  // namespace tw::pass
