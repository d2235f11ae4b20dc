// Asynchronous copies in the twin: what they bring, and what it reports.
#include <functional>
#include <numeric>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/ring.h"
#include "tests/sim/text_run.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/verify.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> iota(size_t n, double first = 1) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A program of thread IR on input X: f32[256], input A: f32[10, 32], output Y: f32[256],
/// inout Z: f32[10, 32] and inout C: i32[8], of 64 threads. Its body begins on line 2.
struct Kernel : TextRun {
  explicit Kernel(const std::string& body, int blocks = 1)
      : TextRun(format("input X: f32[256] input A: f32[10, 32] output Y: f32[256] "
                       "inout Z: f32[10, 32] inout C: i32[8] launch b in {} with threads=[64], "
                       "thread=t: i64, shared_bytes=4096 {{\n",
                       blocks) +
                body + "\n}") {
    EXPECT_THAT(ir::violations(program(), ir::Level::thread), ElementsAre());
    tensor("X", {256}, iota(256)).tensor("Y", {256}).tensor("C", {8});
    tensor("A", {10, 32}, iota(320)).tensor("Z", {10, 32}, std::vector<double>(320, 1000));
  }
  std::string findings(uint64_t seed = 0) { return to_text(run_twin({.seed = seed}).findings); }
  std::vector<double> first(const std::string& name, size_t n) const {
    std::vector<double> all = memory(name);
    all.resize(n);
    return all;
  }
};

/// `text` with the first `from` in it replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  TW_CHECK(at != text.npos, "no '{}'", from);
  return text.replace(at, from.size(), to);
}

/// All seeds agree that there is nothing to report.
void expect_clean(const std::string& body, const std::function<void(const Kernel&)>& check) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Kernel k(body);
    EXPECT_EQ(k.findings(seed), "");
    check(k);
  }
}
std::string findings(const std::string& body, int blocks = 1) {
  return Kernel(body, blocks).findings();
}

// ---- a ring of bulk copies

TEST(TwinAsync, ARingOfBulkCopies) {
  expect_clean(kRing, [](const Kernel& k) {
    const std::vector<double> y = k.memory("Y");
    for (size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(y[i], static_cast<double>(i / 64 * 64 + 64 - i % 64));
    }
  });
}

TEST(TwinAsync, ARingWithoutItsWaits) {
  EXPECT_THAT(findings(with(kRing, "sync phase_wait on full[i % 2], i // 2 % 2", "")),
              HasSubstr("p.tw:23: uninitialized_read: p: thread 0 of block [0] reads ring[0, 63] "
                        "before it is written"));
  EXPECT_THAT(findings(with(kRing, "sync phase_wait on full[i % 2], i // 2 % 2",
                            "sync phase_wait on full[i % 2], 0")),
              HasSubstr("p.tw:17: race: p: ring[0, 0 :+ 64] is read by thread 31 of block [0] "
                        "(p.tw:24) and written by a copy of thread 32 with no barrier or wait for "
                        "the copy between"));
  EXPECT_EQ(findings(with(kRing, "sync phase_wait on empty[i % 2], (i // 2 + 1) % 2", "")),
            "p.tw:16: wrong_arrival: p: thread 32 of block [0] arrives at a barrier for 1 arrivals "
            "(p.tw:7), which all have come; 512 bytes are missing\n");
}

TEST(TwinAsync, ARingWithWrongCounts) {
  EXPECT_EQ(findings(with(kRing, "], 256", "], 260")),
            "p.tw:22: deadlock: p: thread 0 of block [0] waits for a phase of full[0] (p.tw:22), "
            "where 0 of 1 arrivals and 4 bytes are missing\n");
  EXPECT_EQ(findings(with(kRing, "empty[i], 32", "empty[i], 33")),
            "p.tw:22: deadlock: p: thread 0 of block [0] waits for a phase of full[0] (p.tw:22), "
            "where 1 of 1 arrivals and 0 bytes are missing\n");
  EXPECT_THAT(findings(with(kRing, "empty[i], 32", "empty[i], 31")), HasSubstr("race"));
  EXPECT_EQ(findings(with(kRing, "sync phase_init on full[i], 1", "")),
            "p.tw:22: uninitialized_read: p: thread 0 of block [0] uses the barrier full[0] before "
            "it is initialized\n");
}

TEST(TwinAsync, BarriersAreFencedForEngines) {
  EXPECT_THAT(findings(with(kRing, "sync fence_phases", "")),
              HasSubstr("p.tw:17: unfenced_copy: p: thread 32 of block [0] starts a copy that "
                        "counts on a barrier whose initialization (p.tw:7) is not fenced"));
  EXPECT_EQ(findings(with(kRing, "sync fence_phases", "sync fence_engines")), "");
  EXPECT_THAT(findings(with(kRing, "barrier\n", "\n")), HasSubstr("race"));
}

