#include "tilewright/pass/apply_debug_options.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

struct ApplyDebugOptions : ir::Rewriter {
  bool check_assumptions, no_debug;
  ApplyDebugOptions(bool check, bool remove) : check_assumptions(check), no_debug(remove) {}
  using Rewriter::rewrite;

  ir::Stmt rewrite(const ir::Stmt& stmt) override {
    if (!stmt) return stmt;
    if (no_debug && (stmt.is<ir::Print>() || stmt.is<ir::Assert>())) return ir::seq({});
    const auto* fact = stmt.try_as<ir::Assume>();
    if (fact == nullptr || !check_assumptions) return children(stmt);
    const ir::Stmt check = ir::make<ir::Assert>(stmt.loc(), [&](ir::Assert& n) {
      n.cond = fact->cond;
      n.message = format("`{}` is assumed", fact->cond);
    });
    return ir::seq({check, stmt});
  }
};

}  // namespace

ir::Program apply_debug_options(const ir::Program& program) {
  const bool check = ir::option(program, "check_assumptions") == "on";
  const bool remove = ir::option(program, "no_debug") == "on";
  return check || remove ? ApplyDebugOptions(check, remove).rewrite(program) : program;
}

}  // namespace tw::pass
