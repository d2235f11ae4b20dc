#include "tilewright/pass/check_pipeline.h"

#include <algorithm>
#include <map>

#include "tilewright/base/codes.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

using ir::Stmt;

/// What the statements of one loop do to one buffer.
struct Use {
  size_t stmt;
  bool writes;
  Box box;
  bool whole;  // a view stands between: the box means nothing
};
bool overlap(const Use& a, const Use& b) {
  if (a.whole || b.whole || a.box.lo.size() != b.box.lo.size()) return true;
  for (size_t d = 0; d < a.box.lo.size(); ++d) {
    if (a.box.lo[d] > b.box.hi[d] || b.box.lo[d] > a.box.hi[d]) return false;
  }
  return true;
}

struct Plan {
  const ir::For* loop;
  std::vector<Stmt> stmts;
  std::map<ir::Buffer, std::vector<Use>, ir::ById> uses;  // by root
  std::vector<ir::Buffer> buffers;                        // its keys, in order of use
  std::vector<int64_t> stage, order;
  size_t current = 0;  // the statement being walked
};

std::vector<Stmt> planned_stmts(const Stmt& body) {
  std::vector<Stmt> list;
  const auto add = [&](const Stmt& s) {
    if (!s.is<ir::Let>() && !s.is<ir::Alloc>() && !s.is<ir::Assume>()) list.push_back(s);
  };
  if (const auto* seq = body.try_as<ir::Seq>()) {
    for (const Stmt& s : seq->stmts) add(s);
  } else if (body) {
    add(body);
  }
  return list;
}

/// A jump that belongs to the loop with this body.
Stmt jump_in(const Stmt& body) {
  if (!body || body.is<ir::Break>() || body.is<ir::Continue>()) return body;
  if (const auto* seq = body.try_as<ir::Seq>()) {
    for (const Stmt& s : seq->stmts) {
      if (Stmt jump = jump_in(s)) return jump;
    }
  } else if (const auto* branch = body.try_as<ir::If>()) {
    const Stmt jump = jump_in(branch->then_body);
    return jump ? jump : jump_in(branch->else_body);
  }
  return {};
}

