#include "tilewright/backend/cuda/device/clock.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

class EventClock : public backend::DeviceClock {
 public:
  EventClock(int id, Stream stream)
      : gpu_(Gpu::numbered(id)), api_(gpu_.api()), stream_(static_cast<CUstream>(stream.handle)) {
    gpu_.require_healthy(kName);
    const ContextScope scope(gpu_);
    require(api_.event_create(&begin_, 0), "making an event");
    const CUresult result = api_.event_create(&end_, 0);
    if (result != CUDA_SUCCESS) api_.event_destroy(begin_);
    require(result, "making an event");
  }
  ~EventClock() override {
    const ContextScope scope(gpu_);
    api_.context_synchronize();  // before its memory goes
    for (const CUdeviceptr memory : memory_) api_.memory_free(memory);
    api_.event_destroy(begin_);
    api_.event_destroy(end_);
  }

  Device device() const override { return {DeviceKind::cuda, gpu_.id()}; }
  Stream stream() const override { return {stream_}; }
  int64_t cache_bytes() const override { return gpu_.facts().l2_bytes; }

  void* allocate(int64_t bytes) override {
    const ContextScope scope(gpu_);
    CUdeviceptr memory = 0;
    require(api_.memory_allocate(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
            format("allocating {} MiB", (bytes >> 20) + 1).c_str());
    memory_.push_back(memory);
    return std::bit_cast<void*>(memory);
  }
  void copy(void* dst, const void* src, int64_t bytes) override {
    const ContextScope scope(gpu_);
    require(
        api_.copy_on_device(reinterpret_cast<CUdeviceptr>(dst), reinterpret_cast<CUdeviceptr>(src),
                            static_cast<size_t>(bytes), stream_),
        "copying");
  }

  void wait() override {
    const ContextScope scope(gpu_);
    require(api_.context_synchronize(), "waiting");
  }
  void start() override {
    const ContextScope scope(gpu_);
    require(api_.event_record(begin_, stream_), "taking the time");
  }
  std::optional<double> stop_us() override {
    const ContextScope scope(gpu_);
    require(api_.event_record(end_, stream_), "taking the time");
    const CUresult begun = api_.event_query(begin_);
    if (begun != CUDA_ERROR_NOT_READY) require(begun, "asking for the time");
    require(api_.event_synchronize(end_), "waiting");
    float ms = 0;
    require(api_.event_elapsed(&ms, begin_, end_), "asking for the time");
    if (begun == CUDA_SUCCESS) return {};
    return 1000.0 * static_cast<double>(ms);
  }

 private:
  static constexpr const char* kName = "bench";

  void require(CUresult result, const char* doing) {
    if (result != CUDA_SUCCESS) gpu_.fail(result, kName, doing, /*waited=*/false);
  }

  Gpu& gpu_;
  const DriverApi& api_;
  CUstream stream_;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::vector<CUdeviceptr> memory_;
};

}  // namespace

std::unique_ptr<backend::DeviceClock> make_clock(int id, Stream stream) {
  return std::make_unique<EventClock>(id, stream);
}

}  // namespace tw::cuda
