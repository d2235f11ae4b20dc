#include "tilewright/pass/thread/pipeline_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/sim/text_run.h"
#include "tilewright/base/format.h"

namespace tw::pass {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Y[b, j] = the sum over k of X[k, 127 - j] * (k + 1), through a tile that other threads fill.
std::string sum_over_k(int stages, const std::string& dtype = "f32", int width = 128,
                       const std::string& outer = "") {
  return format(R"(
    symbol n: i64
    symbol m: i64
    input X: {1}[n, {2}] with strides=[m, 1]
    output Y: f32[2, {2}]
    launch b in 2 {{
      alloc t: {1}[4, {2}] shared
      alloc sum: f32[{2}] fragment
      fill sum = 0.0
      {3}
      for k in 0:((n + 3) // 4) pipelined with stages={0} {{
        copy X[k * 4 :+ 4, 0 :+ {2}] -> t
        for r in 0:4 {{
          parallel j in {2} {{
            sum[j] = sum[j] + cast(t[r, {2} - 1 - j], f32) * cast(k * 4 + r + 1, f32)
          }}
        }}
      }}
      {4}
      copy sum -> Y[b, 0 :+ {2}]
    }})",
                stages, dtype, width, outer.empty() ? "" : outer + " {", outer.empty() ? "" : "}");
}

std::string lowered_text(const std::string& body) {
  const sim::TextRun p(body);
  return ir::print(run(p.program(), thread_pipeline(BlockLimits()), {}).program);
}

/// Runs the lowered program in the twin on n rows, m elements apart; it must have nothing to
/// report and agree with the interpreter.
void expect_right(const std::string& body, int64_t n, int64_t width, int64_t m) {
  SCOPED_TRACE(format("{} rows", n));
  std::vector<double> x;
  for (int64_t i = 0; i < n * m; ++i) x.push_back(static_cast<double>(i * 7 % 23 - 11));
  if (!x.empty()) x.resize(static_cast<size_t>((n - 1) * m + width));
  sim::TextRun p(body);
  p.tensor("X", {n, width}, x, {m, 1}).tensor("Y", {2, width});
  const std::vector<double> wanted = p.elements("Y");
  const ir::Program threads = run(p.program(), thread_pipeline(BlockLimits()), {}).program;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    p.tensor("Y", {2, width});
    EXPECT_EQ(to_text(sim::run_twin(threads, p.arguments(), {.seed = seed}).findings), "");
    EXPECT_EQ(p.memory("Y"), wanted);
  }
}

TEST(PipelineLoops, LoadsTilesAhead) {
  const std::string text = lowered_text(sum_over_k(3));
  EXPECT_THAT(text, HasSubstr("alloc t: f32[3, 4, 128] shared"));
  EXPECT_THAT(text, HasSubstr("async elements X!["));
  EXPECT_THAT(text, HasSubstr("sync copies_wait, 1"));
  EXPECT_THAT(text, HasSubstr("this turn's tiles are here"));
}

TEST(PipelineLoops, AnyNumberOfTurnsAndStages) {
  for (const int stages : {2, 3, 4}) {
    SCOPED_TRACE(stages);
    for (const int64_t n : {0, 1, 4, 7, 8, 30}) expect_right(sum_over_k(stages), n, 128, 128);
  }
}

TEST(PipelineLoops, RowsThatNoVectorFits) {
  expect_right(sum_over_k(3, "f32", 128), 9, 128, 131);
  expect_right(sum_over_k(3, "bf16", 96), 9, 96, 97);  // single elements of 2 bytes are not copied
  expect_right(sum_over_k(2, "f32", 33), 9, 33, 33);
}

TEST(PipelineLoops, ALoopInALoop) {
  expect_right(sum_over_k(3, "f32", 128, "for again in 0:3"), 13, 128, 128);
}

TEST(PipelineLoops, WhatIsNotLoadedAhead) {
  const auto versions = [](const std::string& from, const std::string& to) {
    std::string body = sum_over_k(3);
    const size_t at = body.find(from);
    return lowered_text(body.replace(at, from.size(), to));
  };
  // One stage; a tile that is used after the loop; one that a second statement writes.
  EXPECT_THAT(versions("stages=3", "stages=1"), Not(HasSubstr("async")));
  EXPECT_THAT(
      versions("copy sum ->", "parallel j in 128 { sum[j] = sum[j] + t[0, j] } copy sum ->"),
      Not(HasSubstr("async")));
  EXPECT_THAT(versions("for r in 0:4 {", "parallel j in 128 { t[0, j] = 1.0 } for r in 0:4 {"),
              Not(HasSubstr("async")));
}

}  // namespace
}  // namespace tw::pass
