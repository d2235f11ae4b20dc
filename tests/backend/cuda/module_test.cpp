#include "tilewright/backend/cuda/device/module.h"

#include <bit>
#include <cstdlib>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/fake_driver.h"
#include "tests/support/error_of.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/call.h"
#include "tilewright/runtime/fault.h"

namespace tw::cuda {
namespace {

using runtime::HostExpr;
using runtime::KernelMetadata;
using runtime::LoadedKernel;
using runtime::ParamKind;
using test::fake;
using test::hoppers;
using test::WithFakeDriver;
using testing::ElementsAre;
using testing::IsEmpty;
using tw::test::error_of;

/// `scale(X f32 [n], a f32) -> Y f32 [n]`, blocks of 256.
KernelMetadata scale_metadata() {
  KernelMetadata m;
  m.name = "scale";
  m.target = "cuda:sm_90a";
  m.device = DeviceKind::cuda;
  const HostExpr n = HostExpr::symbol(0);
  m.symbols = {{"n"}};
  m.params = {{"X", ParamKind::input, f32, {n}},
              {"a", ParamKind::scalar, f32},
              {"Y", ParamKind::output, f32, {n}}};
  const HostExpr blocks =
      HostExpr::binary(runtime::HostOp::floordiv,
                       HostExpr::binary(runtime::HostOp::add, n, HostExpr(255)), HostExpr(256));
  m.launches = {{"main", {{.entry = "scale_0", .grid = {blocks}, .threads = {256}}}}};
  runtime::pack_all(m);
  return m;
}

std::string code_of(const std::string& entry) {
  return std::string(
             "\x7f"
             "ELF .text.") +
         entry + '\0';
}

LoadedKernel kernel_of(KernelMetadata metadata) {
  const std::string code = code_of(metadata.launches[0].variants[0].entry);
  fake().param_count = metadata.packed.size();
  std::shared_ptr<runtime::Module> module = load_cubin({metadata, code});
  return LoadedKernel(std::move(metadata), std::move(module));
}

Tensor on_device(uintptr_t address, int64_t n, int device = 0) {
  return {reinterpret_cast<void*>(address), f32, {n}, {DeviceKind::cuda, device}};
}

void call(const LoadedKernel& kernel, int64_t n, int device = 0, uintptr_t stream = 0) {
  const Tensor x = on_device(0x10000, n, device), y = on_device(0x200000, n, device);
  const Arg args[] = {x, 2.5, y};
  kernel(args, {.stream = {reinterpret_cast<void*>(stream)}});
}

TEST(CudaModule, LoadsWithoutADriver) {
  const WithFakeDriver none({}, "no NVIDIA driver");
  const LoadedKernel kernel = kernel_of(scale_metadata());
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "error[E-TGT-04]: cuda: there is no device to run on: no NVIDIA driver\n"
            "  help: without a device kernels can be compiled for cuda:sm_90a, and run on the cpu");
}

TEST(CudaModule, PassesEachPackedFieldAsAParameter) {
  const WithFakeDriver driver(hoppers(1));
  const LoadedKernel kernel = kernel_of(scale_metadata());
  call(kernel, 1000, 0, 77);
  ASSERT_EQ(fake().launches.size(), 1U);
  const test::FakeLaunch& launch = fake().launches[0];
  EXPECT_EQ(launch.entry, "scale_0");
  EXPECT_THAT(launch.params, ElementsAre(0x10000, 0x200000, std::bit_cast<uint32_t>(2.5f), 1000));
  EXPECT_EQ(launch.config.gridDimX, 4U);
  EXPECT_EQ(launch.config.gridDimY, 1U);
  EXPECT_EQ(launch.config.blockDimX, 256U);
  EXPECT_EQ(launch.config.blockDimZ, 1U);
  EXPECT_EQ(launch.config.sharedMemBytes, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.config.hStream), 77U);
  EXPECT_THAT(launch.attributes, IsEmpty());
}

