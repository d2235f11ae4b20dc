#include "tilewright/pass/thread/shared_conflicts.h"

#include <utility>
#include <vector>

#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Stmt;
using Buffers = std::set<Buffer, ir::ById>;

/// What a thread does between two decisions.
struct Step {
  Buffers touches;
  Buffer fresh;        // is allocated
  bool meets = false;  // after the touches: a barrier of the block
  std::vector<size_t> next;
  Buffers recent;   // touched since the last barrier, on some way here
  Buffers reached;  // touched since their allocation
  Buffers needed;   // touched later, after the step
};

bool is_shared(const Buffer& buffer) {
  const ir::MemSpace space = buffer.space();
  return (space == ir::MemSpace::shared || space == ir::MemSpace::shared_static) &&
         !buffer->view_of;
}

/// The shared buffers that a statement or expression mentions.
class Mentions : public ir::Visitor {
 public:
  Buffers found;
  using Visitor::visit;
  void visit(const Buffer& buffer) override {
    if (buffer && is_shared(buffer.root())) found.insert(buffer.root());
  }
  /// What the place of a view is computed from.
  void declaration(const ir::BufferNode& buffer) {
    for (const auto* list : {&buffer.shape, &buffer.strides}) {
      for (const ir::Expr& e : *list) visit(e);
    }
    for (const ir::Expr& e : {buffer.offset, buffer.address, buffer.peer}) {
      if (e) visit(e);
    }
  }
};
template <class... Parts>
Buffers mentions(const Parts&... parts) {
  Mentions all;
  ((parts ? all.visit(parts) : void()), ...);
  return all.found;
}

/// The steps of a launch in program order, with their successors.
class Steps {
 public:
  explicit Steps(const Stmt& body) {
    walk(body);
    add({});
  }
  std::vector<Step> steps;

 private:
  using Ends = std::vector<size_t>;  // steps whose successor comes next
  struct Loop {
    size_t head;
    Ends breaks;
  };

  size_t add(Step step) {
    steps.push_back(std::move(step));
    const size_t here = steps.size() - 1;
    for (const size_t end : std::exchange(ends_, {here})) steps[end].next.push_back(here);
    return here;
  }
  void walk(const Stmt& stmt) {
    if (!stmt) return;
    switch (stmt.kind()) {
      case ir::Kind::Seq:
        for (const Stmt& s : stmt.as<ir::Seq>().stmts) walk(s);
        return;
      case ir::Kind::Alloc: {
        const auto& alloc = stmt.as<ir::Alloc>();
        Mentions declared;
        declared.declaration(*alloc.buffer.get());
        if (alloc.initial) declared.visit(alloc.initial);
        add({.touches = declared.found,
             .fresh = is_shared(alloc.buffer) ? alloc.buffer : Buffer()});
        return;
      }
      case ir::Kind::If: {
        const auto& branch = stmt.as<ir::If>();
        const size_t head = add({.touches = mentions(branch.cond)});
        walk(branch.then_body);
        Ends after = std::exchange(ends_, {head});
        walk(branch.else_body);
        ends_.insert(ends_.end(), after.begin(), after.end());
        return;
      }
      case ir::Kind::For: {
        const auto& loop = stmt.as<ir::For>();
        add({.touches = mentions(loop.lo, loop.hi, loop.step)});
        return repeat(add({}), loop.body);
      }
      case ir::Kind::While:
        return repeat(add({.touches = mentions(stmt.as<ir::While>().cond)}),
                      stmt.as<ir::While>().body);
      case ir::Kind::Break:
        loops_.back().breaks.insert(loops_.back().breaks.end(), ends_.begin(), ends_.end());
        ends_.clear();
        return;
      case ir::Kind::Continue:
        for (const size_t end : std::exchange(ends_, {})) {
          steps[end].next.push_back(loops_.back().head);
        }
        return;
      default: {
        const auto* barrier = stmt.try_as<ir::Barrier>();
        add({.touches = mentions(stmt), .meets = barrier != nullptr && barrier->id == 0});
      }
    }
  }
  void repeat(size_t head, const Stmt& body) {
    loops_.push_back({head, {head}});
    walk(body);
    for (const size_t end : ends_) steps[end].next.push_back(head);
    ends_ = std::move(loops_.back().breaks);
    loops_.pop_back();
  }

  Ends ends_;
  std::vector<Loop> loops_;
};

/// Adds `from` but for one; whether anything was new.
bool join(Buffers* into, const Buffers& from, const Buffer& except = {}) {
  const size_t before = into->size();
  for (const Buffer& b : from) {
    if (!b.same_as(except)) into->insert(b);
  }
  return into->size() != before;
}

void solve(std::vector<Step>* steps) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Step& s : *steps) {
      for (const size_t n : s.next) {
        Step& next = (*steps)[n];
        if (!s.meets) {
          changed |= join(&next.recent, s.recent);
          changed |= join(&next.recent, s.touches);
        }
        changed |= join(&next.reached, s.reached, s.fresh);
        changed |= join(&next.reached, s.touches);
      }
    }
    for (size_t i = steps->size(); i-- > 0;) {
      Step& s = (*steps)[i];
      for (const size_t n : s.next) {
        const Step& next = (*steps)[n];
        changed |= join(&s.needed, next.needed, next.fresh);
        changed |= join(&s.needed, next.touches);
      }
    }
  }
}

}  // namespace

// All threads of a block pass the same barriers, so two accesses between the same two of them are
// both recent at the second one, whichever ways the threads took; and a value that one thread
// brings over an access of another is reached and needed at the barriers on either side.
SharedConflicts shared_conflicts(const ir::Launch& launch) {
  SharedConflicts conflicts;
  Buffers apart;  // share nothing
  ir::for_each_stmt(launch.body, [&](const Stmt& s) {
    if (const auto* alloc = s.try_as<ir::Alloc>(); alloc != nullptr && is_shared(alloc->buffer)) {
      conflicts[alloc->buffer];
      if (alloc->buffer->relaxed) apart.insert(alloc->buffer);
    } else if (alloc != nullptr && alloc->buffer->peer) {
      apart.insert(alloc->buffer.root());
    } else if (s.is<ir::AsyncCopy>() || s.is<ir::Sync>()) {
      join(&apart, mentions(s));
    }
  });
  if (conflicts.size() < 2) return conflicts;
  std::vector<Step> steps = std::move(Steps(launch.body).steps);
  solve(&steps);
  for (const Step& s : steps) {
    Buffers here = s.recent;
    join(&here, s.touches);
    for (const Buffer& b : s.reached) {
      if (s.needed.contains(b) && !b.same_as(s.fresh)) here.insert(b);
    }
    for (const Buffer& b : here) join(&conflicts[b], here);
  }
  for (auto& [buffer, others] : conflicts) {
    for (const auto& [other, theirs] : conflicts) {
      if (apart.contains(buffer) || apart.contains(other)) others.insert(other);
    }
  }
  return conflicts;
}

}  // namespace tw::pass
