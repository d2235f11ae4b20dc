#include "tilewright/pass/thread/plan_shared.h"

#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/sim/text_run.h"
#include "tilewright/ir/build.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::pass {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr int64_t kLimit = 4096;

/// A program of thread IR that declares a, b: f32[64] shared before the body, which begins on line
/// 2.
ir::Program program(const std::string& body) {
  return ir::parse_program(
      "tilewright ir 1 program \"p\" { inout X: f32[64] launch g in 1 with "
      "threads=[64], thread=t: i64 { alloc a: f32[64] shared alloc b: f32[64] "
      "shared\n" +
          body + " } }",
      {.file = "p.tw", .locate = true});
}

using Places = std::map<std::string, int64_t>;
Places places(const ir::Program& planned) {
  Places found;
  ir::for_each_stmt(planned.launches.at(0), [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc != nullptr && alloc->place >= 0) found[alloc->buffer.name()] = alloc->place;
  });
  return found;
}
Places plan(const std::string& body) { return places(plan_shared(program(body), kLimit)); }

const Places kShared = {{"a", 0}, {"b", 0}}, kApart = {{"a", 0}, {"b", 256}};

TEST(PlanShared, OneBufferAfterTheOtherTakesTheSameBytes) {
  const ir::Program planned = plan_shared(
      program("a[t] = X[t] barrier X[t] = a[63 - t] barrier b[t] = X[t] barrier X[t] = b[63 - t]"),
      kLimit);
  EXPECT_EQ(places(planned), kShared);
  EXPECT_EQ(planned.launches[0].as<ir::Launch>().shared_bytes, 256);
}

TEST(PlanShared, OnlyBehindABarrierOfTheWholeBlock) {
  const auto between = [](const std::string& order) {
    return plan("a[t] = X[t] barrier X[t] = a[63 - t] " + order + " b[t] = X[t]");
  };
  EXPECT_EQ(between("barrier"), kShared);
  EXPECT_EQ(between(""), kApart);
  EXPECT_EQ(between("warp sync_warp []"), kApart);
  EXPECT_EQ(between("barrier with id=1, threads=64"), kApart);
  EXPECT_EQ(between("if X[0] > 0.0 { barrier }"), kApart);
  EXPECT_EQ(between("if X[0] > 0.0 { barrier } else { barrier }"), kShared);
  EXPECT_EQ(between("for i in 0:4 { barrier }"), kApart) << "there may be no turn";
}

TEST(PlanShared, ABufferThatIsReadLaterKeepsItsBytes) {
  EXPECT_EQ(plan("a[t] = X[t] barrier b[t] = X[t] barrier X[t] = a[63 - t] + b[t]"), kApart);
  EXPECT_EQ(plan("a[t] = X[t] barrier if X[0] > 0.0 { b[t] = X[t] } barrier X[t] = a[63 - t]"),
            kApart);
}

TEST(PlanShared, ThreadsInBothBranchesMayRunAtATime) {
  EXPECT_EQ(plan("if t < 32 { a[t] = 1.0 } else { b[t] = 1.0 } barrier"), kApart);
}

TEST(PlanShared, ABufferFromBeforeALoopLivesThroughIt) {
  EXPECT_EQ(plan("for i in 0:4 { a[t] = X[t] barrier X[t] = a[63 - t] barrier b[t] = X[t] barrier "
                 "X[t] = b[63 - t] barrier }"),
            kApart);
}

TEST(PlanShared, ABufferOfATurnNeedsABarrierBetweenTurnsToo) {
  const auto loop = [](const std::string& at_end) {
    return plan(
        "for i in 0:4 { alloc c: f32[64] shared c[t] = X[t] barrier X[t] = c[63 - t] "
        "barrier alloc d: f32[64] shared d[t] = X[t] barrier X[t] = d[63 - t] " +
        at_end + " }");
  };
  EXPECT_EQ(loop("barrier").at("d"), 0);
  EXPECT_EQ(loop("").at("d"), 256);
  EXPECT_EQ(loop("if X[0] > 0.0 { continue } barrier").at("d"), 256);
  EXPECT_EQ(loop("if X[0] > 0.0 { break } barrier").at("d"), 0);
}

TEST(PlanShared, WhatEnginesUseSharesNothing) {
  EXPECT_EQ(plan("async elements X[t :+ 1] -> a[t :+ 1] sync copies_commit sync copies_wait, 0 "
                 "barrier X[t] = a[63 - t] barrier b[t] = 1.0"),
            kApart);
  EXPECT_EQ(
      plan("a[t] = 1.0 barrier alloc m: u64[1] shared if t == 0 { sync phase_init on m[0], 1 } "
           "barrier b[t] = 1.0"),
      (Places{{"a", 0}, {"b", 0}, {"m", 256}}));
}

