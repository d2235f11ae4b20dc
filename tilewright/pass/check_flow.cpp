#include "tilewright/pass/check_flow.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

using ir::Stmt;

class FlowCheck : public ir::Visitor {
 public:
  FlowCheck(const ir::Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}
  using Visitor::visit;

  void visit(const ir::Expr&) override {}
  void visit(const Stmt& stmt) override {
    if (ir::is_tile_operation(stmt)) return tile_operation(stmt);
    if (ir::is_thread_operation(stmt)) return thread_operation(stmt);
    switch (stmt.kind()) {
      case ir::Kind::Break:
      case ir::Kind::Continue:
        return jump(stmt);
      case ir::Kind::If:
        condition(stmt.as<ir::If>().cond, stmt);
        return children(stmt);
      case ir::Kind::While:
        return while_loop(stmt, stmt.as<ir::While>());
      case ir::Kind::For:
        return for_loop(stmt, stmt.as<ir::For>());
      case ir::Kind::Parallel:
        return parallel(stmt, stmt.as<ir::Parallel>());
      default:
        return children(stmt);
    }
  }

 private:
  struct Loop {
    bool parallel;
    bool left = false;  // by a break
  };

  Error& report(Code code, const Stmt& where, const char* text) {
    return diagnostics_.error(code, where.loc(), "{}: `{}`: {}", program_.name, first_line(where),
                              text);
  }
  bool inside_parallel() const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [](const Loop& loop) { return loop.parallel; });
  }
  Loop body(bool parallel, const Stmt& stmt) {
    loops_.push_back({parallel});
    if (stmt) visit(stmt);
    const Loop loop = loops_.back();
    loops_.pop_back();
    return loop;
  }

  void jump(const Stmt& stmt) {
    if (loops_.empty()) {
      report(codes::flow_02, stmt, "it is outside a loop");
    } else if (loops_.back().parallel) {
      report(codes::loop_06, stmt, "it would leave a parallel loop")
          .help("guard the rest of the body with if_");
    } else {
      loops_.back().left = loops_.back().left || stmt.is<ir::Break>();
    }
  }
  void tile_operation(const Stmt& stmt) {
    if (!inside_parallel()) return;
    report(codes::loop_04, stmt, "a tile operation inside a parallel loop")
        .help("move it out of the loop, or write its elements");
  }
  void thread_operation(const Stmt& stmt) {
    if (!inside_parallel()) return;
    report(codes::sync_01, stmt,
           stmt.is<ir::Barrier>() ? "a barrier inside a parallel loop"
                                  : "an operation of threads inside a parallel loop")
        .help("write it before or after the loop, whose iterations are spread over threads");
  }
  void condition(const ir::Expr& cond, const Stmt& stmt) {
    if (cond.dtype().is_bool() || cond.dtype().is_int()) return;
    report(codes::flow_04, stmt, "the condition is neither a bool nor an integer")
        .note("`{}` is {}", cond, cond.dtype())
        .help("compare it with zero");
  }
  void while_loop(const Stmt& stmt, const ir::While& n) {
    condition(n.cond, stmt);
    const Loop loop = body(false, n.body);
    const auto value = ir::as_int(n.cond);
    if (value && *value != 0 && !loop.left) {
      report(codes::flow_01, stmt, "the condition is always true and nothing leaves the loop")
          .help("leave it with break_()");
    }
  }
  void for_loop(const Stmt& stmt, const ir::For& n) {
    if (ir::is_int(n.step, 0)) report(codes::flow_03, stmt, "the step is 0");
    const bool run_time = !ir::as_int(n.lo) || !ir::as_int(n.hi);
    if (run_time && n.loop == ir::LoopKind::unrolled && n.factor == 0) {
      report(codes::loop_02, stmt, "the extent is not known while compiling")
          .help("give a factor, as in unroll(n, 4, body)");
    }
    if (run_time && n.loop == ir::LoopKind::vectorized) {
      report(codes::loop_02, stmt, "the extent is not known while compiling")
          .help("use parallel, or serial");
    }
    if (n.loop == ir::LoopKind::pipelined && inside_parallel()) {
      report(codes::loop_05, stmt, "it is inside a parallel loop")
          .help("use serial there, or put the parallel loop inside");
    }
    body(false, n.body);
  }
  void parallel(const Stmt& stmt, const ir::Parallel& n) {
    if (inside_parallel() && !perfect_) {
      report(codes::loop_07, stmt, "it is inside a parallel loop, beside other statements")
          .help("write one box, as in parallel({{n, m}}, body), or make it serial");
    }
    perfect_ = n.body.is<ir::Parallel>();
    body(true, n.body);
    perfect_ = false;
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  std::vector<Loop> loops_;
  bool perfect_ = false;  // the next parallel loop is all of the body of the present one
};

}  // namespace

void check_flow(const ir::Program& program, Diagnostics& diagnostics) {
  for (const Stmt& launch : program.launches) FlowCheck(program, diagnostics).visit(launch);
}

}  // namespace tw::pass
