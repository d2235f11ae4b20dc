#include "tilewright/pass/thread/narrow_divisions.h"

#include <gtest/gtest.h>

#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"

namespace tw::pass {
namespace {

/// What becomes of a statement, in a launch with a block b < grid, where 1 <= w and 0 <= z.
std::string narrowed(const std::string& stmt, const std::string& grid = "n") {
  const ir::Program program = ir::parse_program(R"(tilewright ir 1 program "p" {
  symbol n symbol w symbol z output Y: i64[n]
  launch b in )" + grid + R"( with threads=[32], guard=w >= 1 && z >= 0 && z < 1000, thread=t {
    )" + stmt + R"(
  } })");
  const std::string text = ir::print(narrow_divisions(program));
  const size_t begin = text.find("Y![0] = ") + 8;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(NarrowDivisions, DividesWhatIsSmallByWhatIsPositive) {
  EXPECT_EQ(narrowed("Y![0] = b // w"),
            "cast(truncdiv(cast(b, u32), cast(min(w, 4294967295), u32)), i64)");
  EXPECT_EQ(narrowed("Y![0] = b % w"),
            "cast(truncmod(cast(b, u32), cast(min(w, 4294967295), u32)), i64)");
  EXPECT_EQ(narrowed("Y![0] = (z + t) // (z + 1)"),
            "cast(truncdiv(cast(z + t, u32), cast(z + 1, u32)), i64)");
  EXPECT_EQ(narrowed("Y![0] = b % 3"), "cast(truncmod(cast(b, u32), 3), i64)");
}

TEST(NarrowDivisions, RoundsToZeroWhatHasNoSign) {
  EXPECT_EQ(narrowed("Y![0] = (b * 3) // w"), "truncdiv(b * 3, w)");
  EXPECT_EQ(narrowed("Y![0] = (b * 3 - 1) // w"), "(b * 3 - 1) // w");
}

TEST(NarrowDivisions, LeavesWhatMayNotFit) {
  for (const char* stmt :
       {"b // z", "w // w", "(b * 3) // w", "(b - 1) // w", "b // 4", "z // b"}) {
    const std::string text = narrowed(std::string("Y![0] = ") + stmt);
    EXPECT_EQ(text.find("u32"), std::string::npos) << stmt << ": " << text;
  }
}

TEST(NarrowDivisions, KnowsFactorsOfAGrid) {
  // None of them is 0 where a block runs, and none is larger than the whole.
  EXPECT_EQ(narrowed("Y![0] = b // n", "w * n"), "cast(truncdiv(cast(b, u32), cast(n, u32)), i64)");
  EXPECT_EQ(narrowed("Y![0] = b // ((n + 7) // 8)", "w * ((n + 7) // 8) * 3"),
            "cast(truncdiv(cast(b, u32), cast((n + 7) // 8, u32)), i64)");
  EXPECT_EQ(narrowed("Y![0] = b // (n - 4)", "w * (n - 4)"), "b // (n - 4)");  // both may be < 0
}

TEST(NarrowDivisions, KnowsWhatConditionsSay) {
  EXPECT_EQ(narrowed("if z > 0 { Y![0] = b // z }"),
            "cast(truncdiv(cast(b, u32), cast(z, u32)), i64)");
  EXPECT_EQ(narrowed("if z > 0 { } else { Y![0] = b // z }").find("u32"), std::string::npos);
}

TEST(NarrowDivisions, LeavesTensorsAsTheHostKnowsThem) {
  // n is known to be small inside the launch only.
  const ir::Program program = ir::parse_program(R"(tilewright ir 1 program "p" {
  symbol n input X: f32[(n + 2) // 3] output Y: f32[n]
  launch b in n with threads=[32], guard=n % 4 == 0, aligned=[X, Y], thread=t {
    Y![b] = X![b // 3]
  } })");
  const ir::Program narrowed = narrow_divisions(program);
  const std::string text = ir::print(narrowed);
  EXPECT_NE(text.find("X: f32[(n + 2) // 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("X![cast(truncdiv(cast(b, u32), 3), i64)]"), std::string::npos) << text;
  EXPECT_EQ(ir::violations(narrowed, ir::Level::thread), std::vector<std::string>());
}

}  // namespace
}  // namespace tw::pass
