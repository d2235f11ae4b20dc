// What the interpreter reports, and what it must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;

/// The findings of a launch over `output Y: i32[8]` and `input X: i32[8]` (1, 2, ...); its body
/// begins on line 2.
std::string findings(const std::string& body, const RunOptions& options = {}) {
  TextRun p("input X: i32[8] output Y: i32[8] launch b in 1 {\n" + body + "\n}");
  p.tensor("X", {8}, {1, 2, 3, 4, 5, 6, 7, 8}).tensor("Y", {8});
  return p.findings(options);
}

TEST(Findings, AnElementThatWasNeverWrittenIsRead) {
  EXPECT_EQ(findings("alloc t: i32[8] shared\nparallel i in 4 { t[i] = 1 }\ncopy t -> Y"),
            "p.tw:4: uninitialized_read: t[4] is read before it is written (4 times)\n");
  EXPECT_EQ(findings("Y[0] = Y[1]"),
            "p.tw:2: uninitialized_read: Y[1] is read before it is written\n");
  EXPECT_EQ(
      findings("for i in 0:2 {\nalloc t: i32[1] local\nif i == 0 { t[0] = 1 }\nY[i] = t[0]\n}"),
      "p.tw:5: uninitialized_read: t[0] is read before it is written\n");
}

TEST(Findings, TheHalfOfAByteIsWatchedByItself) {
  EXPECT_EQ(findings("alloc t: e2m1[4] shared\nt[1] = 1.0\nY[0] = cast(cast(t[1], f32), i32)"), "");
  EXPECT_EQ(findings("alloc t: e2m1[4] shared\nt[1] = 1.0\nY[0] = cast(cast(t[0], f32), i32)"),
            "p.tw:4: uninitialized_read: t[0] is read before it is written\n");
}

TEST(Findings, BlockBuffersHaveBounds) {
  EXPECT_EQ(findings("alloc t: i32[4] shared\nparallel i in 5 { t[i] = 1 }"),
            "p.tw:3: out_of_bounds: t[4] is outside t [4]\n");
  EXPECT_EQ(findings("alloc t: i32[4] shared\nfill t[2 :+ 4] = 1"),
            "p.tw:3: out_of_bounds: t[4] is outside t [4] (2 times)\n");
}

TEST(Findings, WhatTheAuthorPromisedToBeInsideIsNot) {
  EXPECT_EQ(findings("Y![8] = 1"), "p.tw:2: out_of_bounds: Y[8] is outside Y [8]\n");
  EXPECT_EQ(findings("Y[8] = X[-1]"), "");
}

TEST(Findings, IterationsThatTouchOneElementConflict) {
  EXPECT_EQ(findings("parallel i in 2, j in 4 { Y[j] = X[i] }"),
            "p.tw:2: iteration_conflict: iterations [0, 0] and [1, 0] both access Y[0], and one of "
            "them writes it (4 times)\n");
  EXPECT_EQ(findings("alloc t: i32[8] shared\ncopy X -> t\nparallel i in 7 { t[i] = t[i + 1] }"),
            "p.tw:4: iteration_conflict: iterations [0] and [1] both access t[1], and one of them "
            "writes it (6 times)\n");
}

TEST(Findings, AConflictNamesItsIterations) {
  TextRun p("output Y: i32[8] launch b in 1 { parallel i in 3, j in 4 { Y[i + j] = 1 } }");
  p.tensor("Y", {8});
  const RunResult result = p.run();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_THAT(result.findings[0].first, ElementsAre(0, 1));
  EXPECT_THAT(result.findings[0].second, ElementsAre(1, 0));
}

TEST(Findings, NestedParallelLoopsAreOneBox) {
  EXPECT_EQ(findings("parallel i in 2 { parallel j in 4 { Y[j] = X[i] } }"),
            "p.tw:2: iteration_conflict: iterations [0, 0] and [1, 0] both access Y[0], and one of "
            "them writes it (4 times)\n");
}

TEST(Findings, WhatIterationsMayShareIsNoConflict) {
  EXPECT_EQ(findings("parallel i in 8 { Y[i] = X[0] + X[7] }"), "");
  EXPECT_EQ(findings("parallel i in 8 {\nY[i] = 1\nY[i] = Y[i] + 1\n}"), "");
  EXPECT_EQ(findings("parallel i in 8 {\nvar v: i32 = 0\nv = v + X[i]\nY[i] = v\n}"), "");
  EXPECT_EQ(findings("copy X -> Y\nparallel i in 8 { atomic add Y[0], X[i] }"), "");
  // Only data of each thread: every thread runs all iterations.
  EXPECT_EQ(findings("var v: i32 = 0\nparallel i in 8 { v = v + 1 }\nY[0] = v"), "");
}

TEST(Findings, APlainAccessBesideAnAtomicOneConflicts) {
  EXPECT_EQ(findings("copy X -> Y\nparallel i in 2 {\nif i == 0 { atomic add Y[0], 1 }\n"
                     "if i == 1 { Y[1] = Y[0] }\n}"),
            "p.tw:5: iteration_conflict: iterations [0] and [1] both access Y[0], and one of them "
            "writes it\n");
}

