// The error of a kernel that failed while it ran, apart from those of wrong arguments.
#pragma once

#include "tilewright/base/error.h"

namespace tw::runtime {

/// A device assert that doesn't hold, or a fault of the device.
class DeviceFault : public Error {
 public:
  using Error::Error;
};

}  // namespace tw::runtime
