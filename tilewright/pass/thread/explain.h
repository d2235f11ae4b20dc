// What a program was lowered to, for its author: line by line, and the memory of the block.
#pragma once

#include <string>

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// By the author's lines: what the passes of thread_pipeline remarked, and the barriers of the
/// lowered program, with reasons.
std::string explain_lines(const ir::Program& threads, const Remarks& remarks);

/// The buffers in the shared memory of a launch of thread IR, a line each: offset, bytes, name and
/// shape. Empty without any.
std::string shared_map(const ir::Launch& launch);

/// All layouts that were inferred, of a program after spread_loops: each fragment and parallel loop
/// with its line and, as far as it isn't large, a drawing.
std::string draw_layouts(const ir::Program& scheduled);

}  // namespace tw::pass
