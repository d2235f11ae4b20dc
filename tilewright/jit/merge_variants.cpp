#include "tilewright/jit/merge_variants.h"

#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw {
namespace {

/// Replaces one program's parameters and symbols by another's.
class Adopt : public ir::Rewriter {
 public:
  Adopt(const ir::Program& from, const ir::Program& to) {
    for (size_t i = 0; i < from.symbols.size(); ++i) vars_[from.symbols[i].var] = to.symbols[i].var;
    for (size_t i = 0; i < from.params.size(); ++i) {
      if (from.params[i].var) vars_[from.params[i].var] = to.params[i].var;
      if (from.params[i].buffer) params_[from.params[i].buffer] = to.params[i].buffer;
    }
  }
  using Rewriter::rewrite;
  ir::Expr rewrite(const ir::Expr& expr) override {
    if (!expr) return expr;
    if (expr.is<ir::VarNode>()) {
      const auto it = vars_.find(ir::Var::of(expr));
      return it == vars_.end() ? expr : it->second;
    }
    return children(expr);
  }
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override {
    const auto it = params_.find(buffer);
    return it == params_.end() ? declaration_children(buffer) : it->second;
  }

 private:
  ir::Substitution vars_;
  std::map<ir::Buffer, ir::Buffer, ir::ById> params_;
};

}  // namespace

ir::Program merge_variants(const std::vector<lang::Variant>& variants) {
  ir::Program merged = variants.front().program;
  const size_t launches = merged.launches.size();
  merged.launches.clear();
  std::vector<std::vector<ir::Stmt>> runs(launches);
  for (const lang::Variant& variant : variants) {
    const ir::Program& program = variant.program;
    TW_CHECK(program.launches.size() == launches && program.params.size() == merged.params.size() &&
                 program.symbols.size() == merged.symbols.size(),
             "schedules of {} change its parameters or launches", program.name);
    Adopt adopt(program, merged);
    const ir::Expr guard = adopt.rewrite(variant.guard);
    for (size_t i = 0; i < launches; ++i) {
      const ir::Stmt launch = adopt.rewrite(program.launches[i]);
      runs[i].push_back(ir::make<ir::Launch>(launch.loc(), [&](ir::Launch& n) {
        n = launch.as<ir::Launch>();
        n.guard = guard;
      }));
    }
    if (&variant == &variants.front()) continue;
    for (const ir::Workspace& workspace : program.workspaces) {
      ir::Workspace own = workspace;
      own.buffer = adopt.ir::Rewriter::rewrite(workspace.buffer);
      merged.workspaces.push_back(std::move(own));
    }
  }
  for (std::vector<ir::Stmt>& run : runs) {
    merged.launches.insert(merged.launches.end(), run.begin(), run.end());
  }
  return merged;
}

}  // namespace tw
