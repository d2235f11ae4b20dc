// Clusters in the twin: memory of other blocks, the barrier of all threads, and what it reports.
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/verify.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A program of thread IR on input X: f32[256], output Y: f32[256] and inout C: i32[8], of 32
/// threads a block and clusters of 2; s is f32[32] of the block, o the same of the other block.
/// Its body begins on line 2.
struct Kernel : TextRun {
  explicit Kernel(const std::string& body, int blocks = 2)
      : TextRun(format("input X: f32[256] output Y: f32[256] inout C: i32[8] launch b in {} with "
                       "threads=[32], cluster=[2], thread=t: i64, shared_bytes=1024 {{ "
                       "alloc s: f32[32] shared with place=0 "
                       "view o: f32[32] shared of s with peer=1 - b % 2\n",
                       blocks) +
                body + "\n}") {
    EXPECT_THAT(ir::violations(program(), ir::Level::thread), ElementsAre());
    std::vector<double> x(256);
    std::iota(x.begin(), x.end(), 1);
    tensor("X", {256}, x).tensor("Y", {256}).tensor("C", {8});
  }
  std::string findings(uint64_t seed = 0) { return to_text(run_twin({.seed = seed}).findings); }
};

const std::string kMeet = "sync cluster_arrive\nsync cluster_wait\n";

std::string findings(const std::string& body, int blocks = 2) {
  return Kernel(body, blocks).findings();
}
/// Some order shows it.
std::string found(const std::string& body) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const std::string text = Kernel(body).findings(seed);
    if (!text.empty()) return text;
  }
  return "";
}

TEST(TwinCluster, BlocksReadEachOther) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Kernel k("s[t] = X[b * 32 + t]\n" + kMeet + "Y[b * 32 + t] = o[31 - t]\n" + kMeet, 8);
    EXPECT_EQ(k.findings(seed), "");
    const std::vector<double> y = k.memory("Y");
    for (size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(y[i], static_cast<double>((i / 32 ^ 1) * 32 + 32 - i % 32));
    }
  }
}

TEST(TwinCluster, OneChosenBlockBringsItsCluster) {
  Kernel k("s[t] = X[b * 32 + t]\n" + kMeet + "Y[b * 32 + t] = o[31 - t]\n" + kMeet, 8);
  EXPECT_EQ(to_text(k.run_twin({.blocks = {3}}).findings), "");
  EXPECT_EQ(k.memory("Y")[64], 128);
  EXPECT_EQ(k.memory("Y")[96], 96);
  EXPECT_EQ(k.memory("Y")[0], 0);
}

TEST(TwinCluster, WhatIsReadBeforeTheBarrier) {
  EXPECT_THAT(findings("s[t] = X[t]\nY[b * 32 + t] = o[t]\n" + kMeet),
              HasSubstr("race: p: thread 0 of block [1] uses o[0] of block [0], which may not have "
                        "begun; begin with a barrier of the cluster"));
  EXPECT_THAT(found(kMeet + "s[t] = X[t]\nY[b * 32 + t] = o[t]\n" + kMeet),
              HasSubstr("only barriers of the cluster, atomics and the end of a launch order "
                        "blocks"));
  const std::string relaxed =
      "s[t] = X[t]\nsync cluster_arrive_relaxed\nsync cluster_wait\n"
      "Y[b * 32 + t] = o[t]\n";
  EXPECT_THAT(found(kMeet + relaxed + kMeet), HasSubstr("race"));
}

TEST(TwinCluster, ABlockThatEndsWhileOthersUseItsMemory) {
  EXPECT_THAT(found("s[t] = X[t]\n" + kMeet + "Y[b * 32 + t] = o[t]"),
              ::testing::AnyOf(HasSubstr("which has ended; end with a barrier of the cluster"),
                               HasSubstr("may end while thread")));
  // Only one of them reads: the other one ends behind the arrival, or before the access.
  const auto one = [](const char* block) {
    return "s[t] = X[t]\n" + kMeet + "if b == " + block + " { Y[t] = o[t] }";
  };
  EXPECT_THAT(findings(one("0")), HasSubstr("block [1]"));
  EXPECT_THAT(findings(one("1")), HasSubstr("block [0]"));
  EXPECT_EQ(found(one("0") + "\n" + kMeet), "");
}

TEST(TwinCluster, AnArrivalIsMissing) {
  EXPECT_THAT(findings("if b == 0 {\n" + kMeet +
                       "} else { if t < 40 { barrier with id=1, "
                       "threads=64 } }"),
              HasSubstr("deadlock: p: thread 0 of block [0] waits at the barrier of the cluster "
                        "(p.tw:4), where 32 of 64 threads have arrived; thread 0 of block [1] "
                        "waits at barrier 1"));
  EXPECT_THAT(findings("sync cluster_wait"),
              HasSubstr("wrong_arrival: p: thread 0 of block [1] waits at the barrier of the "
                        "cluster without having arrived there"));
  EXPECT_THAT(
      findings("sync cluster_arrive\nsync cluster_arrive"),
      HasSubstr("arrives at the barrier of the cluster again, without having waited there"));
  // Nobody waits for threads that have ended.
  EXPECT_EQ(found("if b == 0 {\n" + kMeet + "}"), "");
}

TEST(TwinCluster, BlocksUpdateAndArriveRemotely) {
  const std::string body = R"(alloc full: u64[1] shared with place=256
    view their: u64[1] shared of full with peer=1 - b % 2
    if t == 0 {
      sync phase_init on full[0], 32
      sync fence_phases
    }
    s[t] = 0.0
    sync cluster_arrive
    sync cluster_wait
    atomic add o[t // 2], X[t]
    sync phase_arrive on their[0]
    sync phase_wait on full[0], 0
    Y[b * 32 + t] = s[t]
    )" + kMeet;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Kernel k(body, 4);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[32], 3);
    EXPECT_EQ(k.memory("Y")[33], 7);
  }
  const std::string arrival = "sync phase_arrive on their[0]";
  std::string twice = body;
  twice.insert(twice.find(arrival), "if t == 0 { " + arrival + " }\n");
  EXPECT_THAT(found(twice), HasSubstr("race"));
  std::string missing = body;
  missing.replace(missing.find(arrival), arrival.size(), "if t > 0 { " + arrival + " }");
  EXPECT_THAT(findings(missing), HasSubstr("1 of 32 arrivals and 0 bytes are missing"));
}

TEST(TwinCluster, ARankThatTheClusterDoesNotHave) {
  EXPECT_THAT(
      findings(kMeet + "view far: f32[32] shared of s with peer=b + 1\nfar[t] = X[t]\n" + kMeet),
      HasSubstr("out_of_bounds: p: thread 0 of block [1] uses far[0] of block 2 of a "
                "cluster of 2"));
}

}  // namespace
}  // namespace tw::sim
