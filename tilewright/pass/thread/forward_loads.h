// Reads tensors where their elements are used, instead of by way of a fragment.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// A fragment that one loop fills from a tensor which no launch writes, and one later loop of as
/// many iterations reads, disappears: the later loop reads the tensor. Only loops that fill
/// fragments, or compute in registers alone, may stand between the two, so that no load comes later
/// than its author can tell; what it saves are the registers. Needs: lower_block_ops. Keeps:
/// everything else.
ir::Program forward_loads(const ir::Program& program);

}  // namespace tw::pass
