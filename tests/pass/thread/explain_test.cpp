#include "tilewright/pass/thread/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/support/golden.h"

namespace tw::pass {
namespace {

using ::testing::HasSubstr;

struct Lowered {
  ir::Program threads;
  Remarks remarks;
  std::string layouts;
};
Lowered lowered(const ir::Program& program) {
  Lowered all;
  RunOptions options;
  options.observe = [&](const std::string& name, const ir::Program& after) {
    if (name.ends_with("_spread_loops")) all.layouts = draw_layouts(after);
  };
  all.threads = run(program, thread_pipeline(BlockLimits(), &all.remarks), options).program;
  return all;
}

std::string explanation(const Lowered& program) {
  const auto& launch = program.threads.launches.at(0).as<ir::Launch>();
  return explain_lines(program.threads, program.remarks) + "shared memory\n" + shared_map(launch);
}

Lowered kernel(const std::string& name) {
  const std::string text =
      tw::test::read_file(tw::test::source_path("tests/golden/explain/" + name + ".tw"));
  return lowered(ir::parse_program(text, {.file = name + ".tw", .locate = true}));
}

TEST(Explain, KernelsByLine) {
  for (const char* name : {"rms_norm", "transpose", "gemm"}) {
    tw::test::expect_golden(format("explain/{}.txt", name), explanation(kernel(name)));
  }
}

TEST(Explain, TheDocumentShowsWhatIsSaid) {
  const std::string document = tw::test::read_file(tw::test::source_path("docs/explain.md"));
  EXPECT_THAT(document,
              HasSubstr(explain_lines(kernel("transpose").threads, kernel("transpose").remarks)));
}

TEST(Explain, WhatKeepsAccessesNarrow) {
  const auto said = [](const std::string& body) {
    return explanation(lowered(block_program(body)));
  };
  EXPECT_THAT(said("parallel j in 64 { Y[b, j] = X[b, 63 - j] }"),
              HasSubstr("loads X by 4 bytes: its index is not contiguous"));
  EXPECT_THAT(said("parallel j in 63 { Y[b, j] = X[b, j + 1] }"),
              HasSubstr("stores Y by 4 bytes: a thread has no neighbors along an index"));
  EXPECT_THAT(said("parallel j in 64 with max_vector=2 { Y[b, j] = X[b, j] }"),
              HasSubstr("loads X by 8 bytes: max_vector asks for it"));
  EXPECT_THAT(said("parallel i in 8, j in 32 { Y[i, j] = X[i, j + 2] }"),
              HasSubstr("loads X by 8 bytes: the first of its neighbors may be no multiple of 4"));
}

TEST(Explain, WhatIsInSharedMemoryAndWhy) {
  const std::string text =
      explanation(lowered(block_program("parallel i in 8, j in 64 { x[i, j] = X[b, j] * 2.0 } "
                                        "parallel i in 8, j in 64 { Y[b, j] = x[i, 63 - j] }")));
  EXPECT_THAT(text, HasSubstr("x: in shared memory: threads read elements of others"));
  EXPECT_THAT(text, HasSubstr("barrier: x is written before it is read"));
  EXPECT_THAT(text, HasSubstr("2048 bytes  x: f32[8, 64]"));
}

TEST(Explain, WhichSharedBuffersHaveTheSameBytes) {
  EXPECT_THAT(explanation(lowered(block_program(
                  "alloc u: f32[64] shared alloc v: f32[64] shared copy X[b, 0 :+ 64] -> s "
                  "parallel j in 64 { u[j] = s[63 - j] } parallel j in 64 { v[j] = u[63 - j] } "
                  "parallel j in 64 { Y[b, j] = v[63 - j] }"))),
              HasSubstr("     0    256 bytes  s: f32[64]\n"
                        "   256    256 bytes  u: f32[64]\n"
                        "     0    256 bytes  v: f32[64], over s\n"));
}

TEST(Explain, ALoopThatIsNotPipelined) {
  EXPECT_THAT(explanation(lowered(block_program(
                  "for k in 0:8 pipelined with stages=2 { parallel j in 64 { Y[b, j] = 1.0 } }"))),
              HasSubstr("loop over k: not pipelined: no shared tile"));
}

TEST(Explain, LayoutsAreDrawn) {
  const std::string text = kernel("gemm").layouts;
  EXPECT_THAT(text, HasSubstr("gemm.tw:10: c: f32\n  [64, 64] -> 128 threads, 32 slots"));
  EXPECT_THAT(text, HasSubstr("a cell is 8 neighbors"));
  EXPECT_THAT(kernel("rms_norm").layouts, HasSubstr("not drawn: more than 4096 elements"));
}

}  // namespace
}  // namespace tw::pass
