#include "tilewright/pass/check_pipeline.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

/// A loop that loads a tile and multiplies it; the plan stands behind `pipelined`.
std::string found(const std::string& plan, const std::string& annotation = "") {
  return findings(check_pipeline, "alloc a: f32[8, 8] shared" + annotation +
                                      " alloc c: f32[8, 8] fragment fill c = 0\n"
                                      "for k in 0:8 pipelined " +
                                      plan +
                                      " {\n"
                                      "  let from = k * 8\n"
                                      "  copy X[bx :+ 8, from :+ 8] -> a\n"
                                      "  gemm a, a -> c\n"
                                      "}");
}
std::string in_body(const std::string& stmts, const std::string& plan = "with stages=2") {
  return findings(check_pipeline,
                  "alloc a: f32[8] shared alloc b: f32[8] shared var v: f32 = 0.0\n"
                  "for k in 0:8 pipelined " +
                      plan + " {\n" + stmts + "\n}");
}

TEST(CheckPipeline, AcceptsGoodPlans) {
  EXPECT_EQ(found("with stages=3"), "");
  EXPECT_EQ(found("with stage=[0, 2], order=[0, 1]"), "");
  EXPECT_EQ(found("with stage=[0, 1], order=[1, 0]"), "");
}

TEST(CheckPipeline, ChecksTheListsOfAPlan) {
  EXPECT_EQ(found("with stage=[0, 1], order=[1, 1]"),
            "k.tw:2: error[E-PIPE-01]: p: order [1, 1] of the pipelined loop is no permutation of "
            "0 to 1");
  EXPECT_EQ(found("with stage=[0, 1]"),
            "k.tw:2: error[E-PIPE-02]: p: the pipelined loop has 2 statements, but 2 stages and 0 "
            "orders\n  help: give one stage and one order for each statement at the top of the "
            "body");
  EXPECT_EQ(found("with stage=[0, -1], order=[0, 1]"),
            "k.tw:2: error[E-PIPE-02]: p: stages [0, -1] of the pipelined loop: none may be "
            "negative");
}

TEST(CheckPipeline, FindsAPlanAgainstADependence) {
  EXPECT_EQ(found("with stage=[1, 0], order=[0, 1]"),
            "k.tw:5: error[E-PIPE-04]: p: the plan runs `gemm a, a -> c` before `copy X[bx :+ 8, "
            "from :+ 8] -> a`, on which it depends through a\n"
            "  note: stages [1, 0], order [0, 1]");
  EXPECT_NE(found("with stage=[0, 0], order=[1, 0]"), "");
}

TEST(CheckPipeline, FindsAPlanAgainstADependenceBetweenIterations) {
  // v of the iteration before is read first.
  const std::string body = "Y[bx, k] = v\nv = X[bx, k]";
  EXPECT_EQ(in_body(body, "with stage=[0, 0], order=[0, 1]"), "");
  EXPECT_EQ(in_body(body, "with stage=[0, 2], order=[0, 1]"),
            "k.tw:3: error[E-PIPE-04]: p: the plan runs `Y[bx, k] = v` before `v = X[bx, k]` of "
            "the iteration before, on which it depends through v\n"
            "  note: stages [0, 2], order [0, 1]");
}

TEST(CheckPipeline, FindsASecondWriterOfALoadedTile) {
  const std::string load = "copy X[bx, 0 :+ 8] -> a\n";
  EXPECT_EQ(
      in_body(load + "parallel i in 8 { a[i] = a[i] * 2 }\ncopy a -> Y[bx, 0 :+ 8]"),
      "k.tw:4: error[E-PIPE-03]: p: a is loaded ahead by the pipeline and written by a second "
      "statement\n"
      "  note: it is loaded by `copy X[bx, 0 :+ 8] -> a`\n"
      "  note: it is written by `parallel i in 8`\n"
      "  help: write the second result to a buffer of its own");
  EXPECT_EQ(in_body(load + "parallel i in 8 { b[i] = a[i] * 2 }\ncopy b -> Y[bx, 0 :+ 8]"), "");
  EXPECT_EQ(in_body("copy X[bx, 0 :+ 4] -> a[0 :+ 4]\ncopy X[bx, 9 :+ 4] -> a[4 :+ 4]\n"
                    "copy a -> Y[bx, 0 :+ 8]"),
            "");
}

TEST(CheckPipeline, FindsTooFewVersions) {
  EXPECT_EQ(found("with stages=3", " with versions=2"),
            "k.tw:2: error[E-PIPE-05]: p: a has 2 versions, the pipelined loop needs 3\n"
            "  note: a is f32[8, 8] shared\n"
            "  help: annotate versions(a, 3), or leave them to the compiler");
  EXPECT_EQ(found("with stages=3", " with versions=3"), "");
  EXPECT_EQ(found("with stages=3", " with versions=2, manual_versions"), "");
  EXPECT_EQ(found("with stage=[0, 1], order=[1, 0]", " with versions=1"), "");
  EXPECT_NE(found("with stage=[0, 1], order=[0, 1]", " with versions=1"), "");
}

TEST(CheckPipeline, FindsJumpsOutOfTheLoop) {
  EXPECT_EQ(in_body("if k == 3 {\n  break\n}"),
            "k.tw:4: error[E-PIPE-07]: p: `break` leaves a pipelined loop\n"
            "  help: use serial, or guard the rest of the body with if_");
  EXPECT_EQ(in_body("for i in 0:4 { if i == 3 { break } }"), "");
}

}  // namespace
}  // namespace tw::pass
