// Reductions: which of them exist, how they accumulate, and which one a scan repeats.
#pragma once

#include "tilewright/base/dtype.h"
#include "tilewright/ir/enums.h"

namespace tw::ir {

/// Whether elements of type `from` can be reduced to a `to` (language 9.1).
bool has_reduction(ReduceKind kind, DType from, DType to);

/// Whether the result is one of the elements, or its magnitude.
bool is_extremum(ReduceKind kind);

/// The type in which a reduction to `dst` accumulates (language 9.1): f32 for narrower floats,
/// unless `low_precision` allows their own arithmetic.
DType accumulator_type(DType dst, bool low_precision = false);

/// The reduction whose steps a scan makes.
ReduceKind reduction_of(ScanKind scan);

}  // namespace tw::ir
