#include "tilewright/backend/cuda/device/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/fake_driver.h"
#include "tests/support/error_of.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

using test::fake;
using test::hoppers;
using test::WithFakeDriver;
using testing::ElementsAre;
using tw::test::error_of;

TEST(CudaClock, TakesTimesOnItsStream) {
  const WithFakeDriver driver(hoppers(2));
  {
    const auto clock = make_clock(1, {reinterpret_cast<void*>(77)});
    EXPECT_EQ(fake().current, test::context_of(1));
    EXPECT_EQ(clock->device(), (Device{DeviceKind::cuda, 1}));
    EXPECT_EQ(clock->cache_bytes(), 60 << 20);
    fake().calls.clear();
    void* memory = clock->allocate(100);
    clock->start();
    clock->copy(memory, memory, 100);
    fake().elapsed_ms = 0.25F;
    EXPECT_EQ(clock->stop_us(), 250);
    fake().runs_at_once = true;
    clock->start();
    EXPECT_EQ(clock->stop_us(), std::nullopt);
  }
  EXPECT_THAT(fake().calls,
              ElementsAre("allocate 100", "record on 77", "copy 100 on 77", "record on 77",
                          "record on 77", "record on 77", "wait", "free 28672"));
}

TEST(CudaClock, SaysWhatFails) {
  {
    const WithFakeDriver none({}, "no NVIDIA driver");
    EXPECT_THAT(error_of([] { make_clock(0, {}); }),
                testing::StartsWith("error[E-TGT-04]: cuda: there is no device to run on"));
  }
  const WithFakeDriver driver(hoppers(1));
  EXPECT_EQ(error_of([] { make_clock(1, {}); }),
            "error[E-TGT-04]: cuda: there is no device cuda:1, the last is cuda:0");
  const auto clock = make_clock(0, {});
  EXPECT_THAT(error_of([&] { clock->allocate(int64_t{1} << 41); }),
              testing::StartsWith("bench: allocating 2097153 MiB on cuda:0: CUDA_ERROR_OTHER (2)"));
  clock->start();
  fake().synchronize_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_THAT(error_of([&] { clock->stop_us(); }),
              testing::HasSubstr("a kernel of somebody else faulted before"));
}

}  // namespace
}  // namespace tw::cuda
