#include "tilewright/backend/cuda/device/driver.h"

#include <atomic>

#include <dlfcn.h>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

/// Fills the table; a function that is missing is the reason.
void open_library(DriverState& state) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    state.reason = "no NVIDIA driver (libcuda.so.1 can't be opened)";
    return;
  }
#define TW_FIND(name, symbol, params)                                                       \
  state.api.name = reinterpret_cast<CUresult(*) params>(dlsym(library, #symbol));           \
  if (state.api.name == nullptr) {                                                          \
    state.reason = "the NVIDIA driver is too old, it lacks " #symbol "; CUDA 12 is needed"; \
    return;                                                                                 \
  }
  TW_DRIVER_FUNCTIONS(TW_FIND)
#undef TW_FIND
}

DeviceFacts facts_of(const DriverApi& api, int ordinal) {
  CUdevice device = 0;
  DeviceFacts facts;
  api.device_get(&device, ordinal);
  char name[256] = {};
  api.device_name(name, sizeof name, device);
  facts.name = name;
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    api.device_attribute(&value, which, device);
    return value;
  };
  facts.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  size_t bytes = 0;
  api.device_memory(&bytes, device);
  facts.memory_bytes = static_cast<int64_t>(bytes);
  return facts;
}

DriverState open_driver() {
  DriverState state;
  open_library(state);
  if (!state.reason.empty()) return state;
  int count = 0;
  CUresult result = state.api.init(0);
  if (result == CUDA_SUCCESS) result = state.api.device_count(&count);
  state.api.driver_version(&state.version);
  if (result != CUDA_SUCCESS) {
    state.reason = "the NVIDIA driver doesn't start: " + error_text(state.api, result);
  } else if (count == 0) {
    state.reason = "the NVIDIA driver finds no device";
  }
  for (int i = 0; i < count; ++i) state.devices.push_back(facts_of(state.api, i));
  return state;
}

std::atomic<const DriverState*> replacement{nullptr};

}  // namespace

const DriverState& find_driver() {
  if (const DriverState* other = replacement.load(std::memory_order_acquire)) return *other;
  static const DriverState& state = *new DriverState(open_driver());  // outlives our statics
  return state;
}

const DriverApi& driver() {
  const DriverState& state = find_driver();
  if (state.devices.empty()) {
    throw Error(codes::tgt_04, {}, "cuda: there is no device to run on: {}", state.reason)
        .help("without a device kernels can be compiled for cuda:sm_90a, and run on the cpu");
  }
  return state.api;
}

std::string error_text(const DriverApi& api, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  api.error_name(result, &name);
  api.error_string(result, &text);
  if (name == nullptr) name = "unknown error";
  return format("{} ({}){}{}", name, static_cast<int>(result), text != nullptr ? ": " : "",
                text != nullptr ? text : "");
}

void require_success(const DriverApi& api, CUresult result, const std::string& doing) {
  if (result == CUDA_SUCCESS) return;
  throw Error({}, {}, "{}: {}", doing, error_text(api, result));
}

void replace_driver(const DriverState* state) {
  replacement.store(state, std::memory_order_release);
}

}  // namespace tw::cuda
