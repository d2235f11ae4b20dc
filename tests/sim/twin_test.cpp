// What the twin computes, and what it reports.
#include "tilewright/sim/twin/twin.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/verify.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> iota(size_t n, double first = 1) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A program of thread IR on input X: f32[256], output Y: f32[256] and inout C: i32[8]. Its body
/// begins on line 2.
struct Kernel : TextRun {
  explicit Kernel(const std::string& body, int threads = 64, int blocks = 1, int shared = 1024)
      : TextRun(format("input X: f32[256] output Y: f32[256] inout C: i32[8] launch b in {} with "
                       "threads=[{}], thread=t: i64, shared_bytes={} {{\n",
                       blocks, threads, shared) +
                body + "\n}") {
    EXPECT_THAT(ir::violations(program(), ir::Level::thread), ElementsAre());
    tensor("X", {256}, iota(256)).tensor("Y", {256}).tensor("C", {8});
  }
  /// The first elements of Y.
  std::vector<double> first(size_t n) const {
    std::vector<double> y = memory("Y");
    y.resize(n);
    return y;
  }
  std::string findings(uint64_t seed = 0) { return to_text(run_twin({.seed = seed}).findings); }
};

std::string findings(const std::string& body, int threads = 64, int blocks = 1, int shared = 1024) {
  return Kernel(body, threads, blocks, shared).findings();
}

// ---- a sum over a block: shuffles, shared memory, a barrier

std::string block_sum(const std::string& barrier, const std::string& guard = "t % 32 == 0") {
  return R"(alloc s: f32[2] shared with place=0
            var sum: f32 = X[t]
            for i in 0:5 unrolled {
              warp shfl_xor [sum, i32(16) >> cast(i, i32)] with result=v: f32
              sum = sum + v
            }
            if )" +
         guard + R"( { s[t // 32] = sum }
            )" +
         barrier + R"(
            if t == 0 { Y[b] = s[0] + s[1] })";
}

TEST(Twin, SumsOverABlock) {
  for (const uint64_t seed : {0, 1, 2, 3}) {
    Kernel k(block_sum("barrier"), 64, 2);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[0], 64 * 65 / 2);
    EXPECT_EQ(k.memory("Y")[1], 64 * 65 / 2);
  }
}

TEST(Twin, ASumWithoutItsBarrierIsARace) {
  EXPECT_EQ(
      findings(block_sum("")),
      "p.tw:10: uninitialized_read: p: thread 0 of block [0] reads s[1] before it is written\n"
      "p.tw:8: race: p: s[1] is read by thread 0 of block [0] (p.tw:10) and written by thread 32 "
      "with no barrier between\n");
}

TEST(Twin, ASumWhoseGuardIsGoneWritesTwice) {
  EXPECT_EQ(findings(block_sum("barrier", "true")),
            "p.tw:8: race: p: s[0] is written by thread 0 of block [0] (p.tw:8) and written by "
            "thread 1 with no sync_warp or barrier between (62 times)\n");
}

TEST(Twin, LanesLeftOutOfAShuffle) {
  EXPECT_EQ(findings(R"(var sum: f32 = X[t]
    if t % 32 < 31 {
      warp shfl_xor [sum, i32(1)] with result=v: f32
      sum = sum + v
    }
    Y[t] = sum)"),
            "p.tw:4: divergent_warp: p: thread 0 of block [0] is at shfl_xor without thread 31 of "
            "its warp, which has ended\n");
  EXPECT_EQ(findings(R"(if t == 3 { barrier }
    warp ballot [t < 5] with result=m: u32)"),
            "p.tw:3: divergent_warp: p: thread 0 of block [0] is at ballot without thread 3 of its "
            "warp, which waits at a barrier (p.tw:2)\n");
  EXPECT_EQ(findings(R"(if t < 3 { warp ballot [t < 5] with result=m: u32 } else {
    warp active_mask with result=n: u32 })"),
            "p.tw:2: divergent_warp: p: thread 0 of block [0] is at ballot without thread 3 of its "
            "warp, which is at active_mask (p.tw:3)\n");
}