TEST(TwinAsync, TooManyArrivals) {
  EXPECT_EQ(findings(R"(alloc bar: u64[1] shared with place=0
    if t == 0 {
      sync phase_init on bar[0], 1
      sync phase_arrive_expect on bar[0], 16
      sync phase_arrive on bar[0]
    })"),
            "p.tw:6: wrong_arrival: p: thread 0 of block [0] arrives at a barrier for 1 arrivals "
            "(p.tw:4), which all have come; 16 bytes are missing\n");
}

TEST(TwinAsync, SomebodyWaitsForEachCopy) {
  EXPECT_EQ(findings(R"(alloc s: f32[64] shared with place=0
    alloc bar: u64[1] shared with place=512
    if t == 0 {
      sync phase_init on bar[0], 1
      sync fence_phases
      sync phase_arrive_expect on bar[0], 256
      async bulk X[0 :+ 64] -> s on bar[0]
    })"),
            "p.tw:8: unfinished_copy: p: block [0] ends, and nobody has waited for the copy of "
            "X[0 :+ 64] to s[0 :+ 64] that thread 0 started\n");
}

// ---- stores

const std::string kStore = R"(alloc s: f32[64] shared with place=0
  s[63 - t] = X[t]
  sync fence_engines
  barrier
  if t == 0 {
    async bulk s -> Y[0 :+ 64]
    sync bulk_commit
    sync bulk_wait_read, 0
  }
  barrier
  s[t] = 0.0)";

TEST(TwinAsync, ABulkStore) {
  expect_clean(kStore,
               [](const Kernel& k) { EXPECT_THAT(k.first("Y", 3), ElementsAre(64, 63, 62)); });
}

TEST(TwinAsync, ABulkStoreWithoutItsSteps) {
  EXPECT_EQ(findings(with(kStore, "sync fence_engines", "")),
            "p.tw:7: unfenced_copy: p: s[0 :+ 64] is written by thread 63 of block [0] (p.tw:3) "
            "and used by a copy of thread 0 of block [0] with no fence for engines between (64 "
            "times)\n");
  EXPECT_THAT(findings(with(kStore, "barrier\n", "\n")), HasSubstr("race"));
  EXPECT_THAT(findings(with(kStore, "sync bulk_wait_read, 0", "")),
              AllOf(HasSubstr("p.tw:7: race: p: s[0 :+ 64] is written by thread 0 of block [0] "
                              "(p.tw:12) and read by a copy of thread 0 with no barrier or wait "
                              "for the copy between"),
                    HasSubstr("unfinished_copy")));
  EXPECT_THAT(findings(with(kStore, "sync bulk_commit", "")), HasSubstr("unfinished_copy"));
}

TEST(TwinAsync, WaitingForTheReadingIsNotWaitingForTheWrites) {
  const std::string reads = R"(
  if t == 0 { Y[100] = Y[1] })";
  EXPECT_THAT(findings(kStore + reads),
              HasSubstr("Y[0 :+ 64] is read by thread 0 of block [0] (p.tw:13) and written by a "
                        "copy of thread 0"));
  EXPECT_EQ(findings(with(kStore, "bulk_wait_read", "bulk_wait") + reads), "");
}

TEST(TwinAsync, ABulkStoreThatAdds) {
  expect_clean(
      with(with(kStore, "Y[0 :+ 64]", "Z[0, 0 :+ 32] with fold=add"), "async bulk s",
           "async bulk s[0 :+ 32]"),
      [](const Kernel& k) { EXPECT_THAT(k.first("Z", 3), ElementsAre(1064, 1063, 1062)); });
}

// ---- cp.async

const std::string kElements = R"(alloc s: f32[2, 128] shared with place=0
  for i in 0:2 {
    if t < 32 {
      async elements X[i * 128 + t * 4 :+ 4] -> s[i, t * 4 :+ 4] with valid=t < 31
    }
    sync copies_commit
  }
  for i in 0:2 {
    if i == 0 { sync copies_wait, 1 } else { sync copies_wait, 0 }
    barrier
    Y[i * 64 + t] = s[i, 127 - t]
  })";

