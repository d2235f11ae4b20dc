// Memory and streams of a GPU, for tests and benchmarks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/runtime/tensor.h"

namespace tw::cuda::test {

/// Memory of device 0, freed at the end.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    const ContextScope scope(Gpu::numbered(0));
    require_success(driver(), driver().memory_allocate(&address_, std::max<size_t>(bytes, 1)),
                    "allocating");
  }
  template <class T>
  explicit DeviceMemory(const std::vector<T>& values) : DeviceMemory(values.size() * sizeof(T)) {
    write(values);
  }
  ~DeviceMemory() {
    const ContextScope scope(Gpu::numbered(0));
    driver().memory_free(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const { return std::bit_cast<std::byte*>(address_); }
  template <class T>
  void write(const std::vector<T>& values) {
    const ContextScope scope(Gpu::numbered(0));
    require_success(driver(),
                    driver().copy_to_device(address_, values.data(), values.size() * sizeof(T)),
                    "copying");
  }
  /// Waits for everything on the device first.
  template <class T>
  std::vector<T> values(size_t count) const {
    const ContextScope scope(Gpu::numbered(0));
    std::vector<T> out(count);
    require_success(driver(), driver().context_synchronize(), "waiting");
    require_success(driver(), driver().copy_to_host(out.data(), address_, count * sizeof(T)),
                    "copying");
    return out;
  }
  Tensor tensor(DType dtype, size_t count) const {
    return {data(), dtype, {static_cast<int64_t>(count)}, {DeviceKind::cuda, 0}};
  }

 private:
  CUdeviceptr address_ = 0;
};

/// A stream of device 0.
class NewStream {
 public:
  NewStream() {
    const ContextScope scope(Gpu::numbered(0));
    require_success(driver(), driver().stream_create(&stream_, 1), "creating a stream");
  }
  ~NewStream() { driver().stream_destroy(stream_); }
  NewStream(const NewStream&) = delete;
  NewStream& operator=(const NewStream&) = delete;
  operator CUstream() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

}  // namespace tw::cuda::test
