// Asynchronous copies on a device: the programs of the twin's tests, with the twin's results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/ring.h"
#include "tests/sim/text_run.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/base/format.h"
#include "tilewright/runtime/call.h"

namespace tw::cuda {
namespace {

using sim::TextRun;

/// Runs a program of thread IR on a device, in place on arguments in host memory.
void run_on_device(const ir::Program& program, const std::vector<sim::Argument>& arguments) {
  const ContextScope scope(Gpu::numbered(0));
  const std::string name = resolve_target("cuda");
  backend::CompileReport report;
  runtime::KernelMetadata metadata = describe(program, name);
  const std::string source = emit(program, metadata);
  const runtime::Artifact artifact =
      compile_source(source, std::move(metadata), program, target_named(name), report);
  const runtime::LoadedKernel kernel(artifact.metadata, load_cubin(artifact));

  std::vector<CUdeviceptr> memory;
  std::vector<Tensor> tensors;
  tensors.reserve(arguments.size());  // arguments of the call refer to them
  std::vector<Arg> args;
  const auto bytes_of = [](const sim::Argument& a) {
    size_t bytes = static_cast<size_t>(a.dtype.bits()) / 8;
    for (const int64_t extent : a.shape) bytes *= static_cast<size_t>(extent);
    return bytes;
  };
  for (const sim::Argument& a : arguments) {
    memory.emplace_back();
    require_success(driver(), driver().memory_allocate(&memory.back(), bytes_of(a)), "allocating");
    require_success(driver(), driver().copy_to_device(memory.back(), a.data, bytes_of(a)),
                    "copying");
    args.emplace_back(tensors.emplace_back(reinterpret_cast<void*>(memory.back()), a.dtype,
                                           Shape(a.shape), Device{DeviceKind::cuda, 0}));
  }
  kernel(args, {});
  require_success(driver(), driver().context_synchronize(), "waiting");
  for (size_t i = 0; i < memory.size(); ++i) {
    require_success(driver(),
                    driver().copy_to_host(arguments[i].data, memory[i], bytes_of(arguments[i])),
                    "copying");
    driver().memory_free(memory[i]);
  }
}

/// Input X: f32[256], input A: f32[10, 32], output Y: f32[256], inout Z: f32[10, 32]; 64 threads.
TextRun kernel(const std::string& body) {
  TextRun p(
      "input X: f32[256] input A: f32[10, 32] output Y: f32[256] inout Z: f32[10, 32] "
      "launch b in 1 with threads=[64], thread=t: i64, shared_bytes=4096 {\n" +
      body + "\n}");
  const auto iota = [](size_t n, double first) {
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = first + static_cast<double>(i);
    return values;
  };
  p.tensor("X", {256}, iota(256, 1)).tensor("A", {10, 32}, iota(320, 1));
  p.tensor("Y", {256}).tensor("Z", {10, 32}, std::vector<double>(320, 1000));
  return p;
}

void expect_as_the_twin(const std::string& body) {
  TextRun twin = kernel(body), device = kernel(body);
  EXPECT_EQ(to_text(twin.run_twin().findings), "");
  run_on_device(device.program(), device.arguments());
  for (const char* tensor : {"Y", "Z"}) EXPECT_EQ(device.memory(tensor), twin.memory(tensor));
}

class AsyncOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (find_driver().devices.empty()) GTEST_SKIP() << find_driver().reason;
  }
};

TEST_F(AsyncOnCuda, ARingOfBulkCopies) { expect_as_the_twin(sim::kRing); }

TEST_F(AsyncOnCuda, BulkStores) {
  for (const char* store : {"Y[0 :+ 64]", "Y[64 :+ 64] with fold=add"}) {
    expect_as_the_twin(R"(alloc s: f32[64] shared with place=0
      for i in 0:4 { Y[i * 64 + t] = 3.0 }
      sync fence_engines
      s[63 - t] = X[t]
      sync fence_engines
      barrier
      if t == 0 {
        async bulk s -> )" +
                       std::string(store) + R"(
        sync bulk_commit
        sync bulk_wait, 0
      })");
  }
}

TEST_F(AsyncOnCuda, CopiesOfElements) {
  expect_as_the_twin(R"(alloc s: f32[2, 128] shared with place=0
  alloc bar: u64[1] shared with place=1024
  if t == 0 { sync phase_init on bar[0], 64 }
  for i in 0:2 {
    if t < 32 {
      async elements X[i * 128 + t * 4 :+ 4] -> s[i, t * 4 :+ 4] with valid=t < 31
    }
    sync copies_commit
  }
  for i in 0:2 {
    if i == 0 { sync copies_wait, 1 } else { sync copies_wait, 0 }
    barrier
    Y[i * 64 + t] = s[i, 127 - t]
  }
  barrier
  async elements X[t :+ 1] -> s[0, t :+ 1]
  async elements X[t * 2 :+ 2] -> s[1, t * 2 :+ 2]
  sync phase_arrive_copies on bar[0]
  sync phase_wait on bar[0], 0
  Y[128 + t] = s[0, 63 - t] + s[1, 127 - t])");
}

