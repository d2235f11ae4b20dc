// The passes that tools run by name.
#pragma once

#include "tilewright/base/diagnostics.h"
#include "tilewright/pass/pipeline.h"

namespace tw::pass {

/// Those of loop_pipeline and thread_pipeline, with default settings, and the checks, in order of
/// their names. Checks report to `diagnostics`, which must outlive them.
std::vector<Pass> registry(Diagnostics& diagnostics);

/// Those of the given names, in that order. An unknown name is an Error that lists what there is.
std::vector<Pass> passes_named(const std::vector<std::string>& names, Diagnostics& diagnostics);

}  // namespace tw::pass