TEST(Twin, ShufflesDontOrderSharedMemory) {
  EXPECT_EQ(findings(R"(alloc s: f32[64] shared with place=0
    s[t] = X[t]
    warp shfl_xor [0.0, i32(1)] with result=v: f32
    Y[t] = s[t - t % 32 + (t + 1) % 32] + v)"),
            "p.tw:5: race: p: s[1] is written by thread 1 of block [0] (p.tw:3) and read by thread "
            "0 with no sync_warp or barrier between (64 times)\n");
  EXPECT_EQ(findings(R"(alloc s: f32[64] shared with place=0
    s[t] = X[t]
    warp sync_warp
    Y[t] = s[t - t % 32 + (t + 1) % 32])"),
            "");
  EXPECT_EQ(
      findings(R"(alloc s: f32[64] shared with place=0
    s[t] = X[t]
    warp sync_warp
    Y[t] = s[(t + 1) % 64])"),
      "p.tw:5: uninitialized_read: p: thread 31 of block [0] reads s[32] before it is written\n"
      "p.tw:3: race: p: s[32] is read by thread 31 of block [0] (p.tw:5) and written by thread 32 "
      "with no barrier between\n"
      "p.tw:5: race: p: s[0] is written by thread 0 of block [0] (p.tw:3) and read by thread 63 "
      "with no barrier between\n");
}

// ---- barriers