TEST(TwinAsync, CopiesOfElements) {
  expect_clean(kElements, [](const Kernel& k) {
    EXPECT_THAT(k.first("Y", 6), ElementsAre(0, 0, 0, 0, 124, 123));
    EXPECT_EQ(k.memory("Y")[64 + 5], 128 + 123);
  });
  EXPECT_THAT(findings(with(kElements, "copies_wait, 0", "copies_wait, 1")),
              AllOf(HasSubstr("p.tw:12: uninitialized_read: p: thread 0 of block [0] reads s[1, "
                              "127] before it is written"),
                    HasSubstr("race"), HasSubstr("unfinished_copy")));
  EXPECT_THAT(findings(with(kElements, "barrier\n", "\n")), HasSubstr("race"));
}

TEST(TwinAsync, CopiesOfElementsThatArriveAtABarrier) {
  const std::string body = R"(alloc s: f32[256] shared with place=0
    alloc bar: u64[1] shared with place=1024
    if t == 0 { sync phase_init on bar[0], 64 }
    barrier
    async elements X[t * 4 :+ 4] -> s[t * 4 :+ 4]
    sync phase_arrive_copies on bar[0]
    sync phase_wait on bar[0], 0
    Y[t] = s[255 - t])";
  expect_clean(body,
               [](const Kernel& k) { EXPECT_THAT(k.first("Y", 3), ElementsAre(256, 255, 254)); });
  EXPECT_THAT(findings(with(body, "phase_arrive_copies", "phase_arrive")), HasSubstr("race"));
}

TEST(TwinAsync, AlignmentOfCopies) {
  EXPECT_EQ(findings(R"(alloc s: f32[64] shared with place=0
    async elements X[t + 1 :+ 4] -> s[0 :+ 4] with valid=t == 0
    sync copies_commit
    sync copies_wait, 0)"),
            "p.tw:3: misaligned: p: thread 0 of block [0]: X[1 :+ 4] has 16 bytes and begins 4 "
            "past a multiple of 16\n"
            "p.tw:3: race: p: s[0 :+ 4] is written by a copy of block [0] (p.tw:3) and written by "
            "a copy of thread 2 with no barrier or wait for the copy between (248 times)\n");
}

// ---- boxes of a tensor

std::string box(const std::string& begin, const std::string& more, const std::string& index) {
  return R"(alloc s: f32[8, 32] shared with place=1024
    alloc bar: u64[1] shared with place=0
    if t == 0 {
      sync phase_init on bar[0], 1
      sync fence_phases
      sync phase_arrive_expect on bar[0], 1024
      async tensor A[)" +
         begin + " :+ 8, 0 :+ 32] -> s on bar[0]" + more + R"(
    }
    barrier
    sync phase_wait on bar[0], 0
    for i in 0:4 { let row = i * 2 + t // 32 let column = t % 32
      Y[i * 64 + t] = )" +
         index + " }";
}

TEST(TwinAsync, ABoxOfATensor) {
  expect_clean(box("1", "", "s[row, column]"),
               [](const Kernel& k) { EXPECT_EQ(k.first("Y", 256), iota(256, 33)); });
  // Outside there are zeros, and the bytes count all the same.
  expect_clean(box("-1", "", "s[row, column]"), [](const Kernel& k) {
    EXPECT_EQ(k.memory("Y")[31], 0);
    EXPECT_EQ(k.memory("Y")[32], 1);
  });
  expect_clean(box("4", "", "s[row, column]"), [](const Kernel& k) {
    EXPECT_EQ(k.memory("Y")[191], 320);
    EXPECT_EQ(k.memory("Y")[192], 0);
  });
}

TEST(TwinAsync, BoxesWithASwizzle) {
  // Row r of 128 bytes has its units of 16 exchanged by r % 8.
  expect_clean(
      box("1", " with swizzle=128", "s[row, ((column // 4) ^ (row % 8)) * 4 + column % 4]"),
      [](const Kernel& k) { EXPECT_EQ(k.first("Y", 256), iota(256, 33)); });
}

TEST(TwinAsync, ABoxIsWritten) {
  const std::string body = R"(alloc s: f32[4, 32] shared with place=1024
    for i in 0:2 { s[i * 2 + t // 32, t % 32] = X[i * 64 + t] }
    sync fence_engines
    barrier
    if t == 0 {
      async tensor s -> Z[8 :+ 4, 0 :+ 32]
      sync bulk_commit
      sync bulk_wait, 0
    })";
  expect_clean(body, [](const Kernel& k) {
    EXPECT_EQ(k.memory("Z")[8 * 32 - 1], 1000);
    EXPECT_EQ(k.memory("Z")[8 * 32], 1);
    EXPECT_EQ(k.memory("Z")[319], 64);
  });
  expect_clean(with(body, "[8 :+ 4, 0 :+ 32]", "[8 :+ 4, 0 :+ 32] with fold=max"),
               [](const Kernel& k) { EXPECT_EQ(k.memory("Z")[8 * 32], 1000); });
  EXPECT_EQ(findings(with(body, "[8 :+ 4", "[0 - 1 :+ 4")),
            "p.tw:7: out_of_bounds: p: thread 0 of block [0]: a box is written to Z[-1, 0], before "
            "the tensor begins; only loads may\n");
}

// ---- barriers

TEST(TwinBarrier, FoldsConditions) {
  expect_clean(R"(barrier with fold=count, cond=t < 5, result=n: i32
    barrier with fold=all, cond=t < 64, result=all: bool
    barrier with fold=any, cond=t > 63, result=any: bool
    Y[t] = cast(n, f32) + select(all, 100.0, 0.0) + select(any, 1000.0, 0.0))",
               [](const Kernel& k) { EXPECT_THAT(k.first("Y", 2), ElementsAre(105, 105)); });
}

