#include "tilewright/sim/shrink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::sim {
namespace {

using ir::Expr;
using ir::Program;
using ir::Stmt;

// ---- edits: what may stand in place of a statement or an expression

Stmt first_iteration(const ir::For& loop) {
  return ir::substitute(loop.body, {{loop.var, loop.lo}});
}
Stmt first_iteration(const ir::Parallel& loop) {
  ir::Substitution zeros;
  for (const ir::Var& var : loop.vars) zeros.emplace(var, ir::zero(var.dtype()));
  return ir::substitute(loop.body, zeros);
}

/// Smaller statements, the smallest first. A null handle drops the statement.
std::vector<Stmt> smaller(const Stmt& s) {
  if (ir::is_empty(s)) return {};
  std::vector<Stmt> choices = {Stmt()};
  if (const auto* branch = s.try_as<ir::If>()) {
    choices.push_back(branch->then_body);
    if (branch->else_body) choices.push_back(branch->else_body);
  } else if (const auto* loop = s.try_as<ir::For>()) {
    choices.push_back(first_iteration(*loop));
  } else if (const auto* box = s.try_as<ir::Parallel>()) {
    choices.push_back(first_iteration(*box));
  }
  return choices;
}

std::vector<Expr> smaller(const Expr& e) {
  if (e.is<ir::Const>()) return {};
  std::vector<Expr> choices = {ir::literal(e.dtype(), 0), ir::literal(e.dtype(), 1)};
  const auto offer = [&](const Expr& operand) {
    if (operand && operand.dtype() == e.dtype()) choices.push_back(operand);
  };
  if (const auto* op = e.try_as<ir::Op>()) {
    for (const Expr& operand : op->args) offer(operand);
  } else if (const auto* cast = e.try_as<ir::Cast>()) {
    offer(cast->value);
    if (!cast->value.is<ir::Const>()) {  // a plain conversion of something simple
      choices.push_back(ir::cast(e.dtype(), ir::literal(cast->value.dtype(), 1)));
    }
  }
  return choices;
}

/// Replaces the statement (expression) with a number, in program order.
class Replace : public ir::Rewriter {
 public:
  using Rewriter::rewrite;
  int stmt = -1, expr = -1;  // the number; -1: none
  size_t choice = 0;
  bool reached = false, applied = false;

  Stmt rewrite(const Stmt& s) override {
    if (!s) return s;
    if (stmt >= 0 && !s.is<ir::Launch>() && stmt_count_++ == stmt) {
      reached = true;
      const std::vector<Stmt> choices = smaller(s);
      if (choice >= choices.size()) return s;
      applied = true;
      return choices[choice] ? choices[choice] : ir::seq({});
    }
    return children(s);
  }
  Expr rewrite(const Expr& e) override {
    if (!e) return e;
    if (expr >= 0 && expr_count_++ == expr) {
      reached = true;
      const std::vector<Expr> choices = smaller(e);
      if (choice >= choices.size()) return e;
      applied = true;
      return choices[choice];
    }
    return children(e);
  }

 protected:
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override { return buffer; }

 private:
  int stmt_count_ = 0, expr_count_ = 0;
};

/// Sequences without empty statements and needless nesting.
Program tidy(const Program& program) {
  return ir::rewrite(program, [](auto& self, const ir::Seq& seq) -> Stmt {
    std::vector<Stmt> stmts;
    bool changes = false;
    for (const Stmt& s : seq.stmts) {
      stmts.push_back(self(s));
      changes = changes || !stmts.back().same_as(s) || s.is<ir::Seq>();
    }
    return changes ? ir::seq(std::move(stmts)) : Stmt(&seq);
  });
}

/// Replaces each index constant of one value by another, in launches and block buffers.
class ReplaceConstant : public ir::Rewriter {
 public:
  ReplaceConstant(int64_t from, int64_t to) : from_(from), to_(to) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    if (!e) return e;
    const auto* c = e.try_as<ir::Const>();
    if (c == nullptr) return children(e);
    return c->dtype == i64 && c->i == from_ ? ir::index(to_) : e;
  }

 protected:
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override {
    return buffer.root().space() == ir::MemSpace::global ? buffer : declaration_children(buffer);
  }

 private:
  int64_t from_, to_;
};

/// What the launches of a program use.
struct Uses : ir::Visitor {
  std::set<ir::Var, ir::ById> vars;
  std::set<ir::Buffer, ir::ById> buffers;
  std::set<int64_t> constants;  // of type i64
  using Visitor::visit;

  explicit Uses(const Program& program) {
    for (const Stmt& launch : program.launches) visit(launch);
  }
  void visit(const Expr& e) override {
    if (e.is<ir::VarNode>()) vars.insert(ir::Var::of(e));
    const auto* c = e.try_as<ir::Const>();
    if (c != nullptr && c->dtype == i64) constants.insert(c->i);
    children(e);
  }
  void visit(const ir::Buffer& buffer) override {
    if (buffers.insert(buffer).second) children(buffer);
  }
};

/// Whether an edit changed nothing.
bool is_same(const Program& a, const Program& b) {
  const auto same = [](const Stmt& x, const Stmt& y) { return x.same_as(y); };
  return a.params.size() == b.params.size() && a.workspaces.size() == b.workspaces.size() &&
         a.symbols.size() == b.symbols.size() &&
         std::equal(a.launches.begin(), a.launches.end(), b.launches.begin(), b.launches.end(),
                    same);
}

