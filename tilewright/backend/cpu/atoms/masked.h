// Loads of the active lanes of a vector.
#pragma once

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"

namespace tw::cpu {

/// The lanes of memory from `pointer` on for which `mask` holds, zero elsewhere. Nothing is read
/// for other lanes.
Val load_masked(const Target& target, Val pointer, Val mask, Elem elem, const Access& access);

}  // namespace tw::cpu
