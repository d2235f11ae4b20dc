// Which shared buffers of a block can't have bytes in common.
#pragma once

#include <map>
#include <set>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// For each shared buffer of a launch the others that must have bytes of their own. Two buffers may
/// share bytes if a barrier of the whole block lies between each access to one and each access to
/// the other, and none of them holds a value that is still read while the other is used. An Alloc
/// makes a new buffer: one inside a loop holds nothing from turn to turn. Buffers of engines
/// (asynchronous copies, barriers with phases), relaxed ones and those that other blocks reach
/// share nothing.
///
/// Needs: thread IR with its barriers, views without storage of their own.
using SharedConflicts = std::map<ir::Buffer, std::set<ir::Buffer, ir::ById>, ir::ById>;
SharedConflicts shared_conflicts(const ir::Launch& launch);

}  // namespace tw::pass
