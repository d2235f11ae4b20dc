// The driver of NVIDIA: found and started at first use, or the reason why there is none.
#pragma once

#include <string>
#include <vector>

#include "tilewright/backend/cuda/device/driver_api.h"

namespace tw::cuda {

/// What is known about a device without making it work.
struct DeviceFacts {
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int sms = 0;
  int64_t l2_bytes = 0, memory_bytes = 0;
};

struct DriverState {
  DriverApi api;
  int version = 0;                   // of CUDA that the driver speaks: 13000
  std::string reason;                // why there is no device; empty else
  std::vector<DeviceFacts> devices;  // by number
};

/// The driver of this machine. Takes no lock once it has been found; never an error.
const DriverState& find_driver();

/// Its functions. Without a device an Error (E-TGT-04) that says why.
const DriverApi& driver();

/// `CUDA_ERROR_INVALID_VALUE (1): invalid argument`.
std::string error_text(const DriverApi& api, CUresult result);

/// Raises an Error when a call of the driver failed: `doing: ...`.
void require_success(const DriverApi& api, CUresult result, const std::string& doing);

/// For tests: what find_driver() gives from now on, null for what is there.
void replace_driver(const DriverState* state);

}  // namespace tw::cuda
