// Checks that IR is well formed: what every pass may rely on and must keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/nodes.h"

namespace tw::ir {

/// The levels of IR (design.md 2). A program of a lower level is no program of a higher one.
enum class Level {
  tile,       // what the author wrote
  scheduled,  // tile operations with layouts
  loop,       // no tile operations, no Parallel, no unrolled loops
  thread,     // what one thread does: no tile operations, no Parallel, no vectorized loops
};
std::string to_text(Level level);
/// An unknown name is an Error that lists the levels.
Level level_named(std::string_view name);

/// All violations, each with the statement in which it is. They are of this kind:
/// - operands: count, types, the type of the result; conversions and reductions that exist; indices
///   are integers, as many as dimensions;
/// - names: a variable or block buffer is defined before it is used, inside its scope, and once;
/// - statements: what ir/nodes.h says of each, break and continue inside a serial loop, no tile
///   operation inside a Parallel, constant extents of vectorized loops, launches at the top;
/// - level: no node that the level lacks.
std::vector<std::string> violations(const Program& program, Level level);

/// Throws InternalError with all of them; `after` names the pass that made the program.
void verify(const Program& program, Level level, const std::string& after = "");

}  // namespace tw::ir
