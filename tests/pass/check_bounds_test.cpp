#include "tilewright/pass/check_bounds.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

std::string found(const std::string& body) {
  return findings(check_bounds, "alloc t: f32[8, 4] shared\n" + body);
}

TEST(CheckBounds, FindsAnIterationThatLeavesTheBuffer) {
  EXPECT_EQ(found("for i in 0:8 {\n  t[i + 1, 0] = 1\n}"),
            "k.tw:3: error[E-BND-01]: p: t[i + 1, 0] reaches 8 in dimension 0\n"
            "  note: it is in `t[i + 1, 0] = 1.0`\n"
            "  note: t is f32[8, 4] shared");
  EXPECT_EQ(found("parallel i in 8, j in 4 {\n  Y[bx, 0] = t[i, j - 1]\n}"),
            "k.tw:3: error[E-BND-01]: p: t[i, j - 1] reaches -1 in dimension 1\n"
            "  note: it is in `Y[bx, 0] = t[i, j - 1]`\n"
            "  note: t is f32[8, 4] shared");
}

TEST(CheckBounds, FindsARegionThatLeavesTheBuffer) {
  EXPECT_EQ(found("fill t[4 :+ 8, 0 :+ 4] = 0"),
            "k.tw:2: error[E-BND-01]: p: t[4 :+ 8, 0 :+ 4] reaches 11 in dimension 0\n"
            "  note: it is in `fill t[4 :+ 8, 0 :+ 4] = 0.0`\n"
            "  note: t is f32[8, 4] shared");
}

TEST(CheckBounds, ARegionOfNothingIsInside) {
  EXPECT_EQ(found("fill t[0 :+ 0, 0 :+ 4] = 0\nfill t[8 :+ 0, 0 :+ 4] = 0"), "");
}

TEST(CheckBounds, FindsAnAccessThatIsNeverInside) {
  EXPECT_EQ(found("for i in 0:n {\n  if i > 2 { t[i + 8, 0] = 1 }\n}"),
            "k.tw:3: error[E-BND-01]: p: t[i + 8, 0] reaches 11 in dimension 0\n"
            "  note: it is in `t[i + 8, 0] = 1.0`\n"
            "  note: t is f32[8, 4] shared");
}

TEST(CheckBounds, AcceptsWhatIsNeverEvaluated) {
  EXPECT_EQ(found("for i in 0:8 { let v = if_else(i // 8 > 0, t[i // 8 - 1, 0], 0) }"), "");
}

TEST(CheckBounds, AcceptsWhatMayBeInside) {
  EXPECT_EQ(found("for i in 0:8 { t[i, 3] = 1 }"), "");
  EXPECT_EQ(found("for i in 0:n { t[i, 0] = 1 }"), "");
  EXPECT_EQ(found("for i in 0:9 { if i < 8 { t[i, 0] = 1 } }"), "");
  EXPECT_EQ(found("for i in 0:9 { let v = if_else(i < 8, t[i, 0], 0) }"), "");
  EXPECT_EQ(found("for i in 0:100 { t[i % 8, i // 25] = 1 }"), "");
  EXPECT_EQ(found("for i in 0:8 { Y[bx, 100] = X[bx, -5] }"), "");
}

}  // namespace
}  // namespace tw::pass
