// Times on a GPU, by events of its stream.
#pragma once

#include <memory>

#include "tilewright/backend/device_clock.h"

namespace tw::cuda {

/// A clock of that GPU. No such device is an Error (E-TGT-04).
std::unique_ptr<backend::DeviceClock> make_clock(int id, Stream stream);

}  // namespace tw::cuda
