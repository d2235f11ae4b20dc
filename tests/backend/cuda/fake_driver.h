// A driver without device: it records what is asked of it and answers as a test wants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tilewright/backend/cuda/device/driver.h"

namespace tw::cuda::test {

struct FakeLaunch {
  CUlaunchConfig config;
  std::vector<CUlaunchAttribute> attributes;
  std::string entry;
  std::vector<uint64_t> params;  // eight bytes of each
  CUcontext context;             // current when it was launched
};

/// What a descriptor was made from.
struct FakeMap {
  CUtensorMapDataType type;
  uint64_t address;
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box;
  CUtensorMapSwizzle swizzle;
};

/// What the fake was asked, and what it answers. One test at a time.
struct FakeDriver {
  // Asked.
  std::vector<FakeMap> maps;
  std::vector<FakeLaunch> launches;
  std::vector<std::string> loaded;  // images, and functions by name
  std::map<int, int> set;           // function attributes
  std::vector<std::string> calls;   // names of other calls, in order
  CUcontext current = nullptr;

  // Answers.
  CUresult launch_result = CUDA_SUCCESS, synchronize_result = CUDA_SUCCESS;
  CUresult load_result = CUDA_SUCCESS;
  int registers = 40, local_bytes = 0;
  int static_shared = 0, blocks_per_sm = 2, active_clusters = 3;
  bool capturing = false;
  bool runs_at_once = false;  // what is queued, so that an event is there when it is asked for
  float elapsed_ms = 0;
  size_t param_count = 0;  // how many parameters a launch reads

  std::vector<std::string> functions;  // the handle i + 1 is functions[i]
};
FakeDriver& fake();

/// The context of a device of the fake.
CUcontext context_of(int device);

/// Puts the fake with these devices in the driver's place for a scope.
class WithFakeDriver {
 public:
  explicit WithFakeDriver(std::vector<DeviceFacts> devices, std::string reason = "");
  ~WithFakeDriver() { replace_driver(nullptr); }
  WithFakeDriver(const WithFakeDriver&) = delete;
  WithFakeDriver& operator=(const WithFakeDriver&) = delete;

 private:
  const DriverState* state_ = nullptr;
};

/// `count` H200.
std::vector<DeviceFacts> hoppers(int count);

}  // namespace tw::cuda::test
