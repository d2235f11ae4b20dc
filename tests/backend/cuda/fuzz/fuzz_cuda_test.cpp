// Random programs on a device, against the interpreter. A fifth of TW_FUZZ_PROGRAMS, from
// TW_FUZZ_SEED on.
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/cuda/device_memory.h"
#include "tests/fuzz/compiled.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/processes.h"
#include "tilewright/base/env.h"

namespace tw::cuda {
namespace {

using fuzz::Case;
using fuzz::Executor;
using test::DeviceMemory;

constexpr Device kDevice{DeviceKind::cuda, 0};

/// Workspaces, freed at the end.
class DeviceWorkspaces : public Allocator {
 public:
  Tensor output(int, DType, const Shape&, Device) override {
    throw std::runtime_error("all outputs are given");
  }
  void* workspace(int64_t bytes, Device, Stream) override {
    memory_.emplace_back(static_cast<size_t>(bytes));
    return memory_.back().data();
  }
  void release(void*, Device, Stream) override {}

 private:
  std::deque<DeviceMemory> memory_;
};

/// Compiles the program and runs it on a device, on copies of the case's memory.
void run_on_device(const ir::Program& program, Case& one) {
  const Kernel kernel = fuzz::compiled_for("cuda", program);
  std::deque<DeviceMemory> memory;
  std::vector<std::byte*> places;
  for (const fuzz::ParamValue& value : one.values) {
    places.push_back(memory.emplace_back(value.memory.size()).data());
  }
  one.link(places);
  for (size_t p = 0; p < memory.size(); ++p) memory[p].write(one.values[p].memory);
  DeviceWorkspaces workspaces;
  kernel(fuzz::CallArguments(one, places, kDevice).list(), {.allocator = &workspaces});
  for (size_t p = 0; p < memory.size(); ++p) {
    std::vector<std::byte>& bytes = one.values[p].memory;
    bytes = memory[p].values<std::byte>(bytes.size());
  }
}

/// Why there is no device to run on. Asked in another process: CUDA, once used, survives no fork.
std::string missing() {
  const Executor ask = fuzz::isolated([](const ir::Program&, Case&) {
    if (find_driver().devices.empty()) throw std::runtime_error(find_driver().reason);
  });
  try {
    Case none;
    ask({}, none);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(CudaFuzz, DeviceAgreesWithTheInterpreter) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  // CUDA's exp, pow and the like have bits of their own.
  fuzz::expect_agreement_in_processes(run_on_device, fuzz::Functions::exact,
                                      static_cast<uint64_t>(env::fuzz_seed.get()),
                                      env::fuzz_programs.get() / 5);
}

}  // namespace
}  // namespace tw::cuda
