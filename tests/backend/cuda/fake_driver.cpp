#include "tests/backend/cuda/fake_driver.h"

#include <cstring>
#include <deque>

namespace tw::cuda::test {

FakeDriver& fake() {
  static FakeDriver driver;
  return driver;
}

CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(0x1000 + device));
}

std::vector<DeviceFacts> hoppers(int count) {
  return std::vector<DeviceFacts>(
      static_cast<size_t>(count),
      {.name = "NVIDIA H200", .major = 9, .minor = 0, .sms = 132, .l2_bytes = 60 << 20});
}

namespace {

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  FakeDriver& f = fake();
  if (extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (f.launch_result != CUDA_SUCCESS) return f.launch_result;
  FakeLaunch launch{.config = *config, .context = f.current};
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  launch.entry = f.functions[reinterpret_cast<uintptr_t>(function) - 1];
  for (size_t i = 0; i < f.param_count; ++i) {
    std::memcpy(&launch.params.emplace_back(), params[i], 8);
  }
  f.launches.push_back(std::move(launch));
  return CUDA_SUCCESS;
}

DriverApi make_api() {
  DriverApi api;
  api.error_name = [](CUresult result, const char** text) {
    *text = result == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
  };
  api.error_string = [](CUresult result, const char** text) {
    *text = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
            : result == CUDA_ERROR_INVALID_VALUE ? "invalid argument"
                                                 : "something else";
    return CUDA_SUCCESS;
  };
  api.device_get = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
  };
  api.context_retain = [](CUcontext* context, CUdevice device) {
    fake().calls.push_back("retain " + std::to_string(device));
    *context = context_of(device);
    return CUDA_SUCCESS;
  };
  api.context_current = [](CUcontext* context) {
    *context = fake().current;
    return CUDA_SUCCESS;
  };
  api.context_set = [](CUcontext context) {
    fake().current = context;
    return CUDA_SUCCESS;
  };
  api.module_load = [](CUmodule* module, const void* image) {
    FakeDriver& f = fake();
    if (f.load_result != CUDA_SUCCESS) return f.load_result;
    f.loaded.emplace_back(static_cast<const char*>(image));
    *module = reinterpret_cast<CUmodule>(f.loaded.size());
    return CUDA_SUCCESS;
  };
  api.module_function = [](CUfunction* function, CUmodule, const char* name) {
    FakeDriver& f = fake();
    f.functions.emplace_back(name);
    *function = reinterpret_cast<CUfunction>(f.functions.size());
    return CUDA_SUCCESS;
  };
  api.module_unload = [](CUmodule) {
    fake().calls.emplace_back("unload");
    return CUDA_SUCCESS;
  };
  api.function_attribute = [](int* value, CUfunction_attribute attribute, CUfunction) {
    const FakeDriver& f = fake();
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS           ? f.registers
             : attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? f.local_bytes
                                                               : f.static_shared;
    return CUDA_SUCCESS;
  };
  api.function_set = [](CUfunction, CUfunction_attribute attribute, int value) {
    fake().set[attribute] = value;
    return CUDA_SUCCESS;
  };
  api.launch = launch;
  api.blocks_per_sm = [](int* blocks, CUfunction, int, size_t) {
    *blocks = fake().blocks_per_sm;
    return CUDA_SUCCESS;
  };
  api.active_clusters = [](int* clusters, CUfunction, const CUlaunchConfig*) {
    *clusters = fake().active_clusters;
    return CUDA_SUCCESS;
  };
  api.tensor_map_encode = [](CUtensorMap* map, CUtensorMapDataType type, uint32_t rank,
                             void* address, const uint64_t* extents, const uint64_t* strides,
                             const uint32_t* box, const uint32_t*, CUtensorMapInterleave,
                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                             CUtensorMapFloatOOBfill) {
    fake().maps.push_back({type,
                           reinterpret_cast<uint64_t>(address),
                           {extents, extents + rank},
                           {strides, strides + rank - 1},
                           {box, box + rank},
                           swizzle});
    map->words[0] = 0x7E50 + fake().maps.size();
    return CUDA_SUCCESS;
  };
  api.memset_async = [](CUdeviceptr memory, unsigned char value, size_t bytes, CUstream stream) {
    fake().calls.push_back("memset " + std::to_string(memory) + " to " + std::to_string(value) +
                           " x " + std::to_string(bytes) + " on " +
                           std::to_string(reinterpret_cast<uintptr_t>(stream)));
    return CUDA_SUCCESS;
  };
  api.stream_synchronize = [](CUstream stream) {
    fake().calls.push_back("synchronize " + std::to_string(reinterpret_cast<uintptr_t>(stream)));
    return fake().synchronize_result;
  };
  api.stream_is_capturing = [](CUstream, CUstreamCaptureStatus* status) {
    *status = static_cast<CUstreamCaptureStatus>(fake().capturing);
    return CUDA_SUCCESS;
  };
  api.context_synchronize = [] {
    fake().calls.emplace_back("wait");
    return fake().synchronize_result;
  };
  api.memory_allocate = [](CUdeviceptr* memory, size_t bytes) {
    fake().calls.push_back("allocate " + std::to_string(bytes));
    *memory = 0x7000;
    return bytes < size_t{1} << 40 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  api.memory_free = [](CUdeviceptr memory) {
    fake().calls.push_back("free " + std::to_string(memory));
    return CUDA_SUCCESS;
  };
  api.copy_on_device = [](CUdeviceptr, CUdeviceptr, size_t bytes, CUstream stream) {
    fake().calls.push_back("copy " + std::to_string(bytes) + " on " +
                           std::to_string(reinterpret_cast<uintptr_t>(stream)));
    return CUDA_SUCCESS;
  };
  api.event_create = [](CUevent* event, unsigned) {
    static uintptr_t events = 0;
    *event = reinterpret_cast<CUevent>(++events);
    return CUDA_SUCCESS;
  };
  api.event_record = [](CUevent, CUstream stream) {
    fake().calls.push_back("record on " + std::to_string(reinterpret_cast<uintptr_t>(stream)));
    return CUDA_SUCCESS;
  };
  api.event_query = [](CUevent) {
    return fake().runs_at_once ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  api.event_synchronize = [](CUevent) { return fake().synchronize_result; };
  api.event_elapsed = [](float* ms, CUevent, CUevent) {
    *ms = fake().elapsed_ms;
    return CUDA_SUCCESS;
  };
  api.event_destroy = [](CUevent) { return CUDA_SUCCESS; };
  api.exchange_capture_mode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  return api;
}

}  // namespace

WithFakeDriver::WithFakeDriver(std::vector<DeviceFacts> devices, std::string reason) {
  // Devices refer to it until the process ends.
  static auto& all = *new std::deque<DriverState>;
  state_ = &all.emplace_back(DriverState{.api = make_api(),
                                         .version = 13000,
                                         .reason = std::move(reason),
                                         .devices = std::move(devices)});
  fake() = {};
  replace_driver(state_);
}

}  // namespace tw::cuda::test
