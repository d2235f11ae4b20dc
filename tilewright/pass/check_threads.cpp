#include "tilewright/pass/check_threads.h"

#include <map>
#include <optional>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"
#include "tilewright/pass/simplify_expr.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

bool is_for_block(const Stmt& stmt) {
  return ir::is_tile_operation(stmt) || stmt.is<ir::ReducerUpdate>() || stmt.is<ir::Parallel>();
}

class ThreadCheck : public ir::Visitor {
 public:
  ThreadCheck(const ir::Program& program, const Stmt& launch, Diagnostics& diagnostics)
      : program_(program),
        diagnostics_(diagnostics),
        code_(launch),
        threads_(threads_of(launch.as<ir::Launch>())),
        cooperative_(launch.as<ir::Launch>().cooperative) {
    if (code_.any()) ThreadCheck::visit(launch.as<ir::Launch>().body);
  }
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    if (!stmt) return;
    if (is_for_block(stmt)) return block_operation(stmt);
    if (const auto* barrier = stmt.try_as<ir::Barrier>()) this->barrier(stmt, *barrier);
    if (const auto* sync = stmt.try_as<ir::Sync>()) this->sync(stmt, *sync);
    if (code_.is_own(stmt)) elements(stmt);
    const Stmt outer = branch_;
    if (code_.diverges(stmt)) branch_ = stmt;
    children(stmt);
    branch_ = outer;
  }
  void visit(const Expr&) override {}

 private:
  static int64_t threads_of(const ir::Launch& launch) {
    int64_t threads = 1;
    for (const int64_t extent : launch.threads) threads *= extent;
    return launch.threads.empty() ? 0 : threads;
  }

  template <class... Args>
  Error& report(Code code, const Stmt& where, fmt::format_string<Args...> text, Args&&... args) {
    return diagnostics_.error(code, where.loc(), "{}: `{}`: {}", program_.name, first_line(where),
                              tw::format(text, std::forward<Args>(args)...));
  }
  /// Which condition or loop keeps threads apart.
  Error& with_branch(Error& error) const {
    if (branch_)
      error.note("threads differ in `{}` ({})", first_line(branch_), branch_.loc().text());
    return error;
  }

  void divergent_barrier(const Stmt& stmt, const char* what) {
    with_branch(report(codes::sync_01, stmt, "{} that only some threads may reach", what))
        .help(
            "move it out of what depends on the thread, or use a named barrier with the number "
            "of threads that come");
  }
  void barrier(const Stmt& stmt, const ir::Barrier& n) {
    if (n.id == 0) {
      if (code_.is_divergent(stmt)) divergent_barrier(stmt, "a barrier of the block");
      return;
    }
    if (n.threads % 32 == 0 && (threads_ == 0 || n.threads <= threads_)) return;
    report({}, stmt, "{} threads, it must be a multiple of 32{}", n.threads,
           threads_ == 0 ? "" : tw::format(" and at most {}, as the block has", threads_));
  }

  void sync(const Stmt& stmt, const ir::Sync& n) {
    using ir::SyncCode;
    if (n.code == SyncCode::grid) {
      if (code_.is_divergent(stmt)) divergent_barrier(stmt, "a barrier of the grid");
      if (!cooperative_) {
        report({}, stmt, "a barrier of the grid, whose blocks may not all run at once")
            .help("give .cooperative = true in the options of k.launch");
      }
    }
    const bool of_cluster = n.code == SyncCode::cluster_arrive ||
                            n.code == SyncCode::cluster_arrive_relaxed ||
                            n.code == SyncCode::cluster_wait;
    if (of_cluster && code_.is_divergent(stmt)) divergent_barrier(stmt, "a barrier of the cluster");
    const auto at = n.at.empty() ? std::nullopt : ir::as_int(n.at[0]);
    if (!n.barrier || !at) return;
    if (n.code == SyncCode::phase_init) arrivals_[n.barrier][*at] = ir::as_int(n.value).value_or(0);
    if (n.code != SyncCode::phase_arrive && n.code != SyncCode::phase_arrive_expect) return;
    const int64_t wanted = arrivals_[n.barrier][*at];
    if (wanted == 0 || threads_ <= wanted || code_.is_divergent(stmt)) return;
    report(codes::sync_05, stmt, "all {} threads arrive, but a phase of {}[{}] is over after {}",
           threads_, n.barrier.name(), *at, wanted)
        .help("let one thread arrive, as in if_(elect(), ...), or make it a barrier for {}",
              threads_);
  }

  /// A tile operation, or a parallel loop with all that is in it.
  void block_operation(const Stmt& stmt) {
    const bool loop = stmt.is<ir::Parallel>();
    const char* what = loop ? "a parallel loop" : "a tile operation";
    if (code_.is_divergent(stmt)) {
      with_branch(report(codes::flow_05, stmt, "{} that only some threads may reach", what))
          .help(
              "all threads of the block take part in it; move it out of what depends on the "
              "thread");
      return;
    }
    if (const auto differing = differing_part(stmt)) {
      report(codes::flow_05, stmt, "{} with a value that differs between threads", what)
          .note("`{}` does", *differing)
          .help("{}", loop ? "its iterations are spread over the threads; use its own indices, or "
                             "write code of each thread outside of it"
                           : "write the elements with the index of the thread instead");
    }
  }

  std::optional<std::string> differing_part(const Stmt& stmt) const {
    std::optional<std::string> found;
    const auto buffer = [&](const ir::Buffer& b) {
      if (found || !b) return;
      if (code_.is_own(b) || code_.varies(b)) found = b.name();
    };
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      for_each_access(s, [&](const Access& access) { buffer(access.buffer); });
    });
    ir::for_each_expr(stmt, [&](const Expr& e) {
      if (!found && (e.is<ir::VarNode>() || e.is<ir::Load>()) && code_.varies(e)) found = print(e);
    });
    return found;
  }

  /// Which thread has an element of a fragment is for the compiler to decide.
  void elements(const Stmt& stmt) {
    for_each_access(stmt, [&](const Access& access) {
      if (access.buffer.root().space() != ir::MemSpace::fragment) return;
      if (!reported_.insert(access.buffer.get()).second) return;
      report(codes::lay_05, stmt, "an element of a fragment in code of single threads")
          .note("{}, spread over the threads", described(access.buffer))
          .help("copy it to shared memory first, or use it in a parallel loop");
    });
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  const ThreadCode code_;
  const int64_t threads_;  // 0: not fixed
  const bool cooperative_;
  Stmt branch_;
  std::map<ir::Buffer, std::map<int64_t, int64_t>, ir::ById> arrivals_;  // 0: not known
  std::set<const ir::Node*> reported_;
};

