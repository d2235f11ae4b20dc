// Authors' code for single threads on a device.
#include <cstddef>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/cuda/device_memory.h"
#include "tests/threads/sample.h"
#include "tilewright/jit/compile.h"

namespace tw::test {
namespace {

class ThreadsOnCuda : public testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    if (cuda::find_driver().devices.empty()) GTEST_SKIP() << cuda::find_driver().reason;
  }
};

TEST_P(ThreadsOnCuda, GiveTheResult) {
  const Sample& sample = GetParam();
  CompileOptions options;
  options.target = "cuda";
  options.cache = false;
  const Kernel kernel = compile(sample.program, options);
  for (int again = 0; again < 20; ++again) {
    const SampleMemory host(sample);
    std::deque<cuda::test::DeviceMemory> device;
    std::vector<Tensor> tensors;
    tensors.reserve(host.arguments().size());  // arguments of the call refer to them
    std::vector<Arg> args;
    std::vector<size_t> sizes;
    for (const sim::Argument& a : host.arguments()) {
      size_t bytes = static_cast<size_t>(a.dtype.bits()) / 8;
      for (const int64_t extent : a.shape) bytes *= static_cast<size_t>(extent);
      const auto* first = static_cast<const std::byte*>(a.data);
      const auto& memory = device.emplace_back(std::vector<std::byte>(first, first + bytes));
      args.emplace_back(tensors.emplace_back(memory.data(), a.dtype, Shape(a.shape),
                                             Device{DeviceKind::cuda, 0}));
      sizes.push_back(bytes);
    }
    kernel(args, {});
    const std::vector<std::byte> result = device.back().values<std::byte>(sizes.back());
    std::copy(result.begin(), result.end(), static_cast<std::byte*>(host.arguments().back().data));
    ASSERT_EQ(host.result(), sample.expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadsOnCuda, testing::ValuesIn(all_samples()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tw::test
