#include "tilewright/pass/assert_bounds.h"

#include "tests/pass/check_testing.h"
#include "tilewright/sim/interpreter.h"

namespace tw::pass {
namespace {

ir::Program program_of(const std::string& body) {
  return ir::with_option(
      ir::parse_program(
          "tilewright ir 1 program \"p\" { scalar n: i64 inout X: f32[n, 64] launch b in n {\n" +
          body + "\n} }"),
      "check_bounds", "on");
}

std::string asserted(const std::string& body) {
  const std::string text = ir::print(assert_bounds(program_of(body)));
  const size_t from = text.find("launch b in n {\n") + 16;
  return text.substr(from, text.rfind("\n  }") - from);
}

bool is_kept(const std::string& body) {
  const ir::Program p = program_of(body);
  return assert_bounds(p).launches[0].same_as(p.launches[0]);
}

const std::string kTile = "alloc t: f32[8] shared ";

TEST(AssertBounds, ChecksAnIndexBeforeItsStatement) {
  EXPECT_EQ(asserted(kTile + "t[b] = 1"),
            "    alloc t: f32[8] shared\n"
            "    assert b < 8, \"t[b] reaches {} in dimension 0 (extent {})\" [b, 8]\n"
            "    t[b] = 1.0");
}

TEST(AssertBounds, ChecksBothEndsOfARegion) {
  EXPECT_EQ(asserted(kTile + "fill t[b - 2 :+ 4] = 0"),
            "    alloc t: f32[8] shared\n"
            "    assert 0 <= b - 2 && b - 2 + 3 < 8, \"t[b - 2 :+ 4] reaches {} in dimension 0 "
            "(extent {})\" [select(b - 2 < 0, b - 2, b - 2 + 3), 8]\n"
            "    fill t[b - 2 :+ 4] = 0.0");
}

TEST(AssertBounds, ChecksALazyOperandWhereItIsEvaluated) {
  EXPECT_EQ(asserted(kTile + "let v = if_else(b > 4, t[b], 0) X[b, 0] = v"),
            "    alloc t: f32[8] shared\n"
            "    assert !(b > 4) || b < 8, \"t[b] reaches {} in dimension 0 (extent {})\" [b, 8]\n"
            "    let v: f32 = if_else(b > 4, t[b], 0.0)\n"
            "    X[b, 0] = v");
}

TEST(AssertBounds, ChecksAConditionBeforeEachIteration) {
  EXPECT_EQ(asserted(kTile + "alloc i: i64[] variable = 0 while t[i[]] > 0 { i[] = i[] + 1 }"),
            "    alloc t: f32[8] shared\n"
            "    var i: i64 = 0\n"
            "    while true {\n"
            "      assert 0 <= i && i < 8, \"t[i] reaches {} in dimension 0 (extent {})\" [i, 8]\n"
            "      if !(t[i] > 0.0) {\n"
            "        break\n"
            "      }\n"
            "      i = i + 1\n"
            "    }");
}

TEST(AssertBounds, ChecksWhatTheAuthorSaysIsInside) {
  EXPECT_EQ(asserted("X![b, n] = 1"),
            "    assert n < 64, \"X[b, n] reaches {} in dimension 1 (extent {})\" [n, 64]\n"
            "    X![b, n] = 1.0");
}

TEST(AssertBounds, ChecksThatAViewLiesInItsBuffer) {
  EXPECT_EQ(asserted(kTile + "view v: f32[2] shared of t with offset=2 * b v[1] = 1"),
            "    alloc t: f32[8] shared\n"
            "    view v: f32[2] shared of t with offset=2 * b\n"
            "    assert 2 * b + 1 < 8, \"v[1] reaches {} in t (extent {})\" [2 * b + 1, 8]\n"
            "    v[1] = 1.0");
}

TEST(AssertBounds, DropsTheDemandForAVectorForm) {
  EXPECT_EQ(
      asserted(kTile + "for i in 0:8 vectorized with strict { t[i + b] = 1 }"),
      "    alloc t: f32[8] shared\n"
      "    for i in 0:8 vectorized {\n"
      "      assert i + b < 8, \"t[i + b] reaches {} in dimension 0 (extent {})\" [i + b, 8]\n"
      "      t[i + b] = 1.0\n"
      "    }");
}

TEST(AssertBounds, KeepsWhatIsProvenOrGuarded) {
  EXPECT_TRUE(is_kept(kTile + "for i in 0:8 { t[i] = 1 }"));
  EXPECT_TRUE(is_kept(kTile + "if b < 8 { t[b] = 1 }"));
  EXPECT_TRUE(is_kept(kTile + "let v = if_else(b < 8, t[b], 0) X[b, 0] = v"));
  EXPECT_TRUE(is_kept("X[b, n] = X[n, b]"));
  EXPECT_TRUE(is_kept(kTile + "copy X[b, n :+ 8] -> t"));
}

TEST(AssertBounds, IsOffByDefault) {
  ir::Program p = program_of(kTile + "t[b] = 1");
  p.options.clear();
  EXPECT_TRUE(assert_bounds(p).launches[0].same_as(p.launches[0]));
}

TEST(AssertBounds, StopsTheInterpreterWithTheIndex) {
  const ir::Program p = assert_bounds(program_of(kTile + "t[b] = 1 X[b, 0] = t[b]"));
  std::vector<float> x(9 * 64);
  for (const int64_t n : {8, 9}) {
    const auto found = sim::interpret(p, {sim::Argument::value(i64, static_cast<uint64_t>(n)),
                                          sim::Argument::tensor(x.data(), f32, {n, 64})})
                           .findings;
    EXPECT_EQ(sim::to_text(found),
              n == 8 ? "" : "failed_assert: t[b] reaches 8 in dimension 0 (extent 8)\n");
  }
}

TEST(SuspectBounds, ReportsWhatIsNotProven) {
  const std::string body =
      "alloc t: f32[8, 4] shared\n"
      "for i in 0:n {\n  t[i, 0] = 1\n}\n"
      "fill t[bx :+ 2, 0 :+ 4] = 0\n"
      "X![bx, n] = t[3, 3]";
  EXPECT_EQ(findings(suspect_bounds, body),
            "k.tw:3: warning[W-BND-01]: p: t[i, 0] may lie outside dimension 0\n"
            "  note: it is in `t[i, 0] = 1.0`\n"
            "  note: t is f32[8, 4] shared\n"
            "  help: the option check_bounds makes it an assert\n"
            "k.tw:5: warning[W-BND-01]: p: t[bx :+ 2, 0 :+ 4] may lie outside dimension 0\n"
            "  note: it is in `fill t[bx :+ 2, 0 :+ 4] = 0.0`\n"
            "  note: t is f32[8, 4] shared\n"
            "  help: the option check_bounds makes it an assert");
}

}  // namespace
}  // namespace tw::pass
