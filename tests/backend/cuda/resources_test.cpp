#include "tilewright/backend/cuda/toolchain/resources.h"

#include <gtest/gtest.h>

#include "tilewright/base/format.h"

namespace tw::cuda {
namespace {

TEST(Resources, OfTheAssemblersReport) {
  const std::string log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'f_1' for 'sm_90a'\n"
      "ptxas info    : Function properties for f_1\n"
      "ptxas         .     48 bytes stack frame, 36 bytes spill stores, 40 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 512 bytes smem\n"
      "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
      "ptxas info    : Function properties for f\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n";
  EXPECT_EQ(resources_of(log, "f_1"), (Resources{168, 48, 36, 40, 512}));
  EXPECT_EQ(resources_of(log, "f"), (Resources{10, 0, 0, 0, 0}));
  EXPECT_EQ(resources_of(log, "g"), std::nullopt);
}

TEST(Resources, HowManyBlocksFit) {
  const Target& target = all_targets().front();
  const auto fits = [&](int64_t threads, int64_t registers, int64_t shared) {
    const Occupancy o = occupancy(target, threads, registers, shared);
    return format("{} {}", o.blocks, o.limit);
  };
  EXPECT_EQ(fits(32, 32, 0), "32 blocks");
  EXPECT_EQ(fits(256, 32, 0), "8 threads");
  EXPECT_EQ(fits(128, 76, 0), "6 registers");
  EXPECT_EQ(fits(1024, 65, 0), "0 registers");
  EXPECT_EQ(fits(128, 32, 100 << 10), "2 shared memory");
  EXPECT_EQ(fits(128, 32, 227 << 10), "1 shared memory");
}

}  // namespace
}  // namespace tw::cuda
