#include "tilewright/runtime/profile.h"

#include <cmath>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/kernels.h"

namespace tw::runtime::test {
namespace {

TEST(Bench, RunsAsOftenAsTold) {
  int64_t runs = 0;
  const BenchResult result = bench([&] { ++runs, usleep(20); }, {.warmups = 2, .repeats = 7});
  EXPECT_EQ(runs, 1 + 3 + 2 + 7);
  EXPECT_EQ(result.times_us.size(), 7u);
  EXPECT_GE(result.min_us(), 20);
}

TEST(Bench, EstimatesTheNumberOfRuns) {
  int64_t runs = 0;
  bench([&] { ++runs, usleep(1000); }, {.warmup_ms = 5, .repeat_ms = 20});
  EXPECT_GT(runs, 4 + 2);
  EXPECT_LE(runs, 4 + 5 + 20);
}

TEST(Bench, TimesShortRunsInGroups) {
  volatile int64_t runs = 0;
  const BenchResult result = bench([&] { runs = runs + 1; }, {.warmups = 1, .repeats = 100'000});
  EXPECT_LT(result.times_us.size(), 10'000u);
  EXPECT_LT(result.median_us(), 5);
}

TEST(Bench, ColdRunsAreTimedOneByOne) {
  int64_t runs = 0;
  const BenchResult result =
      bench([&] { ++runs; }, {.warmups = 1, .repeats = 5, .flush_bytes = 1 << 20});
  EXPECT_EQ(result.times_us.size(), 5u);
  EXPECT_EQ(runs, 1 + 3 + 1 + 5);
}

TEST(Bench, RefusesTimesThatAreNone) {
  for (const double ms : {std::nan(""), -1.0, HUGE_VAL}) {
    EXPECT_EQ(
        error_of([&] { bench([] {}, {.repeat_ms = ms}); }),
        format("bench: warmup_ms is 25, repeat_ms is {}, both must be finite and not negative",
               ms));
  }
}

TEST(Bench, DerivesNumbers) {
  const BenchResult result{{1, 2, 3, 10}};
  EXPECT_EQ(result.median_us(), 2.5);
  EXPECT_EQ(result.quantile_us(0), 1);
  EXPECT_EQ(result.quantile_us(1), 10);
  EXPECT_DOUBLE_EQ(result.quantile_us(0.9), 3 + 0.7 * 7);
  EXPECT_EQ(result.mean_us(), 4);
  EXPECT_EQ(result.min_us(), 1);
  EXPECT_EQ(result.max_us(), 10);
  EXPECT_DOUBLE_EQ(result.gb_per_s(5000), 2);
  EXPECT_DOUBLE_EQ(result.tflop_per_s(5e6), 2);
}

TEST(Bench, SizesNeedValues) {
  const KernelMetadata gemm = gemm_metadata();
  EXPECT_EQ(size_values(gemm, {{"k", 3}, {"m", 1}, {"n", 2}}), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(error_of([&] { size_values(gemm, {{"m", 1}, {"k", 3}}); }),
            "error[E-HOST-14]: gemm: size n has no value\n"
            "  help: give one, for example {n = 4096}");
  EXPECT_EQ(error_of([&] { size_values(gemm, {{"q", 1}}); }), "gemm: there is no size q");
}

}  // namespace
}  // namespace tw::runtime::test