TEST(CudaModule, LoadsOnceForEachDeviceAndKeepsTheCallersContext) {
  const WithFakeDriver driver(hoppers(2));
  const LoadedKernel kernel = kernel_of(scale_metadata());
  call(kernel, 8, 0);
  EXPECT_EQ(fake().current, test::context_of(0));  // a thread without context gets it
  call(kernel, 8, 1);
  call(kernel, 8, 1);
  EXPECT_EQ(fake().loaded.size(), 2U);
  EXPECT_THAT(fake().calls, ElementsAre("retain 0", "retain 1"));
  EXPECT_EQ(fake().launches[1].context, test::context_of(1));
  EXPECT_EQ(fake().current, test::context_of(0));
}

/// `move(X bf16 [m, n], strides [s, t])`, which makes boxes of X.
KernelMetadata boxes_metadata() {
  KernelMetadata m;
  m.name = "move";
  m.target = "cuda:sm_90a";
  m.device = DeviceKind::cuda;
  m.symbols = {{"m"}, {"n"}, {"s"}, {"t"}};
  m.params = {{.name = "X",
               .kind = ParamKind::input,
               .dtype = bf16,
               .shape = {HostExpr::symbol(0), HostExpr::symbol(1)},
               .strides = {HostExpr::symbol(2), HostExpr::symbol(3)}}};
  m.launches = {{"main", {{.entry = "move_0", .grid = {4}, .threads = {32}}}}};
  m.launches[0].variants[0].maps = {{0, {8, 64}, 128}, {0, {1, 32}, 0}};
  runtime::pack_all(m);
  return m;
}
std::string call_boxes(const LoadedKernel& kernel, uintptr_t address, const Shape& shape,
                       const Shape& strides) {
  const Tensor x{reinterpret_cast<void*>(address), bf16, shape, strides, {DeviceKind::cuda, 0}};
  const Arg args[] = {x};
  return error_of([&] { kernel(args, {}); });
}

