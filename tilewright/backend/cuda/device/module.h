// Kernels on GPUs: a cubin, loaded into each device when it is first launched there.
//
// Parameter i of an entry is field i of KernelMetadata::packed, with the type that the field has
// (an address, a scalar of its dtype, a size as int64): the launch passes the addresses of the
// fields, and CUDA takes as many bytes as the parameter has. After them come the descriptors of
// Variant::maps, which each launch makes anew (tensor_map.h).
#pragma once

#include <memory>

#include "tilewright/runtime/artifact.h"
#include "tilewright/runtime/module.h"

namespace tw::cuda {

/// Needs no device and no compiler; only a launch does. A launch returns before the kernel has run,
/// neither waits nor allocates, and can be recorded in a CUDA graph. What the device lacks for it
/// is an Error (E-HOST-10, E-HOST-11, E-TGT-04), a fault a DeviceFault.
///
/// Code stays on its devices until the process ends: a kernel may still be running, or be part of a
/// graph, when its last handle goes.
std::unique_ptr<runtime::Module> load_cubin(const runtime::Artifact& artifact);

}  // namespace tw::cuda
