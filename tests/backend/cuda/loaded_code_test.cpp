#include "tilewright/backend/cuda/device/loaded_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/fake_driver.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/ir/text.h"

namespace tw::cuda {
namespace {

using test::fake;
using test::hoppers;
using test::WithFakeDriver;
using testing::HasSubstr;

const Target& hopper() { return target_named("cuda:sm_90a"); }

TEST(CudaLoadedCode, IsAskedOnTheFirstDeviceOfItsTarget) {
  std::vector<DeviceFacts> devices = hoppers(2);
  devices[0].major = 10;
  const WithFakeDriver driver(devices);
  fake().static_shared = 48;
  fake().blocks_per_sm = 5;
  {
    const auto loaded = LoadedCode::find("code", hopper());
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(loaded->device(), "cuda:1, NVIDIA H200");
    LoadedCode::Entry entry;
    EXPECT_TRUE(loaded->ask("f", 128, 4096, entry));
    EXPECT_EQ(entry.registers, 40);
    EXPECT_EQ(entry.local_bytes, 0);
    EXPECT_EQ(entry.shared_bytes, 48);
    EXPECT_EQ(entry.blocks, 5);
    EXPECT_EQ(fake().set[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES], 4096);
    EXPECT_THAT(fake().calls, testing::ElementsAre("retain 1"));
  }
  EXPECT_THAT(fake().calls, testing::ElementsAre("retain 1", "unload"));
}

TEST(CudaLoadedCode, IsNotThereWithoutSuchADevice) {
  {
    const WithFakeDriver none({}, "no NVIDIA driver");
    EXPECT_EQ(LoadedCode::find("code", hopper()), nullptr);
  }
  const WithFakeDriver driver(hoppers(1));
  EXPECT_EQ(LoadedCode::find("code", target_named("cuda:sm_100a")), nullptr);
  fake().load_result = CUDA_ERROR_INVALID_IMAGE;
  EXPECT_EQ(LoadedCode::find("code", hopper()), nullptr);
}

TEST(CudaLoadedCode, IsWhatExplainTells) {
  if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  const ir::Program program = ir::parse_program(R"(tilewright ir 1
program "twice" {
  symbol n: i64
  input X: f32[n]
  output Y: f32[n]
  launch bx in n // 256 {
    parallel i in 256 { Y[bx * 256 + i] = X[bx * 256 + i] * 2.0 }
  }
})",
                                                {});
  {
    const WithFakeDriver none({}, "no NVIDIA driver");
    EXPECT_THAT(explain_program(program, "cuda:sm_90a"),
                HasSubstr("% of its threads, blocks allow no more; by the limits of the chip\n"));
  }
  const WithFakeDriver driver(hoppers(1));
  fake().registers = 77;
  fake().local_bytes = 8;
  fake().blocks_per_sm = 4;
  const std::string text = explain_program(program, "cuda:sm_90a");
  EXPECT_THAT(text, HasSubstr("  77 registers, no spills, 8 bytes of local memory\n"));
  EXPECT_THAT(text, HasSubstr("  4 blocks of "));
  EXPECT_THAT(text, HasSubstr(" by the limits of the chip; asked of cuda:0, NVIDIA H200\n"));
}

}  // namespace
}  // namespace tw::cuda
