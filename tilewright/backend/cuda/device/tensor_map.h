// Descriptors of bulk tensor copies, made at a launch from the tensor that the call was given.
#pragma once

#include "tilewright/backend/cuda/device/driver_api.h"
#include "tilewright/runtime/module.h"

namespace tw::cuda {

/// The descriptor of a launch's tensor. A tensor that breaks a rule of the hardware (language 7.6)
/// is an Error (E-HOST-07) that says which.
CUtensorMap encode_tensor_map(const DriverApi& api, const runtime::TensorMap& map,
                              const runtime::LaunchRequest& request);

}  // namespace tw::cuda
