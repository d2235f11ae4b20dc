// Where the twin's memory lies: views, strides, padding, addresses, tensors that overlap; and what
// else a run consists of.
#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;

std::vector<double> iota(size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(TwinMemory, FollowsTheStridesOfArguments) {
  TextRun p(R"(
    symbol s: i64
    input X: f32[2, 2] with strides=[s, 1]
    output Y: f32[2, 2]
    launch b in 1 with threads=[4], thread=t: i64 { Y[t // 2, t % 2] = X[t // 2, t % 2] })");
  p.tensor("X", {2, 2}, iota(5), {3, 1}).tensor("Y", {2, 2});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(1, 2, 4, 5));
}

TEST(TwinMemory, NeighborsOfAMoveLieSideBySide) {
  TextRun p(R"(
    symbol s: i64
    input X: f32[2, 2] with strides=[1, s]
    launch b in 1 with threads=[1], thread=t: i64 {
      alloc r: f32[2] local
      move X[0, 0] -> r[0] x 2
    })");
  p.tensor("X", {2, 2}, iota(4), {1, 2});
  EXPECT_EQ(to_text(p.run_twin().findings),
            "p.tw:6: misaligned: p: thread 0 of block [0]: X[0, 0 :+ 2] are no neighbors in "
            "memory, their stride is 2\n");
}

TEST(TwinMemory, ViewsSeeTheBytesOfTheirRoot) {
  TextRun p(R"(
    output Y: u8[16]
    output Z: f32[4]
    launch b in 1 with threads=[16], thread=t: i64, shared_bytes=32 {
      alloc s: u32[4] shared with place=16
      if t < 4 { s[t] = cast(t, u32) + u32(256) }
      barrier
      view v: u8[2, 8] shared of s
      Y[t] = v[t // 8, t % 8]
      alloc r: f32[4] local
      view q: f32[2, 2] local of r with strides=[1, 2]
      q[1, 0] = 5.0
      if t == 0 { Z[0] = r[1] }
    })");
  p.tensor("Y", {16}).tensor("Z", {4});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(0, 1, 0, 0, 1, 1, 0, 0, 2, 1, 0, 0, 3, 1, 0, 0));
  EXPECT_EQ(p.memory("Z")[0], 5);
}

TEST(TwinMemory, RowsArePadded) {
  TextRun p(R"(
    output Y: i32[8]
    launch b in 1 with threads=[8], thread=t: i64, shared_bytes=40 {
      alloc s: i32[2, 4] shared with place=0, padding=1
      view v: i32[8] shared of s
      s[t // 4, t % 4] = cast(t, i32)
      barrier
      Y[t] = v[7 - t]
    })");
  p.tensor("Y", {8});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
}

TEST(TwinMemory, HalvesOfAByteMayBeWrittenByTwoThreads) {
  TextRun p(R"(
    output Y: e2m1[4]
    launch b in 1 with threads=[2], thread=t: i64 {
      alloc r: e2m1[4] local
      r[0] = cast(1.5, e2m1)
      r[1] = cast(6.0, e2m1)
      Y[t * 2] = r[t]
      Y[t * 2 + 1] = r[1]
    })");
  p.tensor("Y", {4});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(1.5, 6, 6, 6));
  TextRun halves(R"(
    output Y: e2m1[4]
    launch b in 1 with threads=[4], thread=t: i64 { Y[t] = cast(1.5, e2m1) })");
  halves.tensor("Y", {4});
  EXPECT_EQ(to_text(halves.run_twin().findings), "");
  EXPECT_THAT(halves.memory("Y"), ElementsAre(1.5, 1.5, 1.5, 1.5));
}

TEST(TwinMemory, TensorsThatOverlapAreOneMemory) {
  TextRun p(R"(
    input X: i32[4]
    inout Y: i32[4]
    launch b in 1 with threads=[4], thread=t: i64 { Y[t] = X[3 - t] })");
  p.tensor("X", {4}, iota(4)).tensor("Y", {4});
  std::vector<Argument> arguments = p.arguments();
  arguments[1].data = arguments[0].data;
  EXPECT_EQ(to_text(run_twin(p.program(), arguments).findings),
            "p.tw:4: race: p: X[1] is written by thread 1 of block [0] (p.tw:4, as Y) and read by "
            "thread 2 with no sync_warp or barrier between (2 times)\n"
            "p.tw:4: race: p: Y[2] is read by thread 1 of block [0] (p.tw:4, as X) and written by "
            "thread 2 with no sync_warp or barrier between (2 times)\n");
}

TEST(TwinMemory, AddressesLeadToTensors) {
  TextRun p(R"(
    input A: u64[1]
    output Y: f32[4]
    launch b in 1 with threads=[4], thread=t: i64 {
      view v: f32[8] with address=A[0]
      Y[t] = v[t + 1]
    })");
  const std::vector<float> far = {1, 2, 3, 4};
  const auto address = reinterpret_cast<uintptr_t>(far.data());
  p.tensor("A", {1}).tensor("Y", {4});
  std::vector<Argument> arguments = p.arguments();
  std::memcpy(arguments[0].data, &address, 8);
  TwinOptions options;
  options.memory = {{const_cast<float*>(far.data()), 16}};
  EXPECT_EQ(to_text(run_twin(p.program(), arguments, options).findings),
            "p.tw:6: outside_storage: p: thread 3 of block [0]: v[4] lies outside its memory\n");
  EXPECT_THAT(p.memory("Y"), ElementsAre(2, 3, 4, 0));
}

TEST(TwinMemory, WorkspacesStartUnwrittenOrZero) {
  const auto run = [](const std::string& zero) {
    TextRun p("output Y: f32[4] workspace W: f32[4]" + zero +
              R"( launch b in 1 with threads=[4], thread=t: i64 { if t > 0 { W[t] = 1.0 } }
                  launch b in 1 with threads=[4], thread=t: i64 { Y[t] = W[3 - t] })");
    p.tensor("Y", {4});
    return to_text(p.run_twin().findings);
  };
  EXPECT_EQ(run(" with zero"), "");
  EXPECT_EQ(
      run(""),
      "p.tw:2: uninitialized_read: p: thread 3 of block [0] reads W[0] before it is written\n");
}

// ---- runs

TEST(TwinRun, SolvesSizesAndTakesTheFirstLaunchWhoseGuardHolds) {
  TextRun p(R"(
    symbol n: i64
    output Y: i32[n]
    scalar a: i32
    launch b in (n + 3) // 4 with threads=[4], thread=t: i64, guard=n % 4 == 0 { Y[b * 4 + t] = a }
    launch b in (n + 3) // 4 with threads=[4], thread=t: i64 {
      if b * 4 + t < n { Y[b * 4 + t] = -a }
    })");
  p.tensor("Y", {6}).scalar("a", 7);
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(-7, -7, -7, -7, -7, -7));
  p.tensor("Y", {4});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(7, 7, 7, 7));
}

