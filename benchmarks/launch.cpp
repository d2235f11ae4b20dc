// What a warm call from C++ costs the host on a GPU, beside the driver's own launch of the same
// function with the same arguments; and what a function of the library costs. Prints a line of JSON
// for each case.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/backend/cuda/device_memory.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/backend/cuda/device/tensor_map.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/kernel.h"
#include "tilewright/kernels/quant.h"

namespace tw::cuda {
namespace {

using runtime::LaunchRequest;
using test::DeviceMemory;

constexpr int kCalls = 200;  // in a batch: fewer than the driver's queue holds
constexpr int kBatches = 501;

constexpr std::string_view kThreeTensors = R"(tilewright ir 1
program "add" {
  symbol n: i64
  input a: f32[n]
  input b: f32[n]
  output y: f32[n]
  launch block in (n + 255) // 256 {
    parallel i in 256 {
      if block * 256 + i < n {
        y[block * 256 + i] = a[block * 256 + i] + b[block * 256 + i]
      }
    }
  }
}
)";

// In thread IR: a box of a comes to shared memory and goes to y.
constexpr std::string_view kTwoDescriptors = R"(tilewright ir 1
program "copy_box" {
  input a: f32[64, 32]
  output y: f32[64, 32]
  launch block in 1 with threads=[64], thread=t: i64, shared_bytes=4096 {
    alloc s: f32[8, 32] shared with place=1024
    alloc bar: u64[1] shared with place=0
    if t == 0 {
      sync phase_init on bar[0], 1
      sync fence_phases
      sync phase_arrive_expect on bar[0], 1024
      async tensor a[0 :+ 8, 0 :+ 32] -> s on bar[0]
    }
    barrier
    sync phase_wait on bar[0], 0
    barrier
    if t == 0 {
      async tensor s -> y[0 :+ 8, 0 :+ 32]
      sync bulk_commit
      sync bulk_wait, 0
    }
  }
}
)";

/// The launch of a call as the driver takes it.
class BareLaunch : public runtime::Module {
 public:
  explicit BareLaunch(const runtime::Artifact& artifact)
      : artifact_(artifact), inner_(load_cubin(artifact)) {}

  void operator()() {
    const CUresult result = driver().launch(&config_, function_, params_.data(), nullptr);
    if (result != CUDA_SUCCESS) require_success(driver(), result, "launching");
  }

  // As the module of a kernel it remembers the launch of one call.
  const void* entry(const std::string& name) override { return inner_->entry(name); }
  void fill_zero(void*, int64_t, Device, Stream) override {}
  void launch(const LaunchRequest& r) override {
    const auto* args = static_cast<const char*>(r.args);
    args_.assign(args, args + r.args_bytes);
    for (const runtime::PackedField& field : r.metadata->packed) {
      params_.push_back(args_.data() + field.offset);
    }
    maps_.reserve(r.variant->maps.size());  // parameters refer to them
    for (const runtime::TensorMap& map : r.variant->maps) {
      params_.push_back(&maps_.emplace_back(encode_tensor_map(driver(), map, r)));
    }
    config_ = {.gridDimX = static_cast<unsigned>(r.grid[0]),
               .gridDimY = static_cast<unsigned>(r.grid[1]),
               .gridDimZ = static_cast<unsigned>(r.grid[2]),
               .blockDimX = static_cast<unsigned>(r.variant->threads[0]),
               .blockDimY = 1,
               .blockDimZ = 1,
               .sharedMemBytes = static_cast<unsigned>(r.variant->shared_bytes)};
    CUmodule module = nullptr;
    require_success(driver(), driver().module_load(&module, artifact_.code.data()), "loading");
    require_success(driver(),
                    driver().module_function(&function_, module, r.variant->entry.c_str()),
                    "finding the function");
  }

 private:
  const runtime::Artifact& artifact_;
  std::unique_ptr<runtime::Module> inner_;
  CUlaunchConfig config_{};
  CUfunction function_ = nullptr;
  std::vector<char> args_;
  std::vector<CUtensorMap> maps_;
  std::vector<void*> params_;
};

/// Microseconds of one call in a batch, until the last has returned.
template <class Call>
double batch(Call& call) {
  require_success(driver(), driver().context_synchronize(), "waiting");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / kCalls;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Times both in turns.
template <class Ours, class Bare>
void compare(const char* name, Ours&& ours, Bare&& bare) {
  batch(ours), batch(bare);
  std::vector<double> ours_us, bare_us;
  for (int i = 0; i < kBatches; ++i) {
    ours_us.push_back(batch(ours));
    bare_us.push_back(batch(bare));
  }
  std::printf(R"({"case": "%s", "us": %.4f, "bare_us": %.4f})"
              "\n",
              name, median(ours_us), median(bare_us));
}

/// `call` runs a kernel on the arguments of the case. The result launches the same bare.
template <class Call>
std::shared_ptr<BareLaunch> measure(const char* name, const runtime::Artifact& artifact,
                                    const Call& call) {
  const auto kernel_with = [&](std::shared_ptr<runtime::Module> module) {
    auto content = std::make_shared<Kernel::Content>();
    content->loaded = std::make_unique<runtime::LoadedKernel>(artifact.metadata, std::move(module));
    return Kernel(content);
  };
  const auto bare = std::make_shared<BareLaunch>(artifact);
  call(kernel_with(bare));
  const Kernel kernel = kernel_with(load_cubin(artifact));
  compare(name, [&] { call(kernel); }, *bare);
  return bare;
}

void run() {
  const ContextScope scope(Gpu::numbered(0));
  const std::string target = resolve_target("cuda");
  const DeviceMemory a(8192), b(8192), y(8192);

  const Tensor a1 = a.tensor(f32, 2048), b1 = b.tensor(f32, 2048), y1 = y.tensor(f32, 2048);
  const ir::Program add = ir::parse_program(kThreeTensors);
  const auto bare = measure("three tensors", compile_program(add, target, nullptr),
                            [&](const Kernel& kernel) { kernel.launch({}, {a1, b1, y1}); });

  const Tensor a2(a.data(), f32, {64, 32}, a1.device()), y2(y.data(), f32, {64, 32}, a1.device());
  const ir::Program copy_box = ir::parse_program(kTwoDescriptors);
  backend::CompileReport report;
  runtime::KernelMetadata metadata = describe(copy_box, target);
  const std::string source = emit(copy_box, metadata);
  measure("two tensor descriptors",
          compile_source(source, std::move(metadata), copy_box, target_named(target), report),
          [&](const Kernel& kernel) { kernel.launch({}, {a2, y2}); });

  // A function of the library, which checks its arguments and finds its kernel, beside the launch
  // of the other kernel with three tensors.
  const Tensor x(a.data(), bf16, {4, 1024}, a1.device()),
      q(y.data(), f8_e4m3, {4, 1024}, a1.device()), sf(b.data(), f32, {4, 8}, a1.device());
  compare("per_token_cast", [&] { kernels::per_token_cast(x, q, sf); }, *bare);
  require_success(driver(), driver().context_synchronize(), "waiting");
}

}  // namespace
}  // namespace tw::cuda

int main() {
  try {
    tw::cuda::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
