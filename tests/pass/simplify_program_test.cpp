// `simplify` on statements.
#include "tests/ir/ir_testing.h"
#include "tilewright/pass/simplify.h"

namespace tw::pass {
namespace {

/// A program with symbols n and m (a multiple of 64), and one launch.
ir::Program launch(const std::string& body, const std::string& grid = "(n + 63) // 64") {
  return ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  symbol n: i64\n  symbol m: i64 with multiple_of=64\n"
      "  input X: f32[n, 64]\n  inout Y: f32[n, 64]\n  launch b in " +
      grid + " {\n" + body + "\n}\n}\n");
}
void expect_becomes(const std::string& before, const std::string& after) {
  EXPECT_IR_EQ(simplify(launch(before)), launch(after));
}
void expect_stays(const std::string& body) {
  const ir::Program program = launch(body);
  const ir::Program next = simplify(program);
  EXPECT_TRUE(next.launches[0].same_as(program.launches[0])) << ir::print(next);
}

TEST(SimplifyProgram, ReturnsTheSameStatementsWhereNothingChanges) {
  expect_stays("for i in 0:64 { if b * 64 + i < n { Y[b * 64 + i, 0] = X[b * 64 + i, 1] } }");
  expect_stays("parallel i in 64, j in 64 { Y[b * 64 + i, j] = X[b * 64 + i, j] * 2.0 }");
  expect_stays(
      "alloc t: f32[64, 64] shared; copy X[b * 64 :+ 64, 0 :+ 64] -> t; "
      "copy t -> Y[b * 64 :+ 64, 0 :+ 64]");
}

TEST(SimplifyProgram, TakesAwayConditionsThatAreKnown) {
  expect_becomes("if b * 64 < n { Y[b, 0] = 1.0 } else { Y[b, 0] = 2.0 }", "Y[b, 0] = 1.0");
  expect_becomes("for i in 0:8 { if 8 <= i { Y[i, 0] = 1.0 } }", "");
  expect_becomes("if b < 3 { if b < 4 { Y[b, 0] = 1.0 } }", "if b < 3 { Y[b, 0] = 1.0 }");
  expect_becomes("if b < 3 { } else { Y[b, 0] = 1.0 }", "if 3 <= b { Y[b, 0] = 1.0 }");
  expect_becomes("if b < 3 { Y[b, 0] = 1.0 } else { if b < 3 { Y[b, 0] = 2.0 } }",
                 "if b < 3 { Y[b, 0] = 1.0 }");
}

TEST(SimplifyProgram, KeepsConditionsOnMemory) {
  expect_stays("if X[b, 0] < 1.0 { Y[b, 0] = X[b, 0]; if X[b, 0] < 1.0 { Y[b, 1] = 0.0 } }");
}

TEST(SimplifyProgram, ForgetsWhatHoldsInsideALoop) {
  const ir::Program program =
      launch("for i in 0:n { Y[i, 0] = 0.0 }; if n < 1 { Y[0, 0] = 1.0 }", "4");
  EXPECT_IR_EQ(simplify(program), program);
}

TEST(SimplifyProgram, MergesNeighboursUnderOneCondition) {
  expect_becomes("if b < 3 { Y[b, 0] = 1.0 }; if b < 3 { Y[b, 1] = 1.0 }",
                 "if b < 3 { Y[b, 0] = 1.0; Y[b, 1] = 1.0 }");
}

TEST(SimplifyProgram, TakesAwayLoopsThatRunOnceOrNever) {
  expect_becomes("for i in 3:3 { Y[i, 0] = 1.0 }", "");
  expect_becomes("for i in 3:4 { Y[i, 0] = 1.0 }", "Y[3, 0] = 1.0");
  expect_becomes("for i in b * 2:b * 2 + 1 { Y[i, 0] = 1.0; Y[i, 1] = 1.0 }",
                 "let i: i64 = b * 2; Y[i, 0] = 1.0; Y[i, 1] = 1.0");
  expect_becomes("for i in 0:n { }", "");
  expect_stays("for i in 3:4 { if Y[0, 0] < 1.0 { break }; Y[4, 0] = 1.0 }");
}

TEST(SimplifyProgram, KeepsTheNumberOfStatementsThatAPlanCounts) {
  const std::string plan = "for i in 0:n pipelined with stages=2, stage=[0, 1], order=[0, 1] ";
  const std::string shared = "alloc t: f32[4] shared; ";
  const ir::Program next =
      simplify(launch(shared + plan + "{ let k: i64 = i; t[0] = 1.0; Y[k, 0] = 1.0 }"));
  const auto& loop = next.launches[0].as<ir::Launch>().body.as<ir::For>();
  EXPECT_EQ(loop.body.as<ir::Seq>().stmts.size(), 2U) << ir::print(next);
}

TEST(SimplifyProgram, LeavesOutDimensionsOfOneIteration) {
  expect_becomes("parallel i in 1, j in 64 { Y[b + i, j] = 1.0 }",
                 "parallel j in 64 { Y[b, j] = 1.0 }");
  expect_becomes("parallel i in 1, j in 1 { Y[b + i, j] = 1.0 }",
                 "parallel j in 1 { Y[b, 0] = 1.0 }");
  expect_becomes("parallel i in 0, j in 64 { Y[b + i, j] = 1.0 }", "");
}

TEST(SimplifyProgram, ReplacesBindingsOfPlainValuesAndThoseUsedOnce) {
  expect_becomes("let i: i64 = b; let k: i64 = 3; Y[i, k] = X[i, k]", "Y[b, 3] = X[b, 3]");
  expect_becomes("let base: i64 = b * 64; for i in base:n { Y[i, 0] = 1.0 }",
                 "for i in b * 64:n { Y[i, 0] = 1.0 }");
  expect_becomes("let base: i64 = b * 64; for i in 0:8 { Y[base + i, 0] = 1.0 }",
                 "let base: i64 = b * 64; for i in 0:8 { Y[base + i, 0] = 1.0 }");
}

TEST(SimplifyProgram, NeverMovesALoad) {
  expect_stays("let v: f32 = Y[b, 0]; Y[b, 0] = 0.0; Y[b, 1] = v");
  expect_stays(
      "alloc s: i64[4] shared; s[0] = b; let i: i64 = s[0]; s[0] = 1; Y[i, 0] = 1.0; "
      "Y[s[0], 0] = 1.0");
}

TEST(SimplifyProgram, KeepsTheIndexOfALoadThatIsNotGuarded) {
  expect_stays("for i in 0:4 { Y[b, i] = select(i < n, X![min(i, n - 1), 0], 0.0) }");
  expect_becomes("for i in 0:4 { Y[b, i] = if_else(i < n, X![min(i, n - 1), 0], 0.0) }",
                 "for i in 0:4 { Y[b, i] = if_else(i < n, X![i, 0], 0.0) }");
}

TEST(SimplifyProgram, SeesThroughBindings) {
  expect_becomes(
      "let base: i64 = b * 64; for i in 0:64 { Y[(base + i) // 64, (base + i) % 64] = 1.0 }",
      "for i in 0:64 { Y[b, i] = 1.0 }");
}

TEST(SimplifyProgram, TakesAwayWhatIsNotUsed) {
  expect_becomes("let v: f32 = X[b, 0]; let w: f32 = v * 2.0; Y[b, 0] = 1.0", "Y[b, 0] = 1.0");
  expect_becomes("alloc t: f32[64] shared; t[3] = X[b, 0]; fill t = 0.0; Y[b, 0] = 1.0",
                 "Y[b, 0] = 1.0");
  expect_stays(
      "alloc t: f32[64] shared; t[3] = X[b, 0]; view v: f32[32] shared of t; "
      "Y[b, 0] = v[1]");
  expect_becomes("Y[b, 3] = Y[b, 3]; Y[b, 0] = 1.0", "Y[b, 0] = 1.0");
}

TEST(SimplifyProgram, UsesWhatIsAssumed) {
  expect_becomes("assume n <= 64; if b * 64 + 64 < n { Y[b, 0] = 1.0 }; Y[b, 1] = 1.0",
                 "assume n <= 64; Y[b, 1] = 1.0");
}

TEST(SimplifyProgram, KnowsWhatHoldsAfterAJump) {
  expect_becomes("for i in 0:64 { if n <= i { break }; Y[min(i, n), 0] = 1.0 }",
                 "for i in 0:64 { if n <= i { break }; Y[i, 0] = 1.0 }");
}

TEST(SimplifyProgram, UsesFactsOfSymbolsAndGrids) {
  EXPECT_IR_EQ(
      simplify(launch("for i in 0:64 { if b * 64 + i < m { Y[b, i] = 1.0 } }", "(m + 63) // 64")),
      launch("for i in 0:64 { Y[b, i] = 1.0 }", "m // 64"));
  EXPECT_IR_EQ(simplify(launch("Y[b, 0] = 1.0", "1")), launch("Y[0, 0] = 1.0", "1"));
}

TEST(SimplifyProgram, KeepsPositions) {
  const ir::Program before = ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  output Y: f32[4, 4]\n  launch b in 4 {\n"
      "    for i in 0:1 {\n      Y[b + 0, i] = 1.0\n    }\n  }\n}\n",
      {.file = "p.tw", .locate = true});
  const ir::Stmt store = simplify(before).launches[0].as<ir::Launch>().body;
  ASSERT_TRUE(store.is<ir::Store>()) << ir::print(store);
  EXPECT_EQ(store.loc().line, 6);
}

}  // namespace
}  // namespace tw::pass
