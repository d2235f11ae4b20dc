#include "tilewright/pass/fuse_loops.h"

#include <algorithm>
#include <map>
#include <set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/linear.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  Linear difference = Linear::of(a);
  difference.add(Linear::of(b), -1);
  return difference.is_constant() && difference.constant == 0;
}

/// What a loop does to memory: the buffers it reads and writes, and with which indices.
class Accesses : public ir::Visitor {
 public:
  struct Access {
    Buffer buffer;
    std::vector<Expr> indices;
  };
  std::vector<Access> reads, writes;
  std::vector<Buffer> updated;  // reducers
  bool has_other = false;       // effects that must keep their place

  explicit Accesses(const Stmt& body) { visit(body); }
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    switch (stmt.kind()) {
      case ir::Kind::Store: {
        const auto& store = stmt.as<ir::Store>();
        writes.push_back({store.buffer, store.indices});
        break;
      }
      case ir::Kind::ReducerUpdate:
        updated.push_back(stmt.as<ir::ReducerUpdate>().reducer);
        break;
      case ir::Kind::Atomic:
      case ir::Kind::Print:
      case ir::Kind::Assert:
      case ir::Kind::While:
        has_other = true;
        break;
      default:
        break;
    }
    children(stmt);
  }
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) reads.push_back({load->buffer, load->indices});
    children(expr);
  }
};

/// Whether every iteration of a box has an element of its own there: each index of the box is one
/// of the access's indices, up to an offset.
bool is_own_element(const Accesses::Access& access, const std::vector<Var>& box) {
  return std::all_of(box.begin(), box.end(), [&](const Var& var) {
    return std::any_of(access.indices.begin(), access.indices.end(), [&](const Expr& index) {
      const Linear sum = Linear::of(index);
      const auto coefficient = sum.coefficient_of(var);
      if (!coefficient || *coefficient == 0) return false;
      return std::none_of(box.begin(), box.end(), [&](const Var& other) {
        return !other.same_as(var) && uses(index, other);
      });
    });
  });
}

/// Whether accesses to one buffer, of which some write, meet only within one iteration.
bool meet_in_one_iteration(const Accesses::Access& a, const Accesses::Access& b,
                           const std::vector<Var>& box) {
  if (!a.buffer.same_as(b.buffer)) return false;  // two views of one storage
  if (a.indices.size() != b.indices.size()) return false;
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (!equal(a.indices[d], b.indices[d])) return false;
  }
  return is_own_element(a, box);
}

bool may_overlap(const Buffer& a, const Buffer& b) {
  if (a.root().same_as(b.root())) return true;
  return a.root()->may_alias && b.root()->may_alias;
}

bool can_join(const Stmt& first, const Stmt& second, const std::vector<Var>& box) {
  const Accesses a(first), b(second);
  if (a.has_other || b.has_other) return false;
  const auto compatible = [&](const auto& list, const auto& others) {
    for (const auto& x : list) {
      for (const auto& y : others) {
        if (may_overlap(x.buffer, y.buffer) && !meet_in_one_iteration(x, y, box)) return false;
      }
    }
    return true;
  };
  if (!compatible(a.writes, b.reads) || !compatible(a.reads, b.writes) ||
      !compatible(a.writes, b.writes)) {
    return false;
  }
  for (const Buffer& reducer : a.updated) {
    for (const Buffer& other : b.updated) {
      if (other.same_as(reducer)) return false;
    }
    for (const auto& read : b.reads) {
      if (may_overlap(read.buffer, reducer)) return false;
    }
  }
  return true;
}

