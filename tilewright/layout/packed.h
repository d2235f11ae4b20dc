// The packed operands of a register-blocked multiply on a CPU.
#pragma once

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// A [rows, depth] operand in panels of `panel` rows, depth-major inside a panel, with `group`
/// consecutive steps of depth side by side (2 for bf16 pairs, 4 for 8-bit quadruples):
///
///   (r, k) -> (r / panel, k / group, r mod panel, k mod group)
///
/// so the offset is r/P * (P*K) + k/g * (P*g) + (r mod P) * g + k mod g, with K rounded up to whole
/// groups. The last panel is whole too; what lies beyond the operand is padding.
Layout panels(int64_t rows, int64_t depth, int64_t panel, int64_t group = 1);

/// The same for a [depth, columns] operand: panels of columns.
Layout column_panels(int64_t depth, int64_t columns, int64_t panel, int64_t group = 1);

}  // namespace tw::layout
