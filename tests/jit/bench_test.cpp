#include "tilewright/jit/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"

namespace tw {
namespace {

using test::error_of;

/// A device on which a time takes 2 us, a copy 8 us, a call as told; and a host that needs as many
/// evictions for a call as told.
class FakeClock : public backend::DeviceClock {
 public:
  Device device() const override { return {DeviceKind::cuda, 1}; }
  Stream stream() const override { return {this_stream}; }
  int64_t cache_bytes() const override { return 0; }
  void* allocate(int64_t bytes) override {
    allocated.push_back(bytes);
    return this;
  }
  void copy(void*, const void*, int64_t bytes) override {
    copied.push_back(bytes);
    passed_us += 8;
  }
  void wait() override { ++waits; }
  void start() override { passed_us = 0; }
  std::optional<double> stop_us() override {
    const bool was_covered = evicted >= needed_evictions;
    evicted = 0;
    if (!was_covered) return {};
    return 2 + passed_us;
  }

  void* const this_stream = this;
  std::vector<int64_t> allocated, copied;
  int waits = 0, evicted = 0, evictions = 0, needed_evictions = 1;
  double passed_us = 0;
};

TEST(CallTime, IsWithoutWhatTakingTheTimeCosts) {
  FakeClock clock;
  int calls = 0;
  const auto run = [&](Stream stream) {
    EXPECT_EQ(stream.handle, clock.this_stream);
    clock.passed_us += ++calls % 2 == 0 ? 16 : 20;  // the first isn't timed
  };
  const CallTime time = bench(run, clock, [&] { ++clock.evicted; }, {.bytes = 1001, .rounds = 4});
  EXPECT_EQ(calls, 1 + 4);
  EXPECT_DOUBLE_EQ(time.time_us, 18);
  EXPECT_DOUBLE_EQ(time.spread_us, 4);
  EXPECT_EQ(time.bytes, 1001);
  EXPECT_DOUBLE_EQ(time.ceiling_us, 8);
  EXPECT_DOUBLE_EQ(time.share, 8.0 / 18);
  EXPECT_THAT(clock.allocated, testing::ElementsAre(500, 500));
  EXPECT_THAT(clock.copied, testing::Each(500));
  EXPECT_EQ(clock.copied.size(), 1U + 4U);
}

TEST(CallTime, WithoutBytesHasNoCeiling) {
  FakeClock clock;
  const CallTime time =
      bench([&](Stream) { clock.passed_us += 5; }, clock, [&] { ++clock.evicted; }, {.rounds = 3});
  EXPECT_DOUBLE_EQ(time.time_us, 5);
  EXPECT_EQ(time.bytes, 0);
  EXPECT_EQ(time.ceiling_us, 0);
  EXPECT_EQ(time.share, 0);
  EXPECT_TRUE(clock.allocated.empty());
}

TEST(CallTime, EvictsLongerForAHostThatIsSlow) {
  FakeClock clock;
  clock.needed_evictions = 5;
  const auto run = [&](Stream) { clock.passed_us += 5; };
  EXPECT_DOUBLE_EQ(bench(run, clock, [&] { ++clock.evicted; }, {.rounds = 3}).time_us, 5);
  clock.needed_evictions = 1 << 20;
  EXPECT_EQ(error_of([&] { bench(run, clock, [&] { ++clock.evicted; }, {}); }),
            "bench: on cuda:1 the call waits for the device, or takes the host milliseconds\n"
            "  help: time work that is only queued, without TW_SYNC_LAUNCH");
  EXPECT_EQ(error_of([&] { bench(run, clock, [] {}, {.rounds = -1}); }),
            "bench: rounds is -1, must not be negative");
}

TEST(CallTime, AsText) {
  EXPECT_EQ(
      to_text(CallTime{54.06, 0.25, 117'440'512, 53, 53 / 54.06}),
      "54.06 us (middle half within 0.25), 117.4 MB at 2172 GB/s, 98 % of the speed of a copy");
  EXPECT_EQ(to_text(CallTime{54.06, 0.25}), "54.06 us (middle half within 0.25)");
}

/// Y = X + a, counting in C; with a workspace.
Kernel counting(const char* target) {
  return compile(ir::parse_program(R"(tilewright ir 1
program "count" {
  symbol n: i64
  input X: f32[n]
  scalar a: f32
  inout C: i32[1]
  output Y: f32[n]
  launch bx in 1 {
    parallel i in 1 { C[i] = C[i] + 1 }
  }
  launch bx in n {
    parallel i in 1 { Y[bx + i] = X[bx + i] + a }
  }
}
)",
                                   {}),
                 {.target = target});
}

TEST(KernelBench, OnTheCpuIsTimedByTheWall) {
  const Kernel kernel = counting("cpu");
  OwnedTensor x(f32, {64}), c(i32, {1}), y(f32, {64});
  std::fill_n(x->data_as<float>(), 64, 1.0F);
  *c->data_as<int32_t>() = 0;
  CallTime time = kernel.bench({x, 2.0F, c, y}, {.rounds = 30});
  EXPECT_GT(time.time_us, 0);
  EXPECT_GT(time.ceiling_us, 0);
  EXPECT_DOUBLE_EQ(time.share, time.ceiling_us / time.time_us);
  EXPECT_EQ(time.bytes, 64 * 4 + 2 * 4 + 64 * 4);
  EXPECT_GT(*c->data_as<int32_t>(), 30);
  EXPECT_EQ(y->data_as<float>()[63], 3);
  // Outputs that are left out, in both ways; and bytes of the caller's.
  time = kernel.bench({x, 2.0F, c}, {.rounds = 5});
  EXPECT_EQ(time.bytes, 64 * 4 + 2 * 4 + 64 * 4);
  time = kernel.bench({x, 2.0F, c, nullptr}, {.bytes = 0, .rounds = 5});
  EXPECT_EQ(time.bytes, 0);
  EXPECT_EQ(time.share, 0);
  time = bench([&](Stream) { kernel({x, 2.0F, c, y}); }, Device{}, {.bytes = 512, .rounds = 5});
  EXPECT_EQ(time.bytes, 512);
}

TEST(KernelBench, RefusesWhatACallRefuses) {
  OwnedTensor x(f32, {64});
  EXPECT_EQ(error_of([&] { Kernel().bench({x}); }),
            "kernel: an empty handle can't be timed; compile or load one");
  EXPECT_THAT(error_of([&] { counting("cpu").bench({x}); }),
              testing::StartsWith("error[E-HOST-01]"));
}

TEST(KernelBench, NeedsTheDevice) {
  const auto on_gpu = [] { bench([](Stream) {}, {DeviceKind::cuda, 31}); };
  EXPECT_THAT(error_of(on_gpu), testing::StartsWith("error[E-TGT-04]: cuda: there is no device"));
}

}  // namespace
}  // namespace tw