/// Registers of a multiprocessor that threads can have, and threads that change theirs together.
constexpr int64_t kRegisters = 64512, kWarpgroup = 128;

/// How many registers a thread has in the end, as far as its conditions can be told; 0: not known.
class LastRegisters : public ir::Visitor {
 public:
  LastRegisters(const ir::Program& program, const ir::Launch& launch, int64_t thread)
      : simplifier_(Bounds(program)), count_(launch.max_registers) {
    if (launch.thread) simplifier_.substitute(launch.thread, ir::index(thread));
    LastRegisters::visit(launch.body);
  }
  int64_t count() const { return count_; }

  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (!stmt) return;
    if (const auto* sync = stmt.try_as<ir::Sync>();
        sync != nullptr && ir::sets_registers(sync->code)) {
      count_ = *ir::as_int(sync->value);
    }
    if (const auto* branch = stmt.try_as<ir::If>()) {
      const auto holds = ir::as_int(simplifier_.simplify(branch->cond));
      if (holds) return visit(*holds != 0 ? branch->then_body : branch->else_body);
    }
    children(stmt);
  }
  void visit(const Expr&) override {}

 private:
  ExprSimplifier simplifier_;
  int64_t count_;
};

void check_registers(const ir::Program& program, const Stmt& launch, Diagnostics& diagnostics) {
  const auto& n = launch.as<ir::Launch>();
  Stmt last;
  ir::for_each_stmt(launch, [&](const Stmt& s) {
    const auto* sync = s.try_as<ir::Sync>();
    if (sync != nullptr && sync->code == ir::SyncCode::registers_increase) last = s;
  });
  if (!last || n.threads.empty()) return;
  int64_t threads = 1, all = 0;
  for (const int64_t extent : n.threads) threads *= extent;
  std::vector<int64_t> counts;
  for (int64_t t = 0; t < threads; t += kWarpgroup) {
    counts.push_back(LastRegisters(program, n, t).count());
    all += counts.back() * kWarpgroup;
  }
  if (all <= kRegisters) return;
  diagnostics
      .warn(codes::w_sync_02, last.loc(),
            "{}: `{}`: warp-groups have {} registers a thread, {} in all, but there are {}",
            program.name, first_line(last), counts, all, kRegisters)
      .help("let other warp-groups give up more with reg_decrease, or ask for fewer");
}

}  // namespace

void check_threads(const ir::Program& program, Diagnostics& diagnostics) {
  for (const Stmt& launch : program.launches) {
    ThreadCheck(program, launch, diagnostics);
    check_registers(program, launch, diagnostics);
  }
}

}  // namespace tw::pass
