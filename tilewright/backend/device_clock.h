// What measuring needs of a device: memory, copies, and times that the device itself takes.
#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/runtime/device.h"

namespace tw::backend {

/// Of one device and one stream of it. What fails is an Error. Used by one thread at a time.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  virtual Device device() const = 0;
  virtual Stream stream() const = 0;
  /// Of the cache that all of the device shares.
  virtual int64_t cache_bytes() const = 0;

  /// Memory of the device, freed with the clock.
  virtual void* allocate(int64_t bytes) = 0;
  /// Queues a copy within the device.
  virtual void copy(void* dst, const void* src, int64_t bytes) = 0;

  /// Waits for all work of the device.
  virtual void wait() = 0;
  /// Queues taking the time: it begins when what was queued before is done.
  virtual void start() = 0;
  /// Queues taking it again, waits, and gives the time between. Nothing if the device had begun
  /// when this was called: then it may have waited for the host.
  virtual std::optional<double> stop_us() = 0;
};

}  // namespace tw::backend