TEST(Twin, TransposesThroughSharedMemory) {
  Kernel k(R"(alloc s: f32[8, 9] shared with place=16
    for i in 0:3 {
      s[t // 8, t % 8] = X[i * 64 + t]
      barrier
      Y[i * 64 + t] = s[t % 8, t // 8]
      barrier
    })");
  EXPECT_EQ(k.findings(1), "");
  EXPECT_THAT(k.first(4), ElementsAre(1, 9, 17, 25));
}

TEST(Twin, ALoopNeedsABarrierBeforeItWritesAgain) {
  EXPECT_EQ(findings(R"(alloc s: f32[64] shared with place=0
    for i in 0:3 {
      s[t] = X[i * 64 + t]
      barrier
      Y[i * 64 + t] = s[63 - t]
    })"),
            "p.tw:6: race: p: s[31] is written by thread 31 of block [0] (p.tw:4) and read by "
            "thread 32 with no barrier between (64 times)\n"
            "p.tw:4: race: p: s[32] is read by thread 31 of block [0] (p.tw:6) and written by "
            "thread 32 with no barrier between (64 times)\n");
}

TEST(Twin, NotAllThreadsReachABarrier) {
  EXPECT_EQ(findings("if t < 32 { barrier }"),
            "p.tw:2: divergent_barrier: p: thread 0 of block [0] waits at a barrier that thread 32 "
            "does not reach: it has ended\n");
  EXPECT_EQ(findings("if t < 32 { barrier }\nelse { barrier }"),
            "p.tw:2: divergent_barrier: p: thread 0 of block [0] waits at a barrier that thread 32 "
            "does not reach: it waits at another one (p.tw:3)\n");
  EXPECT_EQ(findings("if t < 32 { barrier with id=1, threads=32 }\n if t < 48 { barrier with id=2, "
                     "threads=64 }"),
            "p.tw:3: deadlock: p: thread 0 of block [0] waits at barrier 2 for 64 threads, but 48 "
            "are there; thread 48 has ended\n");
  EXPECT_EQ(
      findings(
          "if t < 32 { barrier with id=1, threads=64 }\nelse { barrier with id=2, threads=64 }"),
      "p.tw:2: deadlock: p: thread 0 of block [0] waits at barrier 1 for 64 threads, but 32 are "
      "there; thread 32 waits at barrier 2 (p.tw:3), where 32 of 64 threads are\n");
  EXPECT_EQ(
      findings(
          "if t < 32 { barrier with id=1, threads=64 }\nelse { barrier with id=1, threads=32 }"),
      "p.tw:3: divergent_barrier: p: thread 32 of block [0] is at barrier 1 for 32 threads, "
      "others for 64 (p.tw:2)\n");
  EXPECT_EQ(findings("if t < 32 { barrier with id=1, threads=64 }\nelse { barrier }"),
            "p.tw:3: divergent_barrier: p: thread 32 of block [0] waits at a barrier that thread 0 "
            "does not reach: it waits at barrier 1 (p.tw:2), where 32 of 64 threads are\n");
}

TEST(Twin, NamedBarriersOrderTheirThreads) {
  const std::string half = R"(alloc s: f32[128] shared with place=0
    s[t] = X[t]
    if t < 64 { barrier with id=1, threads=64 } else { barrier with id=2, threads=64 }
    Y[t] = s[t ^ )";
  EXPECT_EQ(findings(half + "33]", 128), "");
  EXPECT_EQ(findings(half + "64]", 128),
            "p.tw:5: race: p: s[64] is written by thread 64 of block [0] (p.tw:3) and read by "
            "thread 0 with no barrier between (128 times)\n");
}

// ---- memory

TEST(Twin, ReadsOfWhatNobodyWrote) {
  EXPECT_EQ(
      findings(
          "alloc s: f32[64] shared with place=0\nif t < 60 { s[t] = 1.0 }\nbarrier\nY[t] = s[t]"),
      "p.tw:5: uninitialized_read: p: thread 60 of block [0] reads s[60] before it is written (4 "
      "times)\n");
  EXPECT_EQ(findings("alloc r: f32[4] local\nr[1] = 1.0\nY[t] = r[t % 2]"),
            "p.tw:4: uninitialized_read: p: thread 0 of block [0] reads r[0] before it is written "
            "(32 times)\n");
  EXPECT_EQ(findings("var v: f32\nif t > 0 { v = 1.0 }\nY[t] = v"),
            "p.tw:4: uninitialized_read: p: thread 0 of block [0] reads v before it is written\n");
  EXPECT_EQ(
      findings("for i in 0:2 {\nalloc r: f32[1] local\nif i == 0 { r[0] = 1.0 }\nY[t] = r[0]\n}"),
      "p.tw:5: uninitialized_read: p: thread 0 of block [0] reads r[0] before it is written (64 "
      "times)\n");
  EXPECT_EQ(findings("C[t % 8] = cast(Y[t], i32)"),
            "p.tw:2: uninitialized_read: p: thread 0 of block [0] reads Y[0] before it is written "
            "(64 times)\n"
            "p.tw:2: race: p: C[0] is written by thread 0 of block [0] (p.tw:2) and written by "
            "thread 8 with no sync_warp or barrier between (56 times)\n");
  EXPECT_EQ(
      findings(R"(alloc s: u8[64] shared with place=0
     if t < 63 { s[t] = u8(1) }
     barrier
     view w: u32[16] shared of s
     if t < 16 { C[0] = i32(0) * bitcast(w[t], i32) })"),
      "p.tw:6: race: p: C[0] is written by thread 0 of block [0] (p.tw:6) and written by thread 1 "
      "with no sync_warp or barrier between (15 times)\n"
      "p.tw:6: uninitialized_read: p: thread 15 of block [0] reads w[15] before it is written\n");
}

TEST(Twin, BytesOfAnotherBufferAreUnwritten) {
  EXPECT_EQ(findings(R"(alloc a: f32[64] shared with place=0
     a[t] = 1.0
     barrier
     alloc c: f32[64] shared with place=0
     Y[t] = c[t])"),
            "p.tw:6: uninitialized_read: p: thread 0 of block [0] reads c[0] before it is written: "
            "a wrote these bytes last (p.tw:3) (64 times)\n");
  EXPECT_EQ(findings(R"(alloc a: f32[64] shared with place=0
     a[t] = 1.0
     alloc c: f32[64] shared with place=0
     c[63 - t] = 1.0)"),
            "p.tw:3: race: p: a[32] is written by thread 31 of block [0] (p.tw:5, as c) and "
            "written by thread 32 with no barrier between (32 times)\n"
            "p.tw:5: race: p: c[31] is written by thread 31 of block [0] (p.tw:3, as a) and "
            "written by thread 32 with no barrier between (32 times)\n");
}

TEST(Twin, BytesOfAnotherBufferAreUnwrittenForAtomicsToo) {
  const auto after = [](const std::string& written, const std::string& then) {
    return findings("alloc a: i32[64] shared with place=0\nalloc c: i32[64] shared with place=0\n" +
                    written + "\nbarrier\n" + then);
  };
  EXPECT_EQ(after("a[t] = 1", "atomic add c[t], 1"),
            "p.tw:6: uninitialized_read: p: thread 0 of block [0] reads c[0] before it is written: "
            "a wrote these bytes last (p.tw:4) (64 times)\n");
  EXPECT_EQ(after("c[t] = 1\natomic add a[t], 1", "Y[t] = cast(c[t], f32)"),
            "p.tw:5: uninitialized_read: p: thread 0 of block [0] reads a[0] before it is written: "
            "c wrote these bytes last (p.tw:4) (64 times)\n"
            "p.tw:7: uninitialized_read: p: thread 0 of block [0] reads c[0] before it is written: "
            "a wrote these bytes last (p.tw:5) (64 times)\n");
  EXPECT_EQ(after("a[t] = 1", "c[t] = 1\natomic add c[t], 1\nY[t] = cast(c[t], f32)"), "");
}

/// Four threads add to each element, by vectors of neighbors.
std::string sums(const std::string& place, const std::string& more = "") {
  return R"(inout Y: f32[64]
    launch b in 1 with threads=[64], thread=t: i64 {
      alloc r: f32[4] local
      for v in 0:4 { r[v] = cast(v + 1, f32) }
      move r[0] -> Y[)" +
         place + "] x 4 with fold=add\n" + more + "}";
}

TEST(Twin, VectorsThatAddAreAtomicsOfTheirElements) {
  TextRun p(sums("t % 16 * 4"));
  p.tensor("Y", {64}, iota(64));
  EXPECT_EQ(to_text(p.run_twin({.seed = 1}).findings), "");
  const std::vector<double> y = p.memory("Y");
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], static_cast<double>(i + 1 + 4 * (i % 4 + 1)));
}

TEST(Twin, VectorsThatAddAreAlignedAndRaceWithStores) {
  const auto found = [](const std::string& place, const std::string& more) {
    TextRun p(sums(place, more));
    p.tensor("Y", {64});
    return to_text(p.run_twin().findings);
  };
  EXPECT_THAT(found("t % 8 * 4 + 1", ""), HasSubstr("Y[1 :+ 4] has 16 bytes and begins 4 past"));
  EXPECT_THAT(found("t * 4", ""), HasSubstr("Y[64 :+ 4] is outside Y [64]"));
  EXPECT_THAT(found("t % 16 * 4", "Y[t] = 0.0"), HasSubstr("is updated atomically by thread"));
}

TEST(Twin, IndicesOutsideABuffer) {
  EXPECT_EQ(findings("alloc s: f32[63] shared with place=0\ns[t] = 1.0"),
            "p.tw:3: out_of_bounds: p: thread 63 of block [0]: s[63] is outside s [63]\n");
  EXPECT_EQ(
      findings("alloc r: f32[4] local\nr[t - 60] = 1.0"),
      "p.tw:3: out_of_bounds: p: thread 0 of block [0]: r[-60] is outside r [4] (60 times)\n");
  EXPECT_EQ(
      findings("Y[t * 5] = X[t]"),
      "p.tw:2: out_of_bounds: p: thread 52 of block [0]: Y[260] is outside Y [256] (12 times)\n");
  EXPECT_EQ(findings("alloc s: f32[64] shared with place=1000\ns[t] = 1.0"),
            "p.tw:2: outside_storage: p: s has bytes 1000 to 1256 of 1024 bytes of shared memory\n"
            "p.tw:3: outside_storage: p: thread 6 of block [0]: s[6] lies outside the block's "
            "shared memory (58 times)\n");
  EXPECT_EQ(findings("alloc r: f32[4] local\nmove X[t * 4 + 1] -> r[0] x 4"),
            "p.tw:3: misaligned: p: thread 0 of block [0]: X[1 :+ 4] has 16 bytes and begins 4 "
            "past a multiple of 16 (63 times)\n"
            "p.tw:3: out_of_bounds: p: thread 63 of block [0]: X[253 :+ 4] is outside X [256]\n");
}

TEST(Twin, MovesAreAligned) {
  Kernel k(
      "alloc r: f32[4] local\nalloc s: f32[256] shared with place=0\nmove X[t * 4] -> r[0] x "
      "4\nmove r[0] -> s[t * 4] x 4\nbarrier\nmove s[252 - t * 4] -> r[0] x 4\nmove r[0] -> Y[t * "
      "4] x 4");
  EXPECT_EQ(k.findings(3), "");
  EXPECT_EQ(k.memory("Y")[0], 253);
  EXPECT_EQ(findings("alloc r: f32[4] local\nmove X[t * 2] -> r[0] x 4"),
            "p.tw:3: misaligned: p: thread 1 of block [0]: X[2 :+ 4] has 16 bytes and begins 8 "
            "past a multiple of 16 (32 times)\n");
  EXPECT_EQ(
      findings("alloc r: f32[4] local\nalloc s: f32[256] shared with place=8\nr[0] = 0.0\nr[1] = "
               "0.0\nmove r[0] -> s[t * 2] x 2\nif t == 0 { move s[0] -> r[0] x 4 }"),
      "p.tw:3: outside_storage: p: s has bytes 8 to 1032 of 1024 bytes of shared memory\n"
      "p.tw:7: misaligned: p: thread 0 of block [0]: s[0 :+ 4] has 16 bytes and begins 8 past a "
      "multiple of 16\n");
}

// ---- blocks

TEST(Twin, BlocksAreOrderedByAtomicsOnly) {
  EXPECT_EQ(findings("if t == 0 { C[0] = C[0] + 1 }", 64, 2),
            "p.tw:2: race: p: C[0] is written by thread 0 of block [0] (p.tw:2) and read by thread "
            "0 of block [1]; only atomics and the end of a launch order blocks\n"
            "p.tw:2: race: p: C[0] is written by thread 0 of block [0] (p.tw:2) and written by "
            "thread 0 of block [1]; only atomics and the end of a launch order blocks\n");
  Kernel k("atomic add C[t % 4], 1", 64, 3);
  EXPECT_EQ(k.findings(5), "");
  EXPECT_THAT(k.memory("C"), ElementsAre(48, 48, 48, 48, 0, 0, 0, 0));
  EXPECT_EQ(findings("atomic add C[0], 1 with scope=block", 32, 2),
            "p.tw:2: race: p: C[0] is updated atomically by thread 31 of block [0] (p.tw:2) and "
            "updated atomically by thread 0 of block [1]; only atomics and the end of a launch "
            "order blocks (32 times)\n");
  EXPECT_EQ(
      findings("atomic add C[0], 1\nif b == 1 { C[0] = 3 }", 32, 2),
      "p.tw:3: race: p: C[0] is updated atomically by thread 1 of block [0] (p.tw:2) and written "
      "by thread 0 of block [1]; only atomics and the end of a launch order blocks (32 times)\n"
      "p.tw:2: race: p: C[0] is written by thread 0 of block [1] (p.tw:3) and updated atomically "
      "by thread 1 with no sync_warp or barrier between (31 times)\n");
}

TEST(Twin, ReleaseAndAcquireOrderBlocks) {
  const auto handover = [](const std::string& release, const std::string& acquire) {
    return R"(if b == 1 {
      Y[t] = X[t]
      barrier
      if t == 0 { atomic store C[0], 1 with order=)" +
           release + R"( }
    } else {
      if t == 0 {
        var seen: i32 = 0
        while seen == 0 {
          atomic load C[0] with order=)" +
           acquire + R"(, result=v: i32
          seen = v
        }
      }
      barrier
      Y[t + 64] = Y[63 - t]
    })";
  };
  for (const uint64_t seed : {0, 1, 2, 3, 4}) {
    Kernel k(handover("release", "acquire"), 64, 2);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[64], 64);
  }
  EXPECT_EQ(
      findings(handover("relaxed", "acquire"), 64, 2),
      "p.tw:15: race: p: Y[63] is written by thread 63 of block [1] (p.tw:3) and read by thread 0 "
      "of block [0]; only atomics and the end of a launch order blocks (64 times)\n");
}

