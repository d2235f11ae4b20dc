// Hand-written sources through NVRTC, driver and launcher on a real device.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/device_memory.h"
#include "tests/backend/cuda/sources.h"
#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/backend/cuda/toolchain/toolchain.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/artifact.h"
#include "tilewright/runtime/call.h"

namespace tw::cuda {
namespace {

using runtime::HostExpr;
using runtime::HostOp;
using runtime::KernelMetadata;
using runtime::LoadedKernel;
using runtime::ParamKind;
using test::DeviceMemory;
using test::NewStream;

KernelMetadata metadata_of(const std::string& name, DType dtype, ParamKind y) {
  KernelMetadata m;
  m.name = name;
  m.target = resolve_target("cuda");
  m.device = DeviceKind::cuda;
  const HostExpr n = HostExpr::symbol(0);
  m.symbols = {{"n"}};
  m.params = {
      {"X", ParamKind::input, dtype, {n}}, {"Y", y, dtype, {n}}, {"a", ParamKind::scalar, f32}};
  const HostExpr above = HostExpr::binary(HostOp::add, n, HostExpr(255));
  m.launches = {{"main",
                 {{.entry = name,
                   .grid = {HostExpr::binary(HostOp::floordiv, above, HostExpr(256))},
                   .threads = {256}}}}};
  runtime::pack_all(m);
  return m;
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (find_driver().devices.empty()) GTEST_SKIP() << find_driver().reason;
    if (target_for(find_driver().devices[0].major, find_driver().devices[0].minor) == nullptr) {
      GTEST_SKIP() << "device 0 is of no target: " << find_driver().devices[0].name;
    }
    if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  }

  static const std::string& code() {
    static const std::string cubin = translate({.name = "device_test", .source = test::kSource},
                                               target_named(resolve_target("cuda")))
                                         .cubin;
    return cubin;
  }
  static LoadedKernel kernel_of(const KernelMetadata& metadata) {
    std::shared_ptr<runtime::Module> module = load_cubin({metadata, code()});
    return LoadedKernel(metadata, std::move(module));
  }
  static LoadedKernel kernel(const std::string& name) {
    return kernel_of(metadata_of(name, f32, ParamKind::inout));
  }
  static void call(const LoadedKernel& kernel, const Tensor& x, const Tensor& y, float a,
                   CUstream stream = nullptr) {
    const Arg args[] = {x, y, a};
    kernel(args, {.stream = {stream}});
  }