/// Passes stored values on to loads of the same element in the statements behind.
class Forward {
 public:
  std::vector<Stmt> join(const Stmt& first, const Stmt& second) {
    std::vector<Stmt> stmts;
    for (const Stmt& s : list_of(first)) {
      const auto* store = s.try_as<ir::Store>();
      forget_written(s);
      if (store == nullptr || store->value.is<ir::Const>() || store->value.is<ir::VarNode>()) {
        if (store != nullptr) known_.push_back({store->buffer, store->indices, store->value});
        stmts.push_back(s);
        continue;
      }
      const Var value = Var::make(store->buffer.name(), store->buffer.dtype(), s.loc());
      stmts.push_back(ir::let(value, store->value));
      stmts.push_back(ir::make<ir::Store>(s.loc(), [&](ir::Store& n) {
        n = *store;
        n.value = value;
      }));
      known_.push_back({store->buffer, store->indices, value});
    }
    for (const Stmt& s : list_of(second)) {
      stmts.push_back(ir::rewrite(s, [&](auto& self, const ir::Load& load) -> Expr {
        if (const Expr value = find(load)) return value;
        return self.rebuild(load);
      }));
      forget_written(s);
    }
    return stmts;
  }

 private:
  struct Known {
    Buffer buffer;
    std::vector<Expr> indices;
    Expr value;
  };
  static std::vector<Stmt> list_of(const Stmt& body) {
    const auto* seq = body.try_as<ir::Seq>();
    return seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
  }
  /// A store, also under a condition, ends what is known of its buffer.
  void forget_written(const Stmt& stmt) {
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      const auto* store = s.try_as<ir::Store>();
      if (store == nullptr) return;
      std::erase_if(known_,
                    [&](const Known& known) { return known.buffer.same_as(store->buffer); });
    });
  }
  Expr find(const ir::Load& load) const {
    for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
      if (!known->buffer.same_as(load.buffer)) continue;
      // Global stores may be skipped outside; block buffers hold what was stored.
      const bool of_block = load.buffer.space() != ir::MemSpace::global &&
                            load.buffer.space() != ir::MemSpace::workspace;
      if (!of_block) return {};
      bool same = true;
      for (size_t d = 0; same && d < load.indices.size(); ++d) {
        same = equal(known->indices[d], load.indices[d]);
      }
      return same ? known->value : Expr();
    }
    return {};
  }
  std::vector<Known> known_;
};

bool same_box(const ir::Parallel& a, const ir::Parallel& b) {
  if (a.vars.size() != b.vars.size() || a.layout != b.layout) return false;
  for (size_t d = 0; d < a.vars.size(); ++d) {
    if (!equal(a.extents[d], b.extents[d])) return false;
  }
  return true;
}

/// The two loops as one, or null.
Stmt join(const Stmt& first, const Stmt& second) {
  const auto &a = first.as<ir::Parallel>(), &b = second.as<ir::Parallel>();
  if (!same_box(a, b)) return {};
  ir::Substitution to_first;
  for (size_t d = 0; d < a.vars.size(); ++d) to_first[b.vars[d]] = a.vars[d];
  const Stmt body = ir::substitute(b.body, to_first);
  if (!can_join(a.body, body, a.vars)) return {};
  return ir::make<ir::Parallel>(first.loc(), [&](ir::Parallel& n) {
    n = a;
    const auto stmts = Forward().join(a.body, body);
    n.body = ir::make<ir::Seq>(first.loc(), [&](ir::Seq& s) { s.stmts = stmts; });
    n.prefetch.insert(n.prefetch.end(), b.prefetch.begin(), b.prefetch.end());
    if (b.max_vector != 0 && (n.max_vector == 0 || b.max_vector < n.max_vector)) {
      n.max_vector = b.max_vector;
    }
  });
}

/// Whether a loop may run behind a statement that follows it.
bool can_swap(const Stmt& loop, const Stmt& next) {
  if (const auto* alloc = next.try_as<ir::Alloc>()) {
    return !alloc->initial && !alloc->buffer->view_of;
  }
  if (const auto* init = next.try_as<ir::ReducerInit>()) return !init->initial;
  if (!next.is<ir::Parallel>() && !next.is<ir::Store>()) return false;
  const Accesses a(loop), b(next);
  const auto apart = [](const auto& list, const auto& others) {
    return std::none_of(list.begin(), list.end(), [&](const auto& x) {
      return std::any_of(others.begin(), others.end(),
                         [&](const auto& y) { return may_overlap(x.buffer, y.buffer); });
    });
  };
  return !a.has_other && !b.has_other && a.updated.empty() && b.updated.empty() &&
         apart(a.writes, b.reads) && apart(a.reads, b.writes) && apart(a.writes, b.writes);
}

