#include "tilewright/pass/thread/insert_barriers.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
#include "tilewright/layout/parse.h"
#include "tilewright/pass/thread/lower_threads.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

/// Which thread touches which element: the fragment of the loop, as text, and the index as an
/// expression of the loop's first, second, ... variable.
struct Pattern {
  std::string layout;
  std::vector<Expr> index;
  friend bool operator==(const Pattern& a, const Pattern& b) {
    if (a.layout != b.layout || a.index.size() != b.index.size()) return false;
    for (size_t d = 0; d < a.index.size(); ++d) {
      if (!ir::structurally_equal(a.index[d], b.index[d])) return false;
    }
    return true;
  }
};

struct Touch {
  bool reads = false, writes = false, atomically = false;
  std::optional<Pattern> pattern;  // of all touches, if they have one in common
  bool any() const { return reads || writes || atomically; }
};
using Touches = std::map<Buffer, Touch, ir::ById>;

void merge(Touch& into, const Touch& from) {
  if (!from.any()) return;
  if (!into.any()) {
    into.pattern = from.pattern;
  } else if (into.pattern != from.pattern) {
    into.pattern.reset();
  }
  into.reads |= from.reads;
  into.writes |= from.writes;
  into.atomically |= from.atomically;
}
void merge(Touches& into, const Touches& from) {
  for (const auto& [buffer, touch] : from) merge(into[buffer], touch);
}

/// Values that are the same throughout a block.
using Fixed = std::set<ir::Var, ir::ById>;

/// What a statement or expression touches of memory that threads share.
class Collect : public ir::Visitor {
 public:
  explicit Collect(const Fixed& fixed) : fixed_(fixed) {}
  Touches touches;
  Touches engines;  // what engines only begin to touch
  using Visitor::visit;
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) {
      touch(load->buffer, load->indices, {.reads = true});
    }
    children(expr);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* loop = stmt.try_as<ir::Parallel>()) {
      loop_ = loop;
    } else if (const auto* store = stmt.try_as<ir::Store>()) {
      touch(store->buffer, store->indices, {.writes = true});
    } else if (const auto* atomic = stmt.try_as<ir::Atomic>()) {
      touch(atomic->buffer, atomic->indices, {.atomically = true});
    } else if (const auto* print = stmt.try_as<ir::Print>(); print != nullptr && print->buffer) {
      touch(print->buffer, {}, {.reads = true});
    } else if (const auto* copy = stmt.try_as<ir::AsyncCopy>()) {
      touch(copy->src.buffer, {}, {.reads = true}, &engines);
      touch(copy->dst.buffer, {}, {.writes = true}, &engines);
    }
    children(stmt);
  }

 private:
  void touch(const Buffer& buffer, const std::vector<Expr>& index, Touch now,
             Touches* into = nullptr) {
    const Buffer root = buffer.root();
    const bool seen = root.space() == ir::MemSpace::shared ||
                      root.space() == ir::MemSpace::shared_static || is_tensor(root);
    if (!seen || root->relaxed) return;
    if (loop_ != nullptr && buffer.same_as(root)) now.pattern = pattern_of(index);
    merge((into == nullptr ? touches : *into)[root], now);
  }
  /// Empty if several threads run an iteration, or the index depends on more than the loop's
  /// variables and what is fixed.
  std::optional<Pattern> pattern_of(const std::vector<Expr>& index) const {
    static const std::vector<ir::Var> places = [] {
      std::vector<ir::Var> list;
      for (int d = 0; d < 8; ++d) list.push_back(ir::Var::make("x", i64));
      return list;
    }();
    if (loop_->vars.size() > places.size()) return std::nullopt;
    if (layout::parse_fragment(loop_->layout).replicas() > 1) return std::nullopt;
    ir::Substitution values;
    for (size_t d = 0; d < loop_->vars.size(); ++d) values[loop_->vars[d]] = places[d];
    Pattern pattern{loop_->layout, {}};
    for (const Expr& e : index) {
      const bool varies = ir::contains(e, [&](const Expr& part) {
        return part.is<ir::Load>() ||
               (part.is<ir::VarNode>() && !fixed_.contains(ir::Var::of(part)) &&
                !values.contains(ir::Var::of(part)));
      });
      if (varies) return std::nullopt;
      pattern.index.push_back(ir::substitute(e, values));
    }
    return pattern;
  }

  const Fixed& fixed_;
  const ir::Parallel* loop_ = nullptr;
};

/// Walks the statements of a block in order; `pending_` is what was touched since the last barrier.
class InsertBarriers {
 public:
  InsertBarriers(const ir::Program& program, const ir::Launch& launch)
      : code_(Stmt(&launch)), threads_(layout::product(launch.threads)) {
    for (const ir::Symbol& symbol : program.symbols) fixed_.insert(symbol.var);
    for (const ir::Param& param : program.params) {
      if (param.var) fixed_.insert(param.var);
    }
    fixed_.insert(launch.block_vars.begin(), launch.block_vars.end());
  }

