// Makes every access to global memory safe: proven inside, or under a guard.
#pragma once

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// A load outside its tensor becomes the safe value, a store outside does nothing (language 20.2).
/// What is proven inside is marked `unchecked`. A Parallel whose guards are linear in its indices
/// is doubled: one test of the whole box chooses between a version without guards and one with
/// them, so that interior tiles pay nothing. Needs: no tile operations (after lower_tile_ops).
/// Guarantees: every global Load and Store is unchecked.
ir::Program guard_bounds(const ir::Program& program);

}  // namespace tw::pass