TEST(PlanShared, WhatOtherBlocksReachSharesNothing) {
  const std::string body = " X[t] = o[63 - t] barrier b[t] = X[t] barrier X[t] = b[63 - t]";
  EXPECT_EQ(plan("a[t] = X[t] view o: f32[64] shared of a barrier" + body), kShared);
  EXPECT_EQ(plan("a[t] = X[t] view o: f32[64] shared of a with peer=g barrier" + body), kApart);
}

TEST(PlanShared, ViewsAreTheirBuffer) {
  EXPECT_EQ(plan("view v: u32[64] shared of a v[t] = u32(1) barrier b[t] = 1.0 barrier "
                 "X[t] = bitcast(v[t], f32)"),
            kApart);
  EXPECT_EQ(plan("view v: u32[64] shared of a b[t] = 1.0 barrier v[t] = u32(1)"), kShared);
}

TEST(PlanShared, FillsTheGapsThatAreLeft) {
  EXPECT_THAT(
      plan("alloc c: f32[4] shared alloc d: f32[32] shared alloc e: f32[4] shared "
           "a[t] = 0.0 d[t % 32] = 1.0 if t < 4 { c[t] = 1.0 e[t] = 1.0 }"),
      ElementsAre(Pair("a", 0), Pair("b", 0), Pair("c", 256), Pair("d", 384), Pair("e", 272)));
}

TEST(PlanShared, SaysWhatDoesNotFit) {
  try {
    plan("alloc c: f32[960] shared c[t] = 1.0 b[t] = 1.0 a[t] = 1.0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("p: 4.2 KiB of shared memory, the limit is 4 KiB"));
  }
}

// ---- whole kernels

/// Tiles that follow each other: the third is written when the first has been read by all.
constexpr const char* kTiles = R"(
    input X: f32[64, 64]
    output Y: f32[64, 64]
    launch g in 1 with threads=[128] {
      alloc a: f32[64, 64] shared
      alloc b: f32[64, 64] shared
      alloc c: f32[64, 64] shared
      copy X -> a
      parallel i in 64, j in 64 { b[i, j] = a[j, i] * 2.0 }
      parallel i in 64, j in 64 { c[i, j] = b[j, i] + 1.0 }
      parallel i in 64, j in 64 { Y[i, j] = c[j, i] }
    })";

TEST(PlanShared, SuccessiveTilesOfAKernelShareBytesAndTheTwinAgrees) {
  sim::TextRun tiles(kTiles);
  std::vector<double> x(64 * 64);
  std::iota(x.begin(), x.end(), 0.0);
  tiles.tensor("X", {64, 64}, x).tensor("Y", {64, 64});
  const ir::Program threads = after(tiles.program(), "simplify_threads");
  EXPECT_EQ(places(threads), (Places{{"a", 0}, {"b", 16384}, {"c", 0}}));
  for (const uint64_t seed : {0, 1, 2}) {
    EXPECT_EQ(to_text(sim::run_twin(threads, tiles.arguments(), {.seed = seed}).findings), "");
    const std::vector<double> result = tiles.memory("Y");
    EXPECT_EQ(result, tiles.elements("Y"));
  }
}

TEST(PlanShared, TheTwinFindsAPlanThatIsWrong) {
  sim::TextRun tiles(kTiles);
  tiles.tensor("X", {64, 64}).tensor("Y", {64, 64});
  const auto findings = [&](const std::string& buffer, int64_t place) {
    ir::Program threads = after(tiles.program(), "simplify_threads");
    for (ir::Stmt& launch : threads.launches) {
      launch = ir::rewrite(launch, [&](auto&, const ir::Alloc& n) -> ir::Stmt {
        return ir::make<ir::Alloc>(n.loc, [&](ir::Alloc& a) {
          a = n;
          if (n.buffer.name() == buffer) a.place = place;
        });
      });
    }
    return to_text(sim::run_twin(threads, tiles.arguments()).findings);
  };
  EXPECT_THAT(findings("b", 0), AllOf(HasSubstr("race: p: b["), HasSubstr(", as a) and written")));
  EXPECT_THAT(findings("c", 16384), HasSubstr("race: p: c["));
}

}  // namespace
}  // namespace tw::pass