TEST(Findings, AConflictIsFoundInAnyOrder) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    EXPECT_NE(findings("parallel i in 8 { Y[i // 2] = 1 }", {.seed = seed}), "");
  }
}

TEST(Findings, ACopyThatOverlapsItselfConflicts) {
  EXPECT_EQ(findings("alloc t: i32[8] shared\ncopy X -> t\ncopy t[0 :+ 7] -> t[1 :+ 7]"),
            "p.tw:4: iteration_conflict: iterations [0] and [1] both access t[1], and one of them "
            "writes it (6 times)\n");
  EXPECT_EQ(findings("alloc t: i32[8] shared\ncopy X -> t\ncopy t[0 :+ 4] -> t[4 :+ 4]"), "");
}

TEST(Findings, BlocksConflictUnlessTheyMaySynchronize) {
  const auto run = [](const std::string& body) {
    TextRun p("inout A: i32[4] launch a in 2, b in 2 {" + body + "}");
    p.tensor("A", {4});
    return p.findings();
  };
  EXPECT_EQ(run("A[b] = 1"),
            "p.tw:1: block_conflict: blocks [0, 0] and [1, 0] both access A[0], and one of them "
            "writes it (2 times)\n");
  EXPECT_EQ(run("atomic add A[b], 1"), "");
  EXPECT_EQ(run("A[b] = 1 atomic add A[3], 1 with order=acq_rel"), "");
}

TEST(Findings, UndefinedArithmetic) {
  EXPECT_EQ(findings("Y[0] = X[1] // (X[0] - 1)"), "p.tw:2: division_by_zero: floordiv(2, 0)\n");
  EXPECT_EQ(findings("Y[0] = X[0] << (X[7] * 4)"),
            "p.tw:2: shift_out_of_range: shl by 32 of i32\n");
  EXPECT_EQ(findings("Y[0] = X[0] + 2147483647"), "");
  EXPECT_EQ(findings("Y[0] = X[0] + 2147483647", {.check_overflow = true}),
            "p.tw:2: signed_overflow: add(1, 2147483647) overflows i32\n");
}

TEST(Findings, TheMagnitudeOfTheLowestValueOverflows) {
  for (const std::string kind : {"abs_max", "abs_sum"}) {
    const auto of = [&](const std::string& element) {
      return findings("alloc s: i32[2] fragment fill s = " + element +
                          " alloc d: i32[1] fragment reduce " + kind + " s -> d over [0]",
                      {.check_overflow = true});
    };
    EXPECT_EQ(of("-2147483647 + X[7]"), "");
    EXPECT_EQ(of("-2147483648"),
              "p.tw:2: signed_overflow: abs(-2147483648) overflows i32 (2 times)\n");
  }
}

TEST(Findings, ALoopThatDoesNotEnd) {
  EXPECT_EQ(findings("while true { Y[0] = 1 }", {.max_steps = 1000}),
            "p.tw:2: endless_loop: the program ran more than 1000 iterations\n");
  EXPECT_EQ(findings("for i in 0:8:b { Y[i] = 1 }"), "p.tw:2: loop_step: the loop's step is 0\n");
}

TEST(Findings, AFailedAssertStopsTheProgram) {
  EXPECT_EQ(findings("assert X[0] == 2, \"first\" [X[0]]\nY![9] = 1"),
            "p.tw:2: failed_assert: first 1\n");
  EXPECT_EQ(findings("assume X[0] == 2"),
            "p.tw:2: false_assumption: the assumed condition is false\n");
}

TEST(Findings, ExtentsThatDisagreeAtRunTime) {
  EXPECT_EQ(findings("copy X[0 :+ cast(X[2], i64)] -> Y[0 :+ cast(X[3], i64)]"),
            "p.tw:2: extent_mismatch: X [3] and Y [4] have different extents\n");
}

TEST(Findings, AReducerOutsideItsEpoch) {
  const std::string reducer = "alloc r: i32[1] reducer\nalloc d: i32[1] fragment\n";
  EXPECT_EQ(findings(reducer + "update r[0] = 1"),
            "p.tw:4: uninitialized_read: r[0] is read before it is written\n");
  EXPECT_EQ(findings(reducer + "init r\nfinalize r -> d\nfinalize r -> d"),
            "p.tw:6: uninitialized_read: r[0] is read before it is written\n");
}

TEST(Findings, AViewThatLeavesItsMemory) {
  EXPECT_EQ(findings("view v: i32[4] global of X with strides=[3], offset=0\ncopy v -> Y[0 :+ 4]"),
            "p.tw:3: outside_storage: v[3] lies outside its memory\n");
}

TEST(Findings, UndefinedContentsDependOnTheSeed) {
  TextRun p("output Y: i32[1] launch b in 1 {\nalloc t: i32[1] shared\nY[0] = t[0]\n}");
  p.tensor("Y", {1});
  p.run({.seed = 1});
  const std::vector<double> first = p.memory("Y");
  p.run({.seed = 2});
  EXPECT_NE(first, p.memory("Y"));
}

}  // namespace
}  // namespace tw::sim