TEST(Twin, LoopsEnd) {
  EXPECT_EQ(
      findings("while t == 0 { atomic load C[0] with result=v: i32 }"),
      "p.tw:2: endless_loop: p: thread 0 of block [0] has run more than 1000000 iterations\n");
  EXPECT_EQ(findings("for i in 0:4:(t - t) { Y[t] = 1.0 }"),
            "p.tw:2: loop_step: p: the loop's step is 0\n");
}

// ---- warps

TEST(Twin, WarpOperations) {
  Kernel k(R"(
    warp shfl [X[t], i32(3)] with width=8, result=a: f32
    warp shfl_up [X[t], i32(2)] with width=16, result=c: f32
    warp shfl_down [X[t], i32(1)] with result=d: f32
    warp vote_any [t == 5] with result=e: bool
    warp vote_all [t >= 32] with result=f: bool
    warp ballot [t % 32 < 3] with result=g: u32
    warp match_any [t % 4] with result=h: u32
    warp reduce_add [cast(t, u32)] with result=i: u32
    warp reduce_max [cast(0 - t, i32)] with result=j: i32
    warp match_all [t // 32] with result=l: u32
    warp active_mask with result=n: u32
    if t == 37 {
      Y[0] = a
      Y[1] = c
      Y[2] = d
      Y[3] = cast(e, f32)
      Y[4] = cast(f, f32)
      Y[5] = cast(g & u32(255), f32)
      Y[6] = cast(h & u32(255), f32)
      Y[7] = cast(i, f32)
      Y[8] = cast(j, f32)
      Y[9] = cast(l & u32(255), f32)
      Y[10] = cast(n & u32(255), f32)
    })");
  EXPECT_EQ(k.findings(), "");
  EXPECT_THAT(k.first(11), ElementsAre(36, 36, 39, 0, 1, 7, 0x22, 1520, -32, 0xFF, 0xFF));
}

TEST(Twin, BlocksThatAreNoMultipleOfAWarp) {
  for (const int threads : {48, 100}) {
    Kernel k(R"(alloc s: u32[4] shared with place=0
      warp reduce_add [u32(1)] with result=n: u32
      if t % 32 == 0 { s[t // 32] = n }
      barrier
      if t < 4 { if t * 32 < 100 { Y[t] = 1.0 } })",
             threads);
    EXPECT_EQ(k.findings(), "");
  }
  EXPECT_EQ(findings("warp shfl_xor [X[t], i32(16)] with result=v: f32", 48),
            "p.tw:2: uninitialized_read: p: thread 32 of block [0] takes the value of lane 16, but "
            "its warp has 16 lanes (16 times)\n");
}

}  // namespace
}  // namespace tw::sim