TEST(CudaModule, DescriptorsComeAfterTheFields) {
  const WithFakeDriver driver(hoppers(1));
  const LoadedKernel kernel = kernel_of(boxes_metadata());
  fake().param_count = 7;
  EXPECT_EQ(call_boxes(kernel, 0x10000, {100, 200}, {208, 1}), "no error");
  ASSERT_EQ(fake().maps.size(), 2U);
  const test::FakeMap& map = fake().maps[0];
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.address, 0x10000U);
  EXPECT_THAT(map.extents, ElementsAre(200, 100));
  EXPECT_THAT(map.strides, ElementsAre(416));
  EXPECT_THAT(map.box, ElementsAre(64, 8));
  EXPECT_EQ(map.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(fake().maps[1].swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_THAT(fake().launches.at(0).params, ElementsAre(0x10000, 100, 200, 208, 1, 0x7E51, 0x7E52));
  // The stride over one row may be any.
  EXPECT_EQ(call_boxes(kernel, 0x10000, {1, 200}, {3, 1}), "no error");
  EXPECT_THAT(fake().maps[2].strides, ElementsAre(400));
}

TEST(CudaModule, TensorsThatBulkCopiesCantTake) {
  const WithFakeDriver driver(hoppers(1));
  const LoadedKernel kernel = kernel_of(boxes_metadata());
  const std::string help = "\n  help: pass a copy that is contiguous and aligned";
  EXPECT_EQ(
      call_boxes(kernel, 0x10008, {100, 200}, {208, 1}),
      "error[E-HOST-07]: move: bulk copies of X: its address 0x10008 is no multiple of 16" + help);
  EXPECT_EQ(call_boxes(kernel, 0x10000, {100, 200}, {204, 1}),
            "error[E-HOST-07]: move: bulk copies of X: the stride of its dimension 0 is 408 bytes, "
            "must be a multiple of 16 below 2^40" +
                help);
  EXPECT_EQ(call_boxes(kernel, 0x10000, {100, 200}, {1, 104}),
            "error[E-HOST-07]: move: bulk copies of X: the stride of its last dimension is 104, "
            "must be 1" +
                help);
  EXPECT_EQ(call_boxes(kernel, 0x10000, {0, 200}, {200, 1}),
            "error[E-HOST-07]: move: bulk copies of X: its dimension 0 has 0 elements, must be 1 "
            "to 2^32" +
                help);
  EXPECT_THAT(fake().launches, IsEmpty());
}

TEST(CudaModule, ALaunchHasItsAttributes) {
  const WithFakeDriver driver(hoppers(1));
  KernelMetadata metadata = scale_metadata();
  runtime::Variant& variant = metadata.launches[0].variants[0];
  variant.threads = {32, 4, 2};
  variant.cluster = {2};
  variant.shared_bytes = 200000;
  variant.cooperative = variant.dependent_launch = true;
  const LoadedKernel kernel = kernel_of(metadata);
  call(kernel, 1024);
  const test::FakeLaunch& launch = fake().launches.at(0);
  EXPECT_EQ(launch.config.blockDimY, 4U);
  EXPECT_EQ(launch.config.blockDimZ, 2U);
  EXPECT_EQ(launch.config.sharedMemBytes, 200000U);
  EXPECT_EQ(fake().set[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES], 200000);
  EXPECT_EQ(fake().set.count(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 0U);
  ASSERT_EQ(launch.attributes.size(), 3U);
  EXPECT_EQ(launch.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.x, 2U);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.z, 1U);
  EXPECT_EQ(launch.attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(launch.attributes[1].value.cooperative, 1);
  EXPECT_EQ(launch.attributes[2].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
}

TEST(CudaModule, ALargeClusterIsAllowedFirst) {
  const WithFakeDriver driver(hoppers(1));
  KernelMetadata metadata = scale_metadata();
  metadata.launches[0].variants[0].cluster = {16};
  call(kernel_of(metadata), 4096);
  EXPECT_EQ(fake().set[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED], 1);
}

TEST(CudaModule, ACooperativeLaunchMustBeResident) {
  const WithFakeDriver driver(hoppers(1));
  KernelMetadata metadata = scale_metadata();
  metadata.launches[0].variants[0].cooperative = true;
  const LoadedKernel kernel = kernel_of(metadata);
  call(kernel, 264 * 256);  // 2 blocks on each of 132 multiprocessors
  EXPECT_EQ(error_of([&] { call(kernel, 264 * 256 + 1); }),
            "error[E-HOST-11]: scale: cooperative launch scale_0 has 265 blocks, cuda:0 runs 264 "
            "of them at once\n"
            "  help: launch at most that many and let each do the work of several");
}

TEST(CudaModule, TooMuchSharedMemoryIsAnErrorWithTheLimit) {
  const WithFakeDriver driver(hoppers(1));
  fake().static_shared = 1024;
  KernelMetadata metadata = scale_metadata();
  metadata.launches[0].variants[0].shared_bytes = 232448;
  const LoadedKernel kernel = kernel_of(metadata);
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "error[E-HOST-10]: scale: a block of scale_0 needs 233472 bytes of shared memory, "
            "cuda:sm_90a gives at most 232448");
}

TEST(CudaModule, CodeForAnotherChipIsRefusedByName) {
  const WithFakeDriver driver({{.name = "NVIDIA B200", .major = 10, .minor = 0, .sms = 148}});
  const LoadedKernel kernel = kernel_of(scale_metadata());
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "error[E-TGT-04]: scale: compiled for cuda:sm_90a, but cuda:0 (NVIDIA B200) has "
            "compute capability 10.0\n"
            "  help: compile it for cuda:sm_100a");
}

TEST(CudaModule, AMissingEntryOrDeviceIsAnError) {
  const WithFakeDriver driver(hoppers(1));
  EXPECT_EQ(error_of([] { load_cubin({scale_metadata(), "no code"})->entry("scale_0"); }),
            "scale: its code has no entry 'scale_0'");
  const LoadedKernel kernel = kernel_of(scale_metadata());
  EXPECT_EQ(error_of([&] { call(kernel, 8, 3); }),
            "error[E-TGT-04]: cuda: there is no device cuda:3, the last is cuda:0");
}

TEST(CudaModule, TensorsOfOtherDevicesAreRefused) {
  const WithFakeDriver driver(hoppers(2));
  const LoadedKernel kernel = kernel_of(scale_metadata());
  const Tensor x = on_device(0x10000, 8), other = on_device(0x20000, 8, 1);
  const Tensor host(reinterpret_cast<void*>(0x30000), f32, {8});
  const auto error = [&](const Tensor& a, const Tensor& b) {
    return error_of([&] {
      const Arg args[] = {a, 1.0, b};
      kernel(args);
    });
  };
  EXPECT_EQ(error(x, other), "error[E-HOST-04]: scale: Y is on cuda:1, but X is on cuda:0");
  EXPECT_EQ(error(host, x),
            "error[E-HOST-04]: scale: X is on cpu, the kernel was compiled for cuda:sm_90a");
}

TEST(CudaModule, ALaunchThatIsRefusedSaysHowItWasMade) {
  const WithFakeDriver driver(hoppers(1));
  const LoadedKernel kernel = kernel_of(scale_metadata());
  fake().launch_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "scale: launching scale_0 (grid 1 x 1 x 1, threads [256], 0 bytes of shared memory) on "
            "cuda:0: CUDA_ERROR_INVALID_VALUE (1): invalid argument");
  fake().launch_result = CUDA_SUCCESS;
  call(kernel, 8);  // it was no fault
}

