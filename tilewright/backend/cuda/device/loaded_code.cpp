#include "tilewright/backend/cuda/device/loaded_code.h"

#include "tilewright/base/error.h"

namespace tw::cuda {

std::unique_ptr<LoadedCode> LoadedCode::find(const std::string& cubin, const Target& target) {
  const std::vector<DeviceFacts>& devices = find_driver().devices;
  for (size_t i = 0; i < devices.size() && i < kMaxGpus; ++i) {
    if (devices[i].major != target.major || devices[i].minor != target.minor) continue;
    try {
      const Gpu& gpu = Gpu::numbered(static_cast<int>(i));
      gpu.require_healthy("explain");
      const ContextScope scope(gpu);
      CUmodule module = nullptr;
      if (gpu.api().module_load(&module, cubin.data()) != CUDA_SUCCESS) continue;
      return std::unique_ptr<LoadedCode>(new LoadedCode(gpu, module));
    } catch (const Error&) {
      continue;  // a device that can't be used says nothing
    }
  }
  return nullptr;
}

LoadedCode::~LoadedCode() {
  const ContextScope scope(gpu_);
  gpu_.api().module_unload(module_);
}

bool LoadedCode::ask(const std::string& name, int64_t threads, int64_t shared_bytes,
                     Entry& entry) const {
  const DriverApi& api = gpu_.api();
  const ContextScope scope(gpu_);
  CUfunction function = nullptr;
  if (api.module_function(&function, module_, name.c_str()) != CUDA_SUCCESS) return false;
  const auto attribute = [&](int& value, CUfunction_attribute which) {
    return api.function_attribute(&value, which, function) == CUDA_SUCCESS;
  };
  if (!attribute(entry.registers, CU_FUNC_ATTRIBUTE_NUM_REGS) ||
      !attribute(entry.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) ||
      !attribute(entry.shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) {
    return false;
  }
  if (shared_bytes > 0 &&
      api.function_set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       static_cast<int>(shared_bytes)) != CUDA_SUCCESS) {
    return false;
  }
  return api.blocks_per_sm(&entry.blocks, function, static_cast<int>(threads),
                           static_cast<size_t>(shared_bytes)) == CUDA_SUCCESS;
}

std::string LoadedCode::device() const {
  return format("cuda:{}, {}", gpu_.id(), gpu_.facts().name);
}

}  // namespace tw::cuda