TEST(TwinRun, RunsSomeBlocksOfAGrid) {
  TextRun p(R"(
    output Y: i32[2, 3]
    launch a in 2, b in 3 with threads=[1], thread=t: i64 { Y[a, b] = cast(a * 10 + b, i32) })");
  p.tensor("Y", {2, 3});
  EXPECT_EQ(to_text(p.run_twin({.blocks = {1, 5}}).findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(0, 1, 0, 0, 0, 12));
  EXPECT_THROW(p.run_twin({.blocks = {6}}), Error);
}

TEST(TwinRun, PrintsAndStopsAtAnAssertion) {
  TextRun p(R"(
    output Y: i32[4]
    launch b in 2 with threads=[4], thread=t: i64 {
      Y[t] = 1
      if t == 1 { print "b is {}" [b] }
      alloc r: f32[2] local
      r[0] = 1.5
      r[1] = 2.0
      if t == 2 { print "r" [] with buffer=r }
      assert t < 3, "t is {}" [t]
      assume t != 1
    })");
  p.tensor("Y", {4});
  const TwinResult result = p.run_twin();
  EXPECT_EQ(to_text(result.findings),
            "p.tw:11: false_assumption: p: thread 1 of block [0]: the assumed condition is false\n"
            "p.tw:10: failed_assert: p: thread 3 of block [0]: t is 3\n");
  EXPECT_THAT(result.printed, ElementsAre("b is 0", "r", "r[0] = 1.5", "r[1] = 2"));
  std::vector<std::string> lines;
  p.run_twin({.print = [&](const std::string& line) { lines.push_back(line); }});
  EXPECT_EQ(lines.size(), 4U);
}

TEST(TwinRun, OperandsThatAreWrongAreReported) {
  TextRun p(R"(
    output Y: i32[4]
    launch b in 1 with threads=[4], thread=t: i64 {
      Y[t] = 8 // cast(t, i32)
      Y[t] = 1 << cast(t * 16, i32)
    })");
  p.tensor("Y", {4});
  EXPECT_EQ(to_text(p.run_twin().findings),
            "p.tw:4: division_by_zero: p: thread 0 of block [0] divides 8 by 0 (floordiv)\n"
            "p.tw:5: shift_out_of_range: p: thread 2 of block [0] shifts i32 by 32 (2 times)\n");
}

TEST(TwinRun, LoopsRunAsWritten) {
  TextRun p(R"(
    output Y: i32[8]
    launch b in 1 with threads=[2], thread=t: i64 {
      var n: i32 = 0
      for i in 7:-1:-2 {
        if i == 3 { continue }
        n = n * 10 + cast(i, i32)
      }
      var m: i32 = 0
      while true {
        m = m + 1
        if m == 5 + cast(t, i32) { break }
      }
      let c: i32 = if_else(t == 0 && n > 0, n, -n)
      Y[t * 2] = c
      Y[t * 2 + 1] = m
      Y[t + 4] = if_else(t == 0 || n < 0, i32(1), 8 // cast(t, i32))
      Y[t + 6] = 0
    })");
  p.tensor("Y", {8});
  EXPECT_EQ(to_text(p.run_twin().findings), "");
  EXPECT_THAT(p.memory("Y"), ElementsAre(751, 5, -751, 6, 1, 8, 0, 0));
}

}  // namespace
}  // namespace tw::sim