class PipelineCheck : public AccessWalk {
 public:
  PipelineCheck(const ir::Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

 private:
  // ---- collecting uses ----
  void on_loop(const Stmt& stmt, bool begins) override {
    const auto* loop = stmt.try_as<ir::For>();
    if (loop == nullptr || loop->loop != ir::LoopKind::pipelined) return;
    if (begins) {
      plans_.push_back({loop, planned_stmts(loop->body), {}, {}, {}, {}});
      return;
    }
    check(plans_.back());
    plans_.pop_back();
  }
  void on_stmt(const Stmt& stmt) override {
    for (Plan& plan : plans_) {
      for (size_t i = 0; i < plan.stmts.size(); ++i) {
        if (plan.stmts[i].same_as(stmt)) plan.current = i;
      }
    }
  }
  void on_access(const Access& access) override {
    for (Plan& plan : plans_) {
      const ir::Buffer root = access.buffer.root();
      // Bindings are computed anew in every stage that needs them.
      if (access.by.is<ir::Let>() && is_top(plan, access.by)) continue;
      std::vector<Use>& uses = plan.uses[root];
      if (uses.empty()) plan.buffers.push_back(root);
      uses.push_back({plan.current, access.kind == Access::Kind::write, box(access, true),
                      static_cast<bool>(access.buffer->view_of)});
    }
  }
  static bool is_top(const Plan& plan, const Stmt& stmt) {
    const auto* seq = plan.loop->body.try_as<ir::Seq>();
    return seq == nullptr || std::any_of(seq->stmts.begin(), seq->stmts.end(),
                                         [&](const Stmt& s) { return s.same_as(stmt); });
  }

  // ---- checks ----
  template <class... Args>
  Error& report(Code code, SourceLoc where, fmt::format_string<Args...> text, Args&&... args) {
    return diagnostics_.error(code, where, "{}: {}", program_.name,
                              tw::format(text, std::forward<Args>(args)...));
  }

  void check(Plan& plan) {
    const ir::For& loop = *plan.loop;
    if (const Stmt jump = jump_in(loop.body)) {
      report(codes::pipe_07, jump.loc(), "`{}` leaves a pipelined loop", first_line(jump))
          .help("use serial, or guard the rest of the body with if_");
      return;
    }
    if (loop.stage.empty() && loop.order.empty()) {
      automatic(plan);
    } else if (explicit_lists(plan)) {
      dependences(plan);
    } else {
      return;
    }
    versions(plan);
  }

  /// The loads of tiles that later statements read get stage 0, the others the last one.
  void automatic(Plan& plan) {
    const int64_t stages = plan.loop->stages;
    for (size_t i = 0; i < plan.stmts.size(); ++i) {
      const auto* copy = plan.stmts[i].try_as<ir::Copy>();
      const bool load = copy != nullptr && copy->src.buffer.space() == ir::MemSpace::global &&
                        is_read_after(plan, copy->dst.buffer.root(), i);
      plan.stage.push_back(load ? 0 : std::max<int64_t>(stages - 1, 0));
      plan.order.push_back(static_cast<int64_t>(i));
      if (load && stages > 1) second_writer(plan, copy->dst.buffer.root(), i);
    }
  }
  static bool is_read_after(const Plan& plan, const ir::Buffer& buffer, size_t stmt) {
    if (buffer.space() == ir::MemSpace::global) return false;
    const auto& uses = plan.uses.at(buffer);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return !use.writes && use.stmt > stmt; });
  }
  void second_writer(const Plan& plan, const ir::Buffer& buffer, size_t load) {
    const auto& uses = plan.uses.at(buffer);
    for (const Use& a : uses) {
      for (const Use& b : uses) {
        if (a.stmt != load || b.stmt <= load || !a.writes || !b.writes || !overlap(a, b)) continue;
        report(codes::pipe_03, plan.stmts[b.stmt].loc(),
               "{} is loaded ahead by the pipeline and written by a second statement",
               buffer.name())
            .note("it is loaded by `{}`", first_line(plan.stmts[load]))
            .note("it is written by `{}`", first_line(plan.stmts[b.stmt]))
            .help("write the second result to a buffer of its own");
        return;
      }
    }
  }

  bool explicit_lists(Plan& plan) {
    const ir::For& loop = *plan.loop;
    const size_t n = plan.stmts.size();
    if (loop.stage.size() != n || loop.order.size() != n) {
      report(codes::pipe_02, loop.loc,
             "the pipelined loop has {} statements, but {} stages and {} orders", n,
             loop.stage.size(), loop.order.size())
          .help("give one stage and one order for each statement at the top of the body");
      return false;
    }
    if (std::any_of(loop.stage.begin(), loop.stage.end(), [](int64_t s) { return s < 0; })) {
      report(codes::pipe_02, loop.loc, "stages {} of the pipelined loop: none may be negative",
             loop.stage);
      return false;
    }
    std::vector<int64_t> sorted = loop.order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < n; ++i) {
      if (sorted[i] == static_cast<int64_t>(i)) continue;
      report(codes::pipe_01, loop.loc,
             "order {} of the pipelined loop is no permutation of 0 to {}", loop.order, n - 1);
      return false;
    }
    plan.stage = loop.stage;
    plan.order = loop.order;
    return true;
  }

  /// Whether each iteration writes the buffer before it reads it, so that iterations may have
  /// versions of their own.
  static bool has_versions(const Plan& plan, const ir::Buffer& buffer) {
    const Use& first = plan.uses.at(buffer).front();
    return first.writes && buffer.space() != ir::MemSpace::global &&
           buffer.space() != ir::MemSpace::workspace;
  }

  void dependences(const Plan& plan) {
    for (const ir::Buffer& buffer : plan.buffers) {
      const bool versioned = has_versions(plan, buffer);
      for (const Use& a : plan.uses.at(buffer)) {
        for (const Use& b : plan.uses.at(buffer)) {
          if ((!a.writes && !b.writes) || !overlap(a, b)) continue;
          // From a of iteration i to b of iteration i, or to b of iteration i + 1.
          const int64_t distance = a.stmt < b.stmt ? 0 : 1;
          if (a.stmt == b.stmt || (distance == 1 && versioned)) continue;
          const int64_t slack = plan.stage[b.stmt] + distance - plan.stage[a.stmt];
          if (slack > 0 || (slack == 0 && plan.order[a.stmt] < plan.order[b.stmt])) continue;
          report(codes::pipe_04, plan.stmts[b.stmt].loc(),
                 "the plan runs `{}` before `{}`{}, on which it depends through {}",
                 first_line(plan.stmts[b.stmt]), first_line(plan.stmts[a.stmt]),
                 distance == 0 ? "" : " of the iteration before", buffer.name())
              .note("stages {}, order {}", plan.stage, plan.order);
          return;
        }
      }
    }
  }

  void versions(const Plan& plan) {
    for (const ir::Buffer& buffer : plan.buffers) {
      if (buffer->versions == 0 || buffer->manual_versions || !has_versions(plan, buffer)) continue;
      const std::vector<Use>& uses = plan.uses.at(buffer);
      const size_t writer = uses.front().stmt;
      int64_t needed = 1;
      for (const Use& use : uses) {
        // The last reader makes room for the writer where it runs before it in the steady body.
        const int64_t lag = plan.stage[use.stmt] - plan.stage[writer] + 1;
        const bool makes_room = plan.order[use.stmt] < plan.order[writer];
        if (!use.writes) needed = std::max(needed, lag - (makes_room ? 1 : 0));
      }
      if (buffer->versions >= needed) continue;
      report(codes::pipe_05, plan.loop->loc, "{} has {} versions, the pipelined loop needs {}",
             buffer.name(), buffer->versions, needed)
          .note("{}", described(buffer))
          .help("annotate versions({}, {}), or leave them to the compiler", buffer.name(), needed);
    }
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  std::vector<Plan> plans_;  // of the loops around
};

}  // namespace

void check_pipeline(const ir::Program& program, Diagnostics& diagnostics) {
  PipelineCheck(program, diagnostics).run(program);
}

}  // namespace tw::pass