  static std::vector<float> numbers(size_t count, float first = 0) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
};

TEST_F(OnDevice, AxpyInBf16IsExact) {
  const LoadedKernel axpy = kernel_of(metadata_of("axpy", bf16, ParamKind::inout));
  constexpr size_t n = 100003;
  std::vector<uint16_t> x(n), y(n), wanted(n);
  for (size_t i = 0; i < n; ++i) {
    x[i] = static_cast<uint16_t>(encode(static_cast<double>(i % 1000) / 8 - 50, bf16));
    y[i] = static_cast<uint16_t>(encode(static_cast<double>(i % 77) / 4, bf16));
    wanted[i] = static_cast<uint16_t>(encode(0.5 * decode(x[i], bf16) + decode(y[i], bf16), bf16));
  }
  const DeviceMemory on_x(x), on_y(y);
  call(axpy, on_x.tensor(bf16, n), on_y.tensor(bf16, n), 0.5f);
  EXPECT_EQ(on_y.values<uint16_t>(n), wanted);
}

TEST_F(OnDevice, TwoStreamsRunTheirLaunchesInOrder) {
  const LoadedKernel copy = kernel("copy");
  const NewStream first, second;
  constexpr size_t n = 1 << 20;
  const std::vector<float> a = numbers(n), b = numbers(n, 0.5f);
  const DeviceMemory from_a(a), from_b(b), mid_a(n * 4), mid_b(n * 4), to_a(n * 4), to_b(n * 4);
  for (int i = 0; i < 20; ++i) {
    call(copy, from_a.tensor(f32, n), mid_a.tensor(f32, n), 0, first);
    call(copy, from_b.tensor(f32, n), mid_b.tensor(f32, n), 0, second);
    call(copy, mid_a.tensor(f32, n), to_a.tensor(f32, n), 0, first);
    call(copy, mid_b.tensor(f32, n), to_b.tensor(f32, n), 0, second);
  }
  EXPECT_EQ(to_a.values<float>(n), a);
  EXPECT_EQ(to_b.values<float>(n), b);
}

TEST_F(OnDevice, AThreadWithoutContextMayCall) {
  const LoadedKernel copy = kernel("copy");
  const DeviceMemory x(numbers(100)), y(400);
  std::thread([&] { call(copy, x.tensor(f32, 100), y.tensor(f32, 100), 0); }).join();
  EXPECT_EQ(y.values<float>(100), numbers(100));
}

TEST_F(OnDevice, ACaptureRecordsLaunchesAndFills) {
  const ContextScope scope(Gpu::numbered(0));
  const NewStream stream;
  // The kernels are new: their code is loaded during the capture.
  const LoadedKernel copy = kernel("copy"), chained = kernel("chained");
  const auto module = load_cubin({metadata_of("copy", f32, ParamKind::inout), code()});
  const DeviceMemory x(numbers(1000)), y(numbers(1000, 7)), z(4000), zeroed(numbers(1000));
  ASSERT_EQ(driver().capture_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  call(copy, x.tensor(f32, 1000), y.tensor(f32, 1000), 0, stream);
  call(chained, y.tensor(f32, 1000), z.tensor(f32, 1000), 0, stream);
  module->fill_zero(zeroed.tensor(f32, 1000).data(), 4000, {DeviceKind::cuda, 0}, {stream});
  CUgraph graph = nullptr;
  ASSERT_EQ(driver().capture_end(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(y.values<float>(1000), numbers(1000, 7));  // nothing has run
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver().graph_instantiate(&executable, graph, 0), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(driver().graph_launch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(y.values<float>(1000), numbers(1000));
  EXPECT_EQ(z.values<float>(1000), numbers(1000, 1));
  EXPECT_EQ(zeroed.values<float>(1000), std::vector<float>(1000));
  driver().graph_exec_destroy(executable);
  driver().graph_destroy(graph);
}

TEST_F(OnDevice, ABlockGetsAllTheSharedMemoryOfItsTarget) {
  KernelMetadata metadata = metadata_of("turn", f32, ParamKind::inout);
  metadata.launches[0].variants[0].shared_bytes = 232448;
  const LoadedKernel turn = kernel_of(metadata);
  const DeviceMemory x(numbers(512)), y(2048);
  call(turn, x.tensor(f32, 512), y.tensor(f32, 512), 0);
  const std::vector<float> found = y.values<float>(512);
  EXPECT_EQ(found[0], 255);
  EXPECT_EQ(found[511], 256);
}

TEST_F(OnDevice, ClustersAndCooperativeLaunches) {
  KernelMetadata metadata = metadata_of("rank", f32, ParamKind::inout);
  metadata.launches[0].variants[0].cluster = {4};
  const LoadedKernel rank = kernel_of(metadata);
  const DeviceMemory x(2048 * 4), y(2048 * 4);
  call(rank, x.tensor(f32, 2048), y.tensor(f32, 2048), 0);
  const std::vector<float> found = y.values<float>(2048);
  for (size_t block = 0; block < 8; ++block) EXPECT_EQ(found[block * 256], block % 4);

  metadata.launches[0].variants[0].cooperative = true;
  const LoadedKernel together = kernel_of(metadata);
  call(together, x.tensor(f32, 2048), y.tensor(f32, 2048), 0);
  constexpr size_t large = 1 << 24;
  const DeviceMemory far(large * 4), away(large * 4);
  try {
    call(together, far.tensor(f32, large), away.tensor(f32, large), 0);
    FAIL() << "65536 blocks can't be resident";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("E-HOST-11"));
  }
}

TEST_F(OnDevice, ADependentLaunchSeesWhatTheOneAheadWrote) {
  KernelMetadata metadata = metadata_of("chained", f32, ParamKind::inout);
  metadata.launches[0].variants[0].dependent_launch = true;
  const LoadedKernel chained = kernel_of(metadata);
  const NewStream stream;
  constexpr size_t n = 1 << 16;
  const DeviceMemory a(std::vector<float>(n, 0.0f)), b(n * 4);
  for (int i = 0; i < 50; ++i) {
    call(chained, a.tensor(f32, n), b.tensor(f32, n), 0, stream);
    call(chained, b.tensor(f32, n), a.tensor(f32, n), 0, stream);
  }
  EXPECT_EQ(a.values<float>(n), std::vector<float>(n, 100.0f));
}

TEST_F(OnDevice, AnExportedKernelRunsWithoutTheCompiler) {
  const KernelMetadata metadata = metadata_of("copy", f32, ParamKind::inout);
  const std::string path = testing::TempDir() + "tw_copy.kernel";
  runtime::write_artifact(path, metadata, code());
  const runtime::Artifact artifact = runtime::read_artifact(path);
  std::shared_ptr<runtime::Module> module = load_cubin(artifact);
  const LoadedKernel copy(artifact.metadata, std::move(module));
  const DeviceMemory x(numbers(300)), y(1200);
  call(copy, x.tensor(f32, 300), y.tensor(f32, 300), 0);
  EXPECT_EQ(y.values<float>(300), numbers(300));
  std::remove(path.c_str());
}

// A fault ends the use of the device in its process, so these run in one of their own.
class FaultOnDevice : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  /// The texts of the errors of two calls, printed on the standard error.
  [[noreturn]] static void fault_and_report(bool waiting) {
    if (waiting) setenv("TW_SYNC_LAUNCH", "1", 1);
    const LoadedKernel copy = kernel("copy"), stray = kernel("stray");
    const DeviceMemory x(numbers(100)), y(400);
    const Tensor a = x.tensor(f32, 100), b = y.tensor(f32, 100);
    const auto report = [&](const LoadedKernel& k) {
      try {
        call(k, a, b, 0);
        if (!waiting) driver().context_synchronize();
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
    };
    report(stray);
    report(copy);
    report(copy);
    std::fflush(stderr);
    std::_Exit(0);  // no destructors: the device is lost
  }
};

TEST_F(FaultOnDevice, LaterCallsNameTheKernelThatFaulted) {
  EXPECT_EXIT(fault_and_report(false), testing::ExitedWithCode(0),
              "copy: cuda:0 can't be used, stray faulted before: .*\\(7[0-9][0-9]\\)");
}

TEST_F(FaultOnDevice, AWaitingCallNamesItself) {
  EXPECT_EXIT(fault_and_report(true), testing::ExitedWithCode(0),
              "stray on cuda:0: .*\\(7[0-9][0-9]\\)(.|\n)*copy: cuda:0 can't be used, stray "
              "faulted before");
}

double median_ns(const std::function<void()>& run) {
  std::vector<double> times;
  for (int batch = 0; batch < 40; ++batch) {
    constexpr int count = 200;  // fewer than the queue of launches holds
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) run();
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - start;
    driver().context_synchronize();
    times.push_back(passed.count() / count);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

TEST_F(OnDevice, ACallCostsLittleMoreThanTheDriversLaunch) {
  Gpu& gpu = Gpu::numbered(0);
  const ContextScope scope(gpu);
  const NewStream stream;
  const LoadedKernel copy = kernel("copy");
  const DeviceMemory x(400), y(400);
  const Tensor a = x.tensor(f32, 100), b = y.tensor(f32, 100);
  call(copy, a, b, 0, stream);
  const double ours = median_ns([&] { call(copy, a, b, 0, stream); });

  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(driver().module_load(&module, code().data()), CUDA_SUCCESS);
  ASSERT_EQ(driver().module_function(&function, module, "copy"), CUDA_SUCCESS);
  void *px = a.data(), *py = b.data();
  float scale = 0;
  int64_t n = 100;
  void* params[] = {&px, &py, &scale, &n};
  CUlaunchConfig config{.gridDimX = 1,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 256,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .hStream = stream};
  const double bare = median_ns([&] { driver().launch(&config, function, params, nullptr); });
  std::printf("a call %.0f ns, cuLaunchKernelEx alone %.0f ns\n", ours, bare);
  EXPECT_LT(ours, bare + 1000);
}

TEST_F(OnDevice, CompileAndLoadTimes) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  const Target& target = target_named(resolve_target("cuda"));
  std::vector<double> compile, load;
  for (int i = 0; i < 11; ++i) {
    auto start = Clock::now();
    const Translated made =
        translate({.name = "device_test", .source = format("{}// {}", test::kSource, i)}, target);
    compile.push_back(ms(Clock::now() - start));
    const KernelMetadata metadata = metadata_of("copy", f32, ParamKind::inout);
    start = Clock::now();
    std::shared_ptr<runtime::Module> module = load_cubin({metadata, made.cubin});
    const LoadedKernel copy(metadata, std::move(module));
    const DeviceMemory x(400), y(400);
    call(copy, x.tensor(f32, 100), y.tensor(f32, 100), 0);
    load.push_back(ms(Clock::now() - start));
  }
  std::sort(compile.begin(), compile.end());
  std::sort(load.begin(), load.end());
  std::printf("six kernels in one source: compiled in %.1f ms, loaded and launched in %.2f ms\n",
              compile[5], load[5]);
}

}  // namespace
}  // namespace tw::cuda