  Stmt block(const Stmt& stmt) {
    std::vector<Stmt> out;
    add(stmt, out);
    return ir::seq(std::move(out));
  }

 private:
  template <class Handle>
  Touches touches_of(const Handle& part) const {
    Collect collect(fixed_);
    if (part) collect.visit(part);
    return collect.touches;
  }

  void add(const Stmt& stmt, std::vector<Stmt>& out) {
    if (!stmt) return;
    // Inside there can be no barrier of the block: its threads see to their order themselves.
    if (code_.diverges(stmt)) return as_one(stmt, out);
    switch (stmt.kind()) {
      case ir::Kind::Seq: {
        std::vector<Stmt> inner;
        for (const Stmt& s : stmt.as<ir::Seq>().stmts) add(s, inner);
        out.push_back(ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& s) { s.stmts = inner; }));
        return;
      }
      case ir::Kind::Alloc: {
        const auto& alloc = stmt.as<ir::Alloc>();
        if (!alloc.layout.empty() && alloc.buffer.space() != ir::MemSpace::shared) {
          fragments_.emplace(alloc.buffer, layout::parse_fragment(alloc.layout));
        }
        enter(touches_of(alloc.initial), stmt.loc(), out);
        out.push_back(stmt);
        return;
      }
      case ir::Kind::Reduce: {
        const auto& reduce = stmt.as<ir::Reduce>();
        out.push_back(stmt);
        if (crosses_warps(fragments_.at(reduce.src.buffer), reduce.dims, threads_)) {
          pending_.clear();  // a barrier is inside
        }
        return;
      }
      case ir::Kind::Scan: {
        const auto& scan = stmt.as<ir::Scan>();
        out.push_back(stmt);
        if (scan_crosses_warps(fragments_.at(scan.dst.buffer), scan.dim, threads_)) {
          pending_.clear();
        }
        return;
      }
      case ir::Kind::ReducerFinalize:
        out.push_back(stmt);
        if (crosses_warps(threads_)) pending_.clear();
        return;
      case ir::Kind::For: {
        const auto& loop = stmt.as<ir::For>();
        Touches bounds = touches_of(loop.lo);
        merge(bounds, touches_of(loop.hi));
        merge(bounds, touches_of(loop.step));
        enter(bounds, stmt.loc(), out);
        const Stmt body = repeated(loop.body, {});
        out.push_back(ir::make<ir::For>(stmt.loc(), [&](ir::For& n) {
          n = loop;
          n.body = body;
        }));
        return;
      }
      case ir::Kind::While: {
        const auto& loop = stmt.as<ir::While>();
        const Touches condition = touches_of(loop.cond);
        enter(condition, stmt.loc(), out);
        const Stmt body = repeated(loop.body, condition);
        out.push_back(ir::make<ir::While>(stmt.loc(), [&](ir::While& n) {
          n.cond = loop.cond;
          n.body = body;
        }));
        return;
      }
      case ir::Kind::If: {
        const auto& branch = stmt.as<ir::If>();
        enter(touches_of(branch.cond), stmt.loc(), out);
        const Touches before = pending_;
        const Stmt then_body = block(branch.then_body);
        Touches after = std::exchange(pending_, before);
        const Stmt else_body = branch.else_body ? block(branch.else_body) : Stmt();
        merge(pending_, after);
        out.push_back(ir::make<ir::If>(stmt.loc(), [&](ir::If& n) {
          n.cond = branch.cond;
          n.then_body = then_body;
          n.else_body = else_body;
        }));
        return;
      }
      case ir::Kind::Barrier:
        enter(touches_of(stmt.as<ir::Barrier>().cond), stmt.loc(), out);
        out.push_back(stmt);
        if (stmt.as<ir::Barrier>().id == 0) pending_.clear();
        return;
      case ir::Kind::Sync:
        sync(stmt, out);
        return;
      case ir::Kind::Break:
      case ir::Kind::Continue:
        merge(jumps_, pending_);
        out.push_back(stmt);
        return;
      default:
        as_one(stmt, out);
        if (const auto* atomic = stmt.try_as<ir::Atomic>();
            atomic != nullptr && atomic->result && !code_.is_own(stmt)) {
          pending_.clear();  // its result is handed to all threads, with a barrier
        }
    }
  }

  /// A statement into which no barrier goes.
  void as_one(const Stmt& stmt, std::vector<Stmt>& out) {
    Collect collect(fixed_);
    collect.visit(stmt);
    Touches all = collect.touches;
    merge(all, collect.engines);
    order(all, stmt.loc(), out);
    merge(pending_, collect.touches);
    out.push_back(stmt);
    follow_engines(stmt);
  }

  // ---- engines: what they read or write is pending again once a thread has waited for it, since
  // the others haven't ----
  void follow_engines(const Stmt& stmt) {
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      if (const auto* copy = s.try_as<ir::AsyncCopy>()) {
        if (!copy->barrier) started(copy->dst.buffer, copy->src.buffer);
      } else if (const auto* loop = s.try_as<ir::Parallel>(); loop && loop->prefer_async) {
        ir::for_each_stmt(loop->body, [&](const Stmt& inner) {
          if (const auto* store = inner.try_as<ir::Store>()) started(store->buffer, {});
        });
      } else if (const auto* wait = s.try_as<ir::Sync>()) {
        finished(*wait);
      }
    });
  }
  void started(const Buffer& written, const Buffer& read) {
    for (const auto& [buffer, now] :
         {std::pair(written, Touch{.writes = true}), std::pair(read, Touch{.reads = true})}) {
      if (!buffer || buffer.root()->relaxed) continue;
      merge(in_flight_[buffer.root()], now);
    }
  }
  void finished(const ir::Sync& wait) {
    const bool waits = wait.code == ir::SyncCode::copies_wait ||
                       wait.code == ir::SyncCode::bulk_wait ||
                       wait.code == ir::SyncCode::bulk_wait_read;
    if (waits) merge(pending_, in_flight_);
  }
  static bool is_arrival(const Stmt& stmt) {
    const auto* sync = stmt.try_as<ir::Sync>();
    return sync != nullptr && sync->code == ir::SyncCode::cluster_arrive;
  }
  void sync(const Stmt& stmt, std::vector<Stmt>& out) {
    using ir::SyncCode;
    const SyncCode code = stmt.as<ir::Sync>().code;
    // All threads of the block are there, too. Between the halves of a barrier of the cluster
    // others may have touched something.
    const bool met = code == SyncCode::grid ||
                     (code == SyncCode::cluster_wait && !out.empty() && is_arrival(out.back()));
    out.push_back(stmt);
    follow_engines(stmt);
    if (met) pending_.clear();
  }

  /// A body that runs again after itself, `at_end` being touched at the end of each turn.
  Stmt repeated(const Stmt& body, const Touches& at_end) {
    const Touches before = pending_, outside = std::exchange(jumps_, {});
    const auto turn = [&] {
      std::vector<Stmt> out;
      add(body, out);
      enter(at_end, body ? body.loc() : SourceLoc(), out);
      return ir::seq(std::move(out));
    };
    turn();
    merge(pending_, before);  // the second turn sees what the first left
    merge(pending_, jumps_);
    const Stmt result = turn();
    merge(pending_, before);  // there may be no turn
    merge(pending_, jumps_);
    jumps_ = outside;
    return result;
  }

  /// Notes that a statement touches this, after a barrier if it must not come earlier.
  void enter(const Touches& touches, SourceLoc where, std::vector<Stmt>& out) {
    order(touches, where, out);
    merge(pending_, touches);
  }
  void order(const Touches& touches, SourceLoc where, std::vector<Stmt>& out) {
    for (const auto& [buffer, now] : touches) {
      const auto it = pending_.find(buffer);
      if (it == pending_.end()) continue;
      const Touch& before = it->second;
      const char* hazard =
          before.writes && (now.reads || now.atomically)      ? "written before it is read"
          : before.atomically && now.reads                    ? "updated before it is read"
          : before.writes && now.writes                       ? "written twice"
          : (before.reads || before.atomically) && now.writes ? "read before it is written"
          : before.reads && now.atomically                    ? "read before it is updated"
                                                              : nullptr;
      if (hazard == nullptr) continue;
      // A thread sees its own accesses in order.
      if (before.pattern && now.pattern && *before.pattern == *now.pattern) continue;
      out.push_back(ir::barrier(where, format("{} is {}", buffer.name(), hazard)));
      pending_.clear();
      break;
    }
  }

  const ThreadCode code_;
  int64_t threads_;
  Fixed fixed_;
  Touches pending_;
  Touches in_flight_;  // what copies by groups read and write
  Touches jumps_;      // what was pending at breaks and continues of the innermost loop
  std::map<Buffer, layout::Fragment, ir::ById> fragments_;
};

}  // namespace

ir::Program insert_barriers(const ir::Program& program) {
  if (ir::option(program, "auto_sync") == "off") return program;
  ir::Program result = program;
  for (Stmt& launch : result.launches) {
    const auto& old = launch.as<ir::Launch>();
    launch = ir::make<ir::Launch>(launch.loc(), [&](ir::Launch& n) {
      n = old;
      n.body = InsertBarriers(program, old).block(old.body);
    });
  }
  return result;
}

}  // namespace tw::pass
