// Defects that are put into a program, and who notices them.
#include "tilewright/sim/mutate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/ring.h"
#include "tests/sim/text_run.h"
#include "tilewright/ir/verify.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;

std::vector<double> numbers(size_t n) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i * i % 31 + 1);
  return values;
}

std::vector<std::string> names(const std::string& body) {
  const TextRun p(
      "input X: f32[256] output Y: f32[256] launch b in 1 with threads=[64], thread=t: i64, "
      "shared_bytes=1024 {\n" +
      body + "\n}");
  std::vector<std::string> names;
  for (const Mutant& mutant : mutants(p.program())) {
    EXPECT_THAT(ir::violations(mutant.program, ir::Level::thread), ElementsAre()) << mutant.name;
    names.push_back(mutant.name);
  }
  return names;
}

TEST(Mutate, ChangesOneThingAtATime) {
  EXPECT_THAT(names("barrier\nbarrier with id=1, threads=64"),
              ElementsAre("p.tw:2: no barrier", "p.tw:3: no barrier",
                          "p.tw:3: barrier for 32 threads fewer", "p.tw:3: another barrier"));
  EXPECT_THAT(names("warp sync_warp\nwarp shfl_xor [1.0, i32(4)] with result=v: f32\nwarp shfl_up "
                    "[1.0, i32(4)] with width=8, result=w: f32"),
              ElementsAre("p.tw:2: no sync_warp", "p.tw:3: shuffle over the double distance",
                          "p.tw:4: width 4", "p.tw:4: shuffle one lane farther"));
  EXPECT_THAT(names("if t < 3 && t > 1 { Y[t] = 1.0 }"),
              ElementsAre("p.tw:2: no guard", "p.tw:2: opposite guard",
                          "p.tw:2: t < 3 && t > 1 without t < 3",
                          "p.tw:2: t < 3 && t > 1 without t > 1", "p.tw:2: index 0 of Y plus 1"));
  EXPECT_THAT(
      names("for i in 0:3 { Y[max(i, t)] = X[min(t, 7)] }"),
      ElementsAre("p.tw:2: end of the loop over i plus 1", "p.tw:2: end of the loop over i minus 1",
                  "p.tw:2: begin of the loop over i plus 1", "p.tw:2: index 0 of Y plus 1",
                  "p.tw:2: i instead of max(i, t)", "p.tw:2: t instead of max(i, t)",
                  "p.tw:2: index 0 of X plus 1", "p.tw:2: t instead of min(t, 7)"));
  EXPECT_THAT(names("alloc r: f32[4] local\nmove X[t * 4] -> r[0] x 4"),
              ElementsAre("p.tw:3: no move from X to r", "p.tw:3: index 0 of X plus 1",
                          "p.tw:3: index 0 of r plus 1"));
}

TEST(Mutate, AGridIsReachedWhereItsBlocksBegin) {
  const TextRun p(
      "symbol n: i64 input X: f32[n] output Y: f32[64] launch b in max(n, 1) with threads=[64], "
      "thread=t: i64 { Y[t] = 1.0 }");
  const std::vector<Mutant> all = mutants(p.program());
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].name, "p.tw:1: n instead of max(n, 1)");
  for (const Mutant& mutant : all) {
    ASSERT_TRUE(mutant.trap.launches.at(0).is<ir::Launch>()) << mutant.name;
    EXPECT_THAT(ir::violations(mutant.trap, ir::Level::thread), ElementsAre()) << mutant.name;
  }
}

TEST(Mutate, EveryDefectOfASumOverABlockIsNoticed) {
  TextRun p(R"(
    symbol n: i64
    input X: f32[n]
    output Y: f32[1]
    launch b in 1 with threads=[64], thread=t: i64, shared_bytes=64 {
      alloc s: f32[2] shared with place=0
      var sum: f32 = 0.0
      for i in 0:(n + 63) // 64 {
        if i * 64 + t < n { sum = sum + X[i * 64 + t] }
      }
      for j in 0:5 unrolled {
        warp shfl_xor [sum, i32(16) >> cast(j, i32)] with result=v: f32
        sum = sum + v
      }
      if t % 32 == 0 { s[t // 32] = sum }
      barrier
      if t == 0 { Y[0] = s[0] + s[1] }
    })");
  p.tensor("X", {150}, numbers(150)).tensor("Y", {1});
  const MutationReport report = run_mutants(p.program(), p.arguments());
  // The guard keeps one iteration more from doing harm.
  EXPECT_EQ(to_text(report),
            "19 of 20 mutants are caught; survivors:\np.tw:8: end of the loop over i plus 1");
}

TEST(Mutate, EveryDefectOfALoopThroughSharedMemoryIsNoticed) {
  TextRun p(R"(
    input X: f32[512]
    output Y: f32[512]
    launch b in 1 with threads=[64], thread=t: i64, shared_bytes=512 {
      alloc s: f32[64] shared with place=0
      for i in 0:8 {
        s[t] = X[i * 64 + t]
        barrier
        Y[i * 64 + t] = s[63 - t]
        barrier
      }
    })");
  p.tensor("X", {512}, numbers(512)).tensor("Y", {512});
  const MutationReport report = run_mutants(p.program(), p.arguments());
  EXPECT_EQ(to_text(report), "9 of 9 mutants are caught");
}

TEST(Mutate, EveryDefectOfARingOfCopiesIsNoticed) {
  TextRun p(
      "input X: f32[256] output Y: f32[256] launch b in 1 with threads=[64], thread=t: i64, "
      "shared_bytes=1024 {" +
      kRing + "}");
  p.tensor("X", {256}, numbers(256)).tensor("Y", {256});
  EXPECT_EQ(to_text(run_mutants(p.program(), p.arguments())), "44 of 44 mutants are caught");
}

TEST(Mutate, EveryDefectOfAsynchronousStoresIsNoticed) {
  TextRun p(R"(
    input X: f32[128]
    output Y: f32[128]
    launch b in 1 with threads=[32], thread=t: i64, shared_bytes=512 {
      alloc s: f32[128] shared with place=0
      async elements X[t * 4 :+ 4] -> s[t * 4 :+ 4]
      sync copies_commit
      sync copies_wait, 0
      barrier
      var last: f32 = s[127 - t]
      barrier
      s[96 + t] = last
      sync fence_engines
      barrier
      if t == 0 {
        async bulk s -> Y
        sync bulk_commit
        sync bulk_wait_read, 0
      }
    })");
  p.tensor("X", {128}, numbers(128)).tensor("Y", {128});
  EXPECT_EQ(to_text(run_mutants(p.program(), p.arguments())), "20 of 20 mutants are caught");
}

TEST(Mutate, AProgramWithFindingsHasNoMutants) {
  TextRun p(R"(
    output Y: f32[4]
    launch b in 1 with threads=[8], thread=t: i64 { Y[t] = 1.0 })");
  p.tensor("Y", {4});
  try {
    run_mutants(p.program(), p.arguments());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "p: the twin reports something before anything is changed\n"
              "p.tw:3: out_of_bounds: p: thread 4 of block [0]: Y[4] is outside Y [4] (4 times)\n");
  }
}

}  // namespace
}  // namespace tw::sim