/// Loads a box of A and writes its elements to Y.
std::string load_box(const std::string& begin, const std::string& more, const std::string& index) {
  return R"(alloc s: f32[8, 32] shared with place=1024
    alloc bar: u64[1] shared with place=0
    if t == 0 {
      sync phase_init on bar[0], 1
      sync fence_phases
      sync phase_arrive_expect on bar[0], 1024
      async tensor A[)" +
         begin + " :+ 8, 0 :+ 32] -> s on bar[0]" + more + R"(
    }
    barrier
    sync phase_wait on bar[0], 0
    for i in 0:4 { let row = i * 2 + t // 32 let column = t % 32
      Y[i * 64 + t] = )" +
         index + " }";
}
/// Writes a box of Z.
std::string store_box(const std::string& begin, const std::string& more) {
  return R"(alloc s: f32[8, 32] shared with place=1024
    for i in 0:4 { s[i * 2 + t // 32, t % 32] = X[i * 64 + t] }
    sync fence_engines
    barrier
    if t == 0 {
      async tensor s -> Z[)" +
         begin + " :+ 8, 0 :+ 32]" + more + R"(
      sync bulk_commit
      sync bulk_wait, 0
    })";
}

TEST_F(AsyncOnCuda, LoadsABox) { expect_as_the_twin(load_box("1", "", "s[row, column]")); }
TEST_F(AsyncOnCuda, LoadsABoxWithASwizzle) {
  expect_as_the_twin(
      load_box("1", " with swizzle=128", "s[row, ((column // 4) ^ (row % 8)) * 4 + column % 4]"));
}
TEST_F(AsyncOnCuda, LoadsABoxThatBeginsOutside) {
  expect_as_the_twin(load_box("0 - 1", "", "s[row, column]"));
}
TEST_F(AsyncOnCuda, LoadsABoxThatEndsOutside) {
  expect_as_the_twin(load_box("4", "", "s[row, column]"));
}
TEST_F(AsyncOnCuda, StoresABox) { expect_as_the_twin(store_box("1", "")); }
TEST_F(AsyncOnCuda, StoresABoxWithASwizzle) {
  expect_as_the_twin(store_box("1", " with swizzle=128"));
}
TEST_F(AsyncOnCuda, StoresABoxThatEndsOutside) { expect_as_the_twin(store_box("4", "")); }
TEST_F(AsyncOnCuda, StoresABoxThatAdds) { expect_as_the_twin(store_box("1", " with fold=add")); }

TEST_F(AsyncOnCuda, NarrowBoxesWithSwizzles) {
  // Rows of 64 and 32 bytes: two and four of them are a line of 128.
  for (const auto& [width, swizzle] : {std::pair(16, 64), std::pair(8, 32)}) {
    SCOPED_TRACE(swizzle);
    expect_as_the_twin(format(R"(alloc s: f32[8, {0}] shared with place=1024
      alloc bar: u64[1] shared with place=0
      if t == 0 {{
        sync phase_init on bar[0], 1
        sync fence_phases
        sync phase_arrive_expect on bar[0], {1}
        async tensor A[1 :+ 8, 8 :+ {0}] -> s on bar[0] with swizzle={2}
      }}
      barrier
      sync phase_wait on bar[0], 0
      for i in 0:{3} {{ Y[i * 64 + t] = s[(i * 64 + t) // {0}, (i * 64 + t) % {0}] }})",
                              width, width * 32, swizzle, width * 8 / 64));
  }
}

TEST_F(AsyncOnCuda, BarriersFoldAndSplit) {
  expect_as_the_twin(R"(barrier with fold=count, cond=t < 5, result=n: i32
    barrier with fold=all, cond=t < 64, result=all: bool
    barrier with fold=any, cond=t > 63, result=any: bool
    Y[t] = cast(n, f32) + select(all, 100.0, 0.0) + select(any, 1000.0, 0.0)
    alloc s: f32[32] shared with place=0
    if t < 32 {
      s[t] = X[t]
      barrier with id=1, threads=64, arrive_only
    } else {
      barrier with id=1, threads=64
      Y[t + 64] = s[63 - t]
    })");
}

}  // namespace
}  // namespace tw::cuda
