// Barriers of the grid on a device, in several launches at the same time.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/device_memory.h"
#include "tilewright/base/error.h"
#include "tilewright/jit/compile.h"
#include "tilewright/lang/lang.h"

namespace tw::cuda {
namespace {

/// Blocks hand on rows, turn by turn.
class GridsOnCuda : public testing::Test {
 protected:
  static constexpr int64_t kBlocks = 24, kWidth = 128, kTurns = 50;

  void SetUp() override {
    if (find_driver().devices.empty()) GTEST_SKIP() << find_driver().reason;
    CompileOptions options;
    options.target = "cuda";
    options.cache = false;
    kernel_ =
        compile(program("turns",
                        [](Builder& k) {
                          const Expr n = k.dim("n");
                          const Buffer x = k.inout("x", i32, {2, n, kWidth});
                          k.launch({n}, {.threads = {kWidth}, .cooperative = true}, [&](Expr b) {
                            const Expr t = thread_idx();
                            serial(kTurns, [&](Expr i) {
                              x((i + 1) % 2, (b + 1) % n, t) = x(i % 2, b, t) + 1;
                              grid_sync();
                            });
                          });
                        }),
                options);
  }
  static std::vector<int32_t> rows(int32_t first) {
    std::vector<int32_t> values(2 * kBlocks * kWidth);
    std::iota(values.begin(), values.begin() + kBlocks * kWidth, first);
    return values;
  }
  /// What so many launches make of them.
  static std::vector<int32_t> turned(int32_t first, int launches) {
    std::vector<int32_t> values = rows(first);
    values.resize(kBlocks * kWidth);
    const int64_t steps = launches * kTurns;
    std::rotate(values.begin(), values.end() - steps % kBlocks * kWidth, values.end());
    for (int32_t& v : values) v += static_cast<int32_t>(steps);
    return values;
  }
  void launch(const test::DeviceMemory& memory, CUstream stream) const {
    const Tensor x(memory.data(), i32, Shape{2, kBlocks, kWidth}, Device{DeviceKind::cuda, 0});
    kernel_({x}, {.stream = {stream}});
  }

  Kernel kernel_;
};

TEST_F(GridsOnCuda, LaunchesOfTwoStreamsDontDisturbEachOther) {
  const test::NewStream streams[2];
  const test::DeviceMemory memory[] = {test::DeviceMemory(rows(0)),
                                       test::DeviceMemory(rows(10000))};
  for (int i = 0; i < 30; ++i) {
    for (size_t s = 0; s < 2; ++s) launch(memory[s], streams[s]);
  }
  EXPECT_EQ(memory[0].values<int32_t>(kBlocks * kWidth), turned(0, 30));
  EXPECT_EQ(memory[1].values<int32_t>(kBlocks * kWidth), turned(10000, 30));
}

TEST_F(GridsOnCuda, ReplaysOfGraphsDontDisturbEachOther) {
  const ContextScope scope(Gpu::numbered(0));
  const DriverApi& api = driver();
  const test::NewStream streams[2];
  const test::DeviceMemory memory[] = {test::DeviceMemory(rows(0)),
                                       test::DeviceMemory(rows(10000))};
  CUgraphExec graphs[2] = {};
  for (size_t s = 0; s < 2; ++s) {
    ASSERT_EQ(api.capture_begin(streams[s], CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    launch(memory[s], streams[s]);
    launch(memory[s], streams[s]);
    CUgraph graph = nullptr;
    ASSERT_EQ(api.capture_end(streams[s], &graph), CUDA_SUCCESS);
    ASSERT_EQ(api.graph_instantiate(&graphs[s], graph, 0), CUDA_SUCCESS);
    api.graph_destroy(graph);
  }
  for (int i = 0; i < 10; ++i) {
    for (size_t s = 0; s < 2; ++s) {
      ASSERT_EQ(api.graph_launch(graphs[s], streams[s]), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(memory[0].values<int32_t>(kBlocks * kWidth), turned(0, 20));
  EXPECT_EQ(memory[1].values<int32_t>(kBlocks * kWidth), turned(10000, 20));
  for (CUgraphExec graph : graphs) api.graph_exec_destroy(graph);
}

TEST_F(GridsOnCuda, MoreBlocksThanRunAtOnceAreRefused) {
  constexpr int64_t kMany = 100000;
  const test::DeviceMemory memory(static_cast<size_t>(2 * kMany * kWidth * 4));
  const Tensor x(memory.data(), i32, Shape{2, kMany, kWidth}, Device{DeviceKind::cuda, 0});
  try {
    kernel_({x}, {});
    FAIL() << "100000 blocks can't be resident";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("error[E-HOST-11]: turns: cooperative launch"));
  }
}

}  // namespace
}  // namespace tw::cuda