TEST(TwinBarrier, ThreadsArriveAndGoOn) {
  const std::string body = R"(alloc s: f32[32] shared with place=0
    if t < 32 {
      s[t] = X[t]
      barrier with id=1, threads=64, arrive_only
    } else {
      barrier with id=1, threads=64
      Y[t] = s[63 - t]
    })";
  expect_clean(body, [](const Kernel& k) { EXPECT_EQ(k.memory("Y")[32], 32); });
  EXPECT_THAT(findings(with(body, "s[t] = X[t]\n      barrier with id=1, threads=64, arrive_only",
                            "barrier with id=1, threads=64, arrive_only\n      s[t] = X[t]")),
              HasSubstr("race"));
}

TEST(TwinBarrier, BlocksMeet) {
  const std::string body = R"(if t == 0 { Y[b] = X[b] }
    sync grid
    if t == 1 { Y[10 + b] = Y[1 - b] })";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Kernel k(body, 2);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[10], 2);
    EXPECT_EQ(k.memory("Y")[11], 1);
  }
  EXPECT_THAT(findings(with(body, "sync grid", "barrier"), 2), HasSubstr("race"));
  EXPECT_THAT(
      findings(with(body, "sync grid", "if b == 0 { sync grid }"), 2),
      HasSubstr("p.tw:3: deadlock: p: block [0] waits for the grid, of which 1 blocks have come"));
}

TEST(TwinBarrier, BlocksWaitForAValue) {
  const std::string body = R"(if b == 0 {
      atomic wait_ge C[3], 1 with order=acquire
      Y[t] = Y[100 + t]
    } else {
      Y[100 + t] = X[t]
      barrier
      if t == 0 { atomic store C[3], 1 with order=release }
    })";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Kernel k(body, 2);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[3], 4);
  }
  EXPECT_THAT(findings(with(body, "store C[3]", "store C[4]"), 2),
              HasSubstr("p.tw:3: deadlock: p: thread 0 of block [0] waits until C[3] is ge 1, but "
                        "it is 0 (p.tw:3), which nobody can change"));
  EXPECT_THAT(findings(with(body, "1 with order=release", "1"), 2), HasSubstr("race"));
}

TEST(TwinBarrier, AWaitForAValueHoldsUpABarrier) {
  EXPECT_THAT(findings("if t == 5 { atomic wait_eq C[0], 1 with order=acquire }\n barrier"),
              HasSubstr("p.tw:2: deadlock: p: thread 5 of block [0] waits until C[0] is eq 1"));
}

TEST(TwinBarrier, AllWarpsOfAWarpGroupChangeTheirRegisters) {
  EXPECT_EQ(findings("sync registers_decrease, 40"), "");
  EXPECT_THAT(findings("if t < 32 { sync registers_decrease, 40 }"),
              HasSubstr("divergent_warp: p: thread 0 of block [0] changes its registers, where "
                        "thread 32 of its warp-group doesn't"));
}

TEST(TwinBarrier, FencesOrderWithRelaxedAtomics) {
  const std::string body = R"(if b == 0 {
      if t == 0 {
        Y[0] = X[5]
        sync fence_device
        atomic store C[0], i32(1)
      }
    } else {
      if t == 0 {
        var seen: i32 = i32(0)
        while seen == i32(0) {
          atomic load C[0] with result=now: i32
          seen = now
        }
        sync fence_device
        Y[1] = Y[0]
      }
    })";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Kernel k(body, 2);
    EXPECT_EQ(k.findings(seed), "");
    EXPECT_EQ(k.memory("Y")[1], 6);
  }
  EXPECT_THAT(findings(with(body, "sync fence_device", ""), 2), HasSubstr("race"));
  EXPECT_THAT(findings(with(body, "sync fence_device\n        Y[1]", "Y[1]"), 2),
              HasSubstr("race"));
}

}  // namespace
}  // namespace tw::sim
