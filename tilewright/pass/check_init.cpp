#include "tilewright/pass/check_init.h"

#include <map>
#include <optional>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

bool disjoint(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.lo.size(); ++d) {
    if (a.lo[d] > b.hi[d] || b.lo[d] > a.hi[d]) return true;
  }
  return false;
}

/// An element of the box that is in none of the others; cuts off what lies beside the first, then
/// looks there for one beside the rest.
std::optional<std::vector<int64_t>> uncovered(Box box, const std::vector<Box>& written,
                                              size_t first = 0) {
  while (first < written.size() && disjoint(box, written[first])) ++first;
  if (first == written.size()) return box.lo;
  const Box& w = written[first];
  for (size_t d = 0; d < box.lo.size(); ++d) {
    if (box.lo[d] < w.lo[d]) {
      Box beside = box;
      beside.hi[d] = w.lo[d] - 1;
      if (auto found = uncovered(beside, written, first + 1)) return found;
      box.lo[d] = w.lo[d];
    }
    if (box.hi[d] > w.hi[d]) {
      Box beside = box;
      beside.lo[d] = w.hi[d] + 1;
      if (auto found = uncovered(beside, written, first + 1)) return found;
      box.hi[d] = w.hi[d];
    }
  }
  return std::nullopt;
}

bool is_followed(ir::MemSpace space) {
  return space == ir::MemSpace::shared || space == ir::MemSpace::shared_static ||
         space == ir::MemSpace::fragment || space == ir::MemSpace::local ||
         space == ir::MemSpace::variable;
}

class InitCheck : public AccessWalk {
 public:
  InitCheck(const ir::Program& program, Diagnostic::Severity severity, Diagnostics& diagnostics)
      : program_(program), severity_(severity), diagnostics_(diagnostics) {}

 private:
  struct State {
    std::vector<Box> written;
    size_t loops = 0;  // around the allocation
    bool reported = false;
  };

  void on_stmt(const ir::Stmt& stmt) override {
    const auto* alloc = stmt.try_as<ir::Alloc>();
    if (alloc == nullptr || alloc->buffer->view_of) return;
    State& state = states_[alloc->buffer];
    state.written.clear();
    state.loops = loops_.size();
  }

  void on_loop(const ir::Stmt& loop, bool begins) override {
    if (!begins) {
      writes_.pop_back();
      return;
    }
    std::set<ir::Buffer, ir::ById> writes;
    ir::for_each_stmt(loop, [&](const ir::Stmt& s) {
      for_each_access(s, [&](const Access& a) {
        if (a.kind == Access::Kind::write) writes.insert(a.buffer.root());
      });
    });
    writes_.push_back(std::move(writes));
  }

  void on_access(const Access& access) override {
    const ir::Buffer root = access.buffer.root();
    if (!is_followed(root.space()) || !root.has_constant_shape()) return;
    const auto it = states_.find(root);
    if (it == states_.end()) return;
    State& state = it->second;
    if (access.kind == Access::Kind::write) {
      write(state, elements(access));
    } else if (!state.reported) {
      read(access, state);
    }
  }

  /// In coordinates of the root; all of it where a view stands between.
  Box elements(const Access& access) const {
    if (!access.buffer->view_of) return box(access, true);
    Box all;
    for (const ir::Expr& extent : access.buffer.root().shape()) {
      all.lo.push_back(0);
      all.hi.push_back(ir::as_int(extent).value_or(1) - 1);
    }
    return all;
  }

  static void write(State& state, Box box) {
    constexpr size_t kMaxBoxes = 32;  // more are joined, so that `uncovered` stays fast
    for (const Box& known : state.written) {
      if (!uncovered(box, {known})) return;
    }
    if (state.written.size() < kMaxBoxes) {
      state.written.push_back(std::move(box));
      return;
    }
    Box& last = state.written.back();
    for (size_t d = 0; d < box.lo.size(); ++d) {
      last.lo[d] = std::min(last.lo[d], box.lo[d]);
      last.hi[d] = std::max(last.hi[d], box.hi[d]);
    }
  }

  /// Whether an earlier iteration of a loop around may have written what is read.
  bool written_by_iteration(const Access& access, const State& state) const {
    for (size_t i = state.loops; i < loops_.size(); ++i) {
      if (!writes_[i].contains(access.buffer.root())) continue;
      return access.when || conditions_ != loops_[i].conditions;
    }
    return false;
  }

  void read(const Access& access, State& state) {
    const Box box = elements(access);
    std::string element;
    if (!access.buffer->view_of && touches_all(access)) {
      const auto missing = uncovered(box, state.written);
      if (!missing) return;
      if (!missing->empty() && !state.written.empty()) element = tw::to_text(*missing);
    } else {
      for (const Box& written : state.written) {
        if (!disjoint(box, written)) return;
      }
    }
    if (written_by_iteration(access, state)) return;
    state.reported = true;
    const ir::Buffer root = access.buffer.root();
    Error& error = diagnostics_.add(
        severity_, Error(codes::w_init_01, access.where, "{}: {}{} is read before it is written",
                         program_.name, root.name(), element));
    error.note("it is read by `{}`", first_line(access.by));
    error.note("{}{}", described(root),
               root.loc().known() ? ", declared at " + root.loc().text() : "");
    if (root.space() == ir::MemSpace::variable) {
      error.help("give it an initial value, as in var({}, 0)", root.dtype());
    } else {
      error.help("write it first, for example with fill({}, 0)", root.name());
    }
  }

  const ir::Program& program_;
  Diagnostic::Severity severity_;
  Diagnostics& diagnostics_;
  std::map<ir::Buffer, State, ir::ById> states_;
  std::vector<std::set<ir::Buffer, ir::ById>> writes_;  // of each of loops_
};

}  // namespace

void check_init(const ir::Program& program, Diagnostics& diagnostics) {
  const std::string level = ir::option(program, "check_init");
  if (level == "off") return;
  InitCheck(program, level == "error" ? Diagnostic::Severity::error : Diagnostic::Severity::warning,
            diagnostics)
      .run(program);
}

}  // namespace tw::pass
