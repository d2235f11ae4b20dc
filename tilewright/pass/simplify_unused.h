// What of a program nothing depends on; a part of `simplify`.
#pragma once

#include <unordered_map>

#include "tilewright/ir/nodes.h"

namespace tw::pass {

/// Whether the loop gives stages or an order to the statements of its body (language 5.5), and
/// which of these it counts.
inline bool has_plan(const ir::For& loop) { return !loop.stage.empty() || !loop.order.empty(); }
inline bool is_counted(const ir::Stmt& stmt) {
  return !stmt.is<ir::Let>() && !stmt.is<ir::Alloc>() && !stmt.is<ir::Assume>();
}

/// How a variable is used.
struct VarUse {
  int count = 0;
  bool in_deeper_loop = false;  // than its binding
  bool in_declaration = false;  // of a buffer
};

class VarUses {
 public:
  explicit VarUses(const ir::Program& program);
  VarUse of(const ir::Var& var) const;

 private:
  std::unordered_map<const ir::ExprBase*, VarUse> uses_;
};

/// The program without Lets of variables that aren't used, and without block buffers that aren't
/// read and what is written to them.
ir::Program remove_unused(ir::Program program);

}  // namespace tw::pass
