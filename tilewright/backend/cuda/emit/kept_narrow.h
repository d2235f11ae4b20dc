// Arrays of 16-bit floats whose values NVRTC shall widen anew at each use. Left alone it widens
// once and keeps the results, in twice as many registers, until they spill.
#pragma once

#include <map>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::cuda {

/// For each barrier of the launch the arrays that are used before and after it, and whose widened
/// elements don't fit into the registers that the launch leaves a thread (min_blocks_per_sm or
/// max_registers). None where the launch sets no limit.
std::map<const ir::Barrier*, std::vector<ir::Buffer>> kept_narrow(const ir::Launch& launch);

}  // namespace tw::cuda
