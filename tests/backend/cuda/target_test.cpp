#include "tilewright/backend/cuda/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/fake_driver.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/target.h"

namespace tw::cuda {
namespace {

using test::WithFakeDriver;
using testing::ElementsAre;
using testing::IsEmpty;

std::string error_of(const std::string& name) {
  try {
    return "no error, " + resolve_target(name);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CudaTarget, ANamedChipNeedsNoDevice) {
  const WithFakeDriver none({}, "no driver");
  EXPECT_EQ(resolve_target("cuda:sm_90a"), "cuda:sm_90a");
  EXPECT_EQ(resolve_target("cuda:sm_100a"), "cuda:sm_100a");
  EXPECT_EQ(resolve_target("sm_90a"), "cuda:sm_90a");
  EXPECT_THAT(targets_here(), IsEmpty());
}

TEST(CudaTarget, WithoutANameItIsThatOfTheFirstDevice) {
  const WithFakeDriver two({{.name = "NVIDIA B200", .major = 10}, {.name = "H", .major = 9}});
  EXPECT_EQ(resolve_target("cuda"), "cuda:sm_100a");
  EXPECT_THAT(targets_here(), ElementsAre("cuda:sm_100a", "cuda:sm_90a"));
}

TEST(CudaTarget, WithoutADeviceTheErrorNamesTheReasonAndTheRemedy) {
  const WithFakeDriver none({}, "no NVIDIA driver (libcuda.so.1 can't be opened)");
  EXPECT_EQ(error_of("cuda"),
            "error[E-TGT-04]: cuda: there is no device to take the target from: no NVIDIA driver "
            "(libcuda.so.1 can't be opened)\n"
            "  help: cuda:sm_90a compiles without a device");
}

TEST(CudaTarget, AnUnknownDeviceOrNameIsAnError) {
  const WithFakeDriver old({{.name = "NVIDIA A100", .major = 8}});
  EXPECT_EQ(error_of("cuda"),
            "error[E-TGT-04]: cuda: device 0 (NVIDIA A100) has compute capability 8.0, the targets "
            "are cuda:sm_90a, cuda:sm_100a\n"
            "  help: name the target: cuda:sm_90a compiles without such a device");
  EXPECT_THAT(targets_here(), IsEmpty());
  EXPECT_EQ(error_of("cuda:sm_80"),
            "target: there is none called 'cuda:sm_80'\n"
            "  help: the targets of NVIDIA are cuda:sm_90a, cuda:sm_100a");
}

TEST(CudaTarget, TheIrKnowsEachOfThem) {
  for (const Target& target : all_targets()) {
    EXPECT_EQ(tw::target_named(target.full_name()).family(), "cuda") << target.name;
  }
}

}  // namespace
}  // namespace tw::cuda
