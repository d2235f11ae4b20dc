#include "tilewright/pass/check_epochs.h"

#include <map>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

class EpochCheck {
 public:
  EpochCheck(const ir::Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

  void walk(const ir::Stmt& stmt) {
    if (!stmt) return;
    for_each_access(stmt, [&](const Access& access) {
      if (access.atomic || access.buffer.root().space() != ir::MemSpace::reducer) return;
      report(codes::rdc_01, access.where, "{} is a reducer, it can't be {}",
             access.buffer.root().name(), access.kind == Access::Kind::read ? "read" : "written")
          .help("finalize it into another buffer");
    });
    if (const auto* seq = stmt.try_as<ir::Seq>()) return sequence(*seq);
    if (const auto* n = stmt.try_as<ir::ReducerInit>()) return init(*n);
    if (const auto* n = stmt.try_as<ir::ReducerUpdate>()) {
      if (open_.contains(n->reducer)) return;
      report(codes::rdc_02, n->loc, "update of {} outside an epoch", n->reducer.name())
          .help("open one with init({})", n->reducer.name());
    } else if (const auto* n = stmt.try_as<ir::ReducerFinalize>()) {
      if (open_.erase(n->reducer) != 0) return;
      report(codes::rdc_03, n->loc, "finalize of {} without init", n->reducer.name())
          .help("open an epoch with init({})", n->reducer.name());
    } else if (const auto* n = stmt.try_as<ir::If>()) {
      const Epochs before = open_;
      walk(n->then_body);
      const Epochs after_then = std::exchange(open_, before);
      const bool then_left = std::exchange(left_, false);
      walk(n->else_body);
      if (left_) open_ = after_then;
      if (!left_ && !then_left) agree(after_then, n->loc, "after the branches of an if");
      left_ = left_ && then_left;
    } else if (const auto* n = stmt.try_as<ir::For>()) {
      loop(n->body, n->loc);
    } else if (const auto* n = stmt.try_as<ir::While>()) {
      loop(n->body, n->loc);
    } else if (const auto* n = stmt.try_as<ir::Parallel>()) {
      loop(n->body, n->loc);
    } else if (const auto* n = stmt.try_as<ir::Launch>()) {
      walk(n->body);
    } else if (stmt.is<ir::Break>() || stmt.is<ir::Continue>()) {
      if (!loops_.empty()) agree(loops_.back(), stmt.loc(), "where a loop is left");
      left_ = true;
    }
  }

 private:
  using Epochs = std::map<ir::Buffer, SourceLoc, ir::ById>;  // those open, and where they opened

  template <class... Args>
  Error& report(Code code, SourceLoc where, fmt::format_string<Args...> text, Args&&... args) {
    return diagnostics_.error(code, where, "{}: {}", program_.name,
                              tw::format(text, std::forward<Args>(args)...));
  }
  void unfinished(const ir::Buffer& reducer, SourceLoc where) {
    diagnostics_
        .warn(codes::w_rdc_01, where, "{}: the epoch of {} is never finalized", program_.name,
              reducer.name())
        .help("fold it into a buffer with finalize({}, dst)", reducer.name());
  }

  void sequence(const ir::Seq& seq) {
    std::vector<ir::Buffer> allocated;
    for (const ir::Stmt& s : seq.stmts) {
      if (const auto* alloc = s.try_as<ir::Alloc>()) allocated.push_back(alloc->buffer);
      walk(s);
    }
    for (const ir::Buffer& buffer : allocated) {
      const auto epoch = open_.find(buffer);
      if (epoch == open_.end()) continue;
      unfinished(buffer, epoch->second);
      open_.erase(epoch);
    }
  }
  void init(const ir::ReducerInit& n) {
    const auto [epoch, opened] = open_.emplace(n.reducer, n.loc);
    if (opened) return;
    unfinished(n.reducer, epoch->second);
    epoch->second = n.loc;
  }
  void loop(const ir::Stmt& body, SourceLoc where) {
    loops_.push_back(open_);
    walk(body);
    if (!left_) agree(loops_.back(), where, "before and after an iteration of a loop");
    left_ = false;
    open_ = loops_.back();
    loops_.pop_back();
  }

  /// Reports reducers whose epoch is open in only one of the other state and this one.
  void agree(const Epochs& other, SourceLoc where, const char* when) {
    const auto disagree = [&](const Epochs& a, const Epochs& b) {
      for (const auto& [reducer, opened] : a) {
        if (b.contains(reducer)) continue;
        report(codes::rdc_04, where, "paths disagree about the epoch of {} {}", reducer.name(),
               when)
            .note("it is opened at {}", opened.text())
            .help("init and finalize it on all paths, or on none");
      }
    };
    disagree(open_, other);
    disagree(other, open_);
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  Epochs open_;
  bool left_ = false;          // behind a break or continue: nothing more is known here
  std::vector<Epochs> loops_;  // at the beginning of an iteration
};

}  // namespace

void check_epochs(const ir::Program& program, Diagnostics& diagnostics) {
  for (const ir::Stmt& launch : program.launches) EpochCheck(program, diagnostics).walk(launch);
}

}  // namespace tw::pass
