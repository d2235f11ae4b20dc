// Software pipelines of a block (language 18): tiles are loaded while earlier ones are used.
#pragma once

#include "tilewright/ir/nodes.h"
#include "tilewright/pass/remarks.h"

namespace tw::pass {

/// A loop `pipelined with stages=S` over 0:n becomes one in which the tiles of turn i + S - 1 are
/// loaded, asynchronously where the hardware can, before turn i computes. A tile is a shared buffer
/// that one statement of the body fills from tensors and that only the loop uses; it gets S
/// versions, of which turn i uses number i % S. The order of its accesses is then this pass's doing
/// (BufferNode::relaxed): one barrier a turn, after the wait for the turn's copies. Loops that have
/// no such tile, or a plan of the author's, stay serial.
/// Needs: lower_block_ops.
ir::Program pipeline_loops(const ir::Program& program, Remarks* remarks = nullptr);

}  // namespace tw::pass