TEST(CudaModule, AFaultIsReportedByEveryLaterCall) {
  const WithFakeDriver driver(hoppers(2));
  KernelMetadata other = scale_metadata();
  other.name = "gemm";
  const LoadedKernel kernel = kernel_of(scale_metadata()), gemm = kernel_of(other);
  call(gemm, 8);
  fake().launch_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  const std::string text =
      "scale: cuda:0 can't be used, gemm faulted before: an illegal memory access was "
      "encountered (700)\n"
      "  note: a device fault lasts until the process ends\n"
      "  help: TW_SYNC_LAUNCH=1 reports a fault in the call that causes it\n"
      "  help: TW_CHECK_BOUNDS=1 finds the access";
  EXPECT_EQ(error_of([&] { call(kernel, 8); }), text);
  fake().launch_result = CUDA_SUCCESS;
  EXPECT_EQ(error_of([&] { call(kernel, 8); }), text);
  EXPECT_THROW(call(gemm, 8), runtime::DeviceFault);
  call(gemm, 8, 1);  // the other device works
}

TEST(CudaModule, AFaultWithSeveralSuspectsNamesThemLatestFirst) {
  const WithFakeDriver driver(hoppers(1));
  KernelMetadata other = scale_metadata();
  other.name = "gemm";
  const LoadedKernel kernel = kernel_of(scale_metadata()), gemm = kernel_of(other);
  call(gemm, 8);
  call(gemm, 8);
  call(kernel, 8);
  fake().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  const std::string text = error_of([&] { call(kernel, 8); });
  EXPECT_TRUE(text.starts_with("scale: cuda:0 can't be used, one of scale, gemm faulted before: "))
      << text;
}

TEST(CudaModule, WaitingLaunchesReportTheirOwnFault) {
  setenv("TW_SYNC_LAUNCH", "1", 1);
  const WithFakeDriver driver(hoppers(1));
  const LoadedKernel kernel = kernel_of(scale_metadata());
  fake().capturing = true;
  call(kernel, 8, 0, 5);
  EXPECT_THAT(fake().calls, ElementsAre("retain 0"));  // in a capture nothing waits
  fake().capturing = false;
  call(kernel, 8, 0, 5);
  EXPECT_EQ(fake().calls.back(), "synchronize 5");
  fake().synchronize_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "scale on cuda:0: an illegal memory access was encountered (700)\n"
            "  help: TW_CHECK_BOUNDS=1 finds the access");
  EXPECT_EQ(error_of([&] { call(kernel, 8); }),
            "scale: cuda:0 can't be used, scale faulted before: an illegal memory access was "
            "encountered (700)\n"
            "  note: a device fault lasts until the process ends\n"
            "  help: TW_CHECK_BOUNDS=1 finds the access");
  unsetenv("TW_SYNC_LAUNCH");
}

TEST(CudaModule, FillsWithZerosInTheOrderOfTheStream) {
  const WithFakeDriver driver(hoppers(1));
  const auto module = load_cubin({scale_metadata(), code_of("scale_0")});
  auto* memory = reinterpret_cast<void*>(uintptr_t{4096});
  module->fill_zero(memory, 96, {DeviceKind::cuda, 0}, {reinterpret_cast<void*>(uintptr_t{7})});
  module->fill_zero(memory, 0, {DeviceKind::cuda, 0}, {});
  EXPECT_THAT(fake().calls, ElementsAre("retain 0", "memset 4096 to 0 x 96 on 7"));
}

}  // namespace
}  // namespace tw::cuda