class Shrinker {
 public:
  Shrinker(Program program, ir::Level level, const Fails& fails, int trials)
      : program_(std::move(program)), level_(level), fails_(fails), trials_(trials) {}

  Program run() {
    for (bool progress = true; progress && trials_ > 0;) {
      progress = false;
      while (drop_launches() || shrink_statements()) progress = true;
      progress = lower_constants() || progress;
      progress = shrink_expressions() || progress;
      progress = drop_unused() || progress;
      keep(tidy(program_));
    }
    return program_;
  }

 private:
  /// Keeps the candidate if it still fails.
  bool keep(Program candidate) {
    if (is_same(candidate, program_)) return false;
    if (!ir::violations(candidate, level_).empty()) return false;
    if (trials_-- <= 0 || !fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  bool drop_launches() {
    bool progress = false;
    for (size_t i = 0; i < program_.launches.size() && program_.launches.size() > 1;) {
      Program candidate = program_;
      candidate.launches.erase(candidate.launches.begin() + static_cast<std::ptrdiff_t>(i));
      if (keep(std::move(candidate))) {
        progress = true;
      } else {
        ++i;
      }
    }
    return progress;
  }

  /// The program with one edit; whether there is something at that number, and such a choice.
  std::optional<Program> edited(int Replace::* number, int at, size_t choice, bool* reached) {
    Replace edit;
    edit.*number = at;
    edit.choice = choice;
    Program candidate = program_;
    for (Stmt& launch : candidate.launches) launch = edit.rewrite(launch);
    *reached = edit.reached;
    if (!edit.applied) return std::nullopt;
    return candidate;
  }

  /// Tries the choices at one number until none helps; what was replaced may shrink further.
  bool replace(int Replace::* number, int at, bool* reached) {
    bool progress = false;
    for (size_t choice = 0; trials_ > 0;) {
      std::optional<Program> candidate = edited(number, at, choice, reached);
      if (!candidate) break;
      const bool kept = keep(std::move(*candidate));
      progress = progress || kept;
      choice = kept ? 0 : choice + 1;
    }
    return progress;
  }

  /// From the last statement to the first: what is used comes before its uses, which must go first.
  bool shrink_statements() {
    int count = 0;
    for (const Stmt& launch : program_.launches) {
      ir::for_each_stmt(launch, [&](const Stmt&) { ++count; });
    }
    bool progress = false, reached = false;
    for (int at = count; at-- > 0;) progress = replace(&Replace::stmt, at, &reached) || progress;
    return progress;
  }

  /// From the outside in: the largest expressions first.
  bool shrink_expressions() {
    bool progress = false, reached = true;
    for (int at = 0; trials_ > 0 && reached; ++at) {
      progress = replace(&Replace::expr, at, &reached) || progress;
    }
    return progress;
  }

  bool lower_constants() {
    bool progress = false;
    const std::set<int64_t> constants = Uses(program_).constants;
    for (auto c = constants.rbegin(); c != constants.rend(); ++c) {
      if (*c <= 1) continue;
      for (const int64_t to : {int64_t{1}, *c / 4, *c / 2, *c - 1}) {
        if (to < 1 || to == *c || !keep(ReplaceConstant(*c, to).rewrite(program_))) continue;
        progress = true;
        break;
      }
    }
    return progress;
  }

  /// Drops parameters, workspaces and symbols that nothing uses, one by one: what is used through
  /// an address only must stay.
  bool drop_unused() {
    const Uses uses(program_);
    bool progress = drop(&Program::params, [&](const ir::Param& param) {
      return param.buffer ? !uses.buffers.contains(param.buffer) : !uses.vars.contains(param.var);
    });
    progress = drop(&Program::workspaces,
                    [&](const ir::Workspace& workspace) {
                      return !uses.buffers.contains(workspace.buffer);
                    }) ||
               progress;
    std::set<ir::Var, ir::ById> in_shapes = uses.vars;
    for (const ir::Param& param : program_.params) {
      if (!param.buffer) continue;
      for (const Expr& extent : param.buffer.shape()) {
        ir::for_each_expr(extent, [&](const Expr& e) {
          if (e.is<ir::VarNode>()) in_shapes.insert(ir::Var::of(e));
        });
      }
    }
    return drop(&Program::symbols,
                [&](const ir::Symbol& symbol) { return !in_shapes.contains(symbol.var); }) ||
           progress;
  }
  template <class T, class Unused>
  bool drop(std::vector<T> Program::* list, Unused unused) {
    bool progress = false;
    for (size_t i = (program_.*list).size(); i-- > 0;) {
      if (!unused((program_.*list)[i])) continue;
      Program candidate = program_;
      (candidate.*list).erase((candidate.*list).begin() + static_cast<std::ptrdiff_t>(i));
      progress = keep(std::move(candidate)) || progress;
    }
    return progress;
  }

  Program program_;
  ir::Level level_;
  const Fails& fails_;
  int trials_;
};

}  // namespace

Program shrink(Program program, const Fails& fails, ir::Level level, int most_trials) {
  return Shrinker(std::move(program), level, fails, most_trials).run();
}

}  // namespace tw::sim
