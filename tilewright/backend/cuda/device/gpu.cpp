#include "tilewright/backend/cuda/device/gpu.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

#include "tilewright/base/codes.h"
#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/fault.h"

namespace tw::cuda {
namespace {

/// Whether no later call on the device can succeed.
bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
      return true;
    default:
      return false;
  }
}

/// Whether the bounds checks of generated code may find the reason.
bool is_of_an_access(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_INVALID_ADDRESS_SPACE ||
         result == CUDA_ERROR_LAUNCH_FAILED;
}

std::string fault_text(const DriverApi& api, CUresult result) {
  const char* text = nullptr;
  api.error_string(result, &text);
  return format("{} ({})", text != nullptr ? text : "device fault", static_cast<int>(result));
}

}  // namespace

Gpu& Gpu::numbered(int id) {
  static std::array<std::atomic<Gpu*>, kMaxGpus> known{};
  static std::mutex mutex;
  const DriverState& state = find_driver();
  const auto count = static_cast<int>(std::min<size_t>(state.devices.size(), kMaxGpus));
  if (id < 0 || id >= count) [[unlikely]] {
    driver();  // raises why there is no device at all
    throw Error(codes::tgt_04, {}, "cuda: there is no device cuda:{}, the last is cuda:{}", id,
                count - 1);
  }
  std::atomic<Gpu*>& place = known[static_cast<size_t>(id)];
  Gpu* gpu = place.load(std::memory_order_acquire);
  if (gpu != nullptr && &gpu->state_ == &state) [[likely]] {
    return *gpu;
  }
  const std::lock_guard lock(mutex);
  gpu = place.load(std::memory_order_acquire);
  if (gpu == nullptr || &gpu->state_ != &state) {
    static auto& all = *new std::deque<std::unique_ptr<Gpu>>;  // code that runs refers to them
    gpu = all.emplace_back(new Gpu(state, id)).get();
    place.store(gpu, std::memory_order_release);
  }
  return *gpu;
}

Gpu::Gpu(const DriverState& state, int id)
    : state_(state), id_(id), waits_(env::sync_launch.get()) {
  CUdevice device = 0;
  const std::string doing = format("cuda: starting cuda:{} ({})", id, facts().name);
  require_success(api(), api().device_get(&device, id), doing);
  require_success(api(), api().context_retain(&context_, device), doing);
}

// The names of the last launches, latest first, each once.
std::string Gpu::suspects() const {
  std::vector<std::string> names;
  const uint32_t n = launches_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < recent_.size(); ++i) {
    const std::string* name = recent_[(n - 1 - i) % recent_.size()].load(std::memory_order_relaxed);
    if (name != nullptr && std::find(names.begin(), names.end(), *name) == names.end()) {
      names.push_back(*name);
    }
  }
  if (names.empty()) return "a kernel of somebody else";
  return names.size() == 1 ? names[0] : "one of " + join(names, ", ");
}

void Gpu::fail(CUresult result, const std::string& kernel, const std::string& doing, bool waited) {
  if (!is_sticky(result)) {
    throw Error(result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ? codes::host_11 : Code{}, {},
                "{}: {} on cuda:{}: {}", kernel, doing, id_, error_text(api(), result));
  }
  auto fault = std::make_unique<const Fault>(
      Fault{waited ? kernel : suspects(), fault_text(api(), result), is_of_an_access(result)});
  const Fault* none = nullptr;
  const bool is_first = fault_.compare_exchange_strong(none, fault.get());
  if (is_first && waited) {
    runtime::DeviceFault error({}, {}, "{} on cuda:{}: {}", kernel, id_, fault->what);
    if (fault->helps_check_bounds) error.help("TW_CHECK_BOUNDS=1 finds the access");
    fault.release();  // kept for later calls
    throw error;
  }
  if (is_first) fault.release();
  throw_fault(kernel);
}

void Gpu::throw_fault(const std::string& kernel) const {
  const Fault& fault = *fault_.load(std::memory_order_acquire);
  runtime::DeviceFault error({}, {}, "{}: cuda:{} can't be used, {} faulted before: {}", kernel,
                             id_, fault.culprit, fault.what);
  error.note("a device fault lasts until the process ends");
  if (!waits_) error.help("TW_SYNC_LAUNCH=1 reports a fault in the call that causes it");
  if (fault.helps_check_bounds) error.help("TW_CHECK_BOUNDS=1 finds the access");
  throw error;
}

}  // namespace tw::cuda