/// Joins a loop with the nearest one in front of it that can get there; whether there was one.
bool join_backwards(std::vector<Stmt>& out, const Stmt& loop) {
  constexpr size_t kReach = 8;
  for (size_t i = out.size(); i-- > 0 && out.size() - i <= kReach;) {
    if (!out[i].is<ir::Parallel>()) continue;
    const auto behind = out.begin() + static_cast<ptrdiff_t>(i) + 1;
    if (!std::all_of(behind, out.end(), [&](const Stmt& s) { return can_swap(out[i], s); })) {
      continue;
    }
    const Stmt joined = join(out[i], loop);
    if (!joined) continue;
    out.erase(behind - 1);
    if (!join_backwards(out, joined)) out.push_back(joined);
    return true;
  }
  return false;
}

Stmt fuse_sequence(const Stmt& stmt) {
  std::vector<Stmt> out;
  bool changed = false;
  for (const Stmt& s : stmt.as<ir::Seq>().stmts) {
    if (s.is<ir::Parallel>() && join_backwards(out, s)) {
      changed = true;
    } else {
      out.push_back(s);
    }
  }
  if (!changed) return stmt;
  return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(out); });
}

/// Sequences inside sequences that only declare what is used there are opened, so that loops meet.
Stmt flatten(const Stmt& stmt) {
  std::vector<Stmt> out;
  bool changed = false;
  for (const Stmt& s : stmt.as<ir::Seq>().stmts) {
    const auto* inner = s.try_as<ir::Seq>();
    if (inner == nullptr) {
      out.push_back(s);
      continue;
    }
    changed = true;
    out.insert(out.end(), inner->stmts.begin(), inner->stmts.end());
  }
  if (!changed) return stmt;
  return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(out); });
}

/// Removes the stores to (and prefetches of) block buffers that are never read, and their
/// allocations.
ir::Program remove_unread(const ir::Program& program) {
  std::set<Buffer, ir::ById> read, allocated;
  for (const Stmt& launch : program.launches) {
    ir::for_each_expr(launch, [&](const Expr& e) {
      if (const auto* load = e.try_as<ir::Load>()) read.insert(load->buffer);
    });
    ir::for_each_stmt(launch, [&](const Stmt& s) {
      if (const auto* alloc = s.try_as<ir::Alloc>()) {
        allocated.insert(alloc->buffer);
        if (alloc->buffer->view_of) read.insert(alloc->buffer.root());
      } else if (const auto* atomic = s.try_as<ir::Atomic>()) {
        read.insert(atomic->buffer);
      } else if (const auto* end = s.try_as<ir::ReducerFinalize>()) {
        read.insert(end->reducer);
        read.insert(end->dst.buffer);
      } else if (const auto* print = s.try_as<ir::Print>(); print != nullptr && print->buffer) {
        read.insert(print->buffer);
      }
    });
  }
  const auto is_unread = [&](const Buffer& buffer) {
    return allocated.contains(buffer) && !read.contains(buffer) && !buffer->view_of &&
           buffer.space() != ir::MemSpace::reducer;
  };
  return ir::rewrite(
      program,
      [&](auto&, const ir::Store& store) -> Stmt {
        return is_unread(store.buffer) ? ir::seq({}) : Stmt(&store);
      },
      [&](auto&, const ir::Prefetch& prefetch) -> Stmt {
        return is_unread(prefetch.buffer) ? ir::seq({}) : Stmt(&prefetch);
      },
      [&](auto&, const ir::Alloc& alloc) -> Stmt {
        return is_unread(alloc.buffer) ? ir::seq({}) : Stmt(&alloc);
      });
}

}  // namespace

ir::Program fuse_loops(const ir::Program& program) {
  const ir::Program fused = ir::rewrite(program, [](auto& self, const ir::Seq& seq) -> Stmt {
    return fuse_sequence(flatten(self.rebuild(seq)));
  });
  return remove_unread(fused);
}

}  // namespace tw::pass
