// From thread IR to CUDA C++: the text that NVRTC compiles, and that people read. It includes no
// header; what C++ lacks comes from the device prelude (prelude.h).
#pragma once

#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::cuda {

/// The text relies on NVRTC's defaults: correctly rounded `/` and `sqrtf`, subnormals kept. So fast
/// maths is asked of the emitter and not of the compiler. Whether `a * b + c` is contracted is the
/// compiler's (--fmad); what the language never contracts is written so that it can't be.
struct EmitOptions {
  bool fast_math = false;  // every operation that isn't ieee is as the fast one
  bool line_info = false;  // #line directives with the author's positions
  bool apart = false;      // each launch is a part of its own (kPart)
};

/// A box of a tensor as engines copy it: what the descriptor is made from that a launch passes.
struct TensorMap {
  ir::Buffer tensor;
  std::vector<int64_t> box;  // extents, the innermost last
  int64_t swizzle = 0;       // bytes; 0: none
};
/// The descriptors of a launch, in the order of its parameters.
std::vector<TensorMap> tensor_maps(const ir::Launch& launch);

/// The options of a program (language 14.3).
EmitOptions emit_options(const ir::Program& program);

/// The source of all launches of a program in thread IR: for each a kernel
///
///   extern "C" __global__ void __launch_bounds__(threads, min_blocks) entry(...)
///
/// under the name in `entries`. Its parameters are the fields of the packed block of
/// backend::metadata_of, in that order: an array of pointers to the fields is what cuLaunchKernel
/// takes. After them come the descriptors of tensor_maps, of 128 bytes each. It wants
/// `launch.shared_bytes` of dynamic shared memory.
///
/// Results are those of sim/interpreter.h bit by bit, but for the functions that only approximate,
/// for NaNs, and where an operation is contracted or fast. Fast min and max take -0 as less than 0.
/// Atomic adds on f32 in global memory flush subnormals, as the hardware does. What has no form is
/// an Error with the author's position.
std::string emit_source(const ir::Program& program, const EmitOptions& options,
                        const std::vector<std::string>& entries);

/// Whether launch i only stands in for the one before it, where sizes, strides or an address aren't
/// as that one needs them. Most calls don't run it.
bool is_deferred(const ir::Program& program, size_t i);

/// A macro that chooses a part of the source: 0 the launches that aren't deferred, 1, 2, ... one of
/// those that are, or that are apart, in their order. Where it isn't defined, the source has all
/// launches.
inline constexpr const char* kPart = "TW_PART";

/// A name as C++ has them, as near to `name` as can be; for entries.
std::string legal_name(std::string_view name);

}  // namespace tw::cuda
