// Several programs of one kernel definition as one program whose launches have variants.
#pragma once

#include <vector>

#include "tilewright/lang/kernel_def.h"

namespace tw {

/// The programs differ in tunables alone, so that parameters, sizes and the number of launches
/// agree; each launch becomes a run of launches, one per variant, of which the first whose
/// guard holds is run (ir::Launch::guard). The last variant has no guard. Workspaces of all
/// variants are provided.
ir::Program merge_variants(const std::vector<lang::Variant>& variants);

}  // namespace tw
