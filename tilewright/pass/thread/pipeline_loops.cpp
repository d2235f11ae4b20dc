#include "tilewright/pass/thread/pipeline_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/thread/lower_threads.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;

/// How statements use buffers.
struct Uses : ir::Visitor {
  std::map<Buffer, int, ir::ById> mentions, accesses, stores;
  std::set<Buffer, ir::ById> viewed;
  using Visitor::visit;
  void visit(const Buffer& buffer) override {
    if (!buffer) return;
    ++mentions[buffer];
    if (buffer->view_of) viewed.insert(buffer.root());
  }
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) ++accesses[load->buffer];
    children(expr);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) ++accesses[alloc->buffer];
    if (const auto* store = stmt.try_as<ir::Store>()) {
      ++accesses[store->buffer];
      ++stores[store->buffer.root()];
    }
    if (const auto* atomic = stmt.try_as<ir::Atomic>()) ++stores[atomic->buffer.root()];
    if (const auto* copy = stmt.try_as<ir::AsyncCopy>()) ++stores[copy->dst.buffer.root()];
    children(stmt);
  }
};
Uses uses_of(const Stmt& stmt) {
  Uses uses;
  if (stmt) uses.visit(stmt);
  return uses;
}

/// Whether blocks wait for each other in it: what they write then isn't known before.
bool joins_blocks(const Stmt& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const Stmt& s) {
    const auto* sync = s.try_as<ir::Sync>();
    found = found || (sync != nullptr && (sync->code == ir::SyncCode::grid ||
                                          sync->code == ir::SyncCode::cluster_wait));
  });
  return found;
}

std::vector<Stmt> statements_of(const Stmt& body) {
  const auto* seq = body.try_as<ir::Seq>();
  return seq == nullptr ? std::vector<Stmt>{body} : seq->stmts;
}

/// `parallel ... { tile[...] = a value of tensors }`: the tile, or null.
Buffer filled_tile(const Stmt& stmt) {
  const auto* loop = stmt.try_as<ir::Parallel>();
  const auto* store = loop == nullptr ? nullptr : loop->body.try_as<ir::Store>();
  if (store == nullptr || store->buffer->view_of || store->buffer.space() != ir::MemSpace::shared) {
    return {};
  }
  int loads = 0;
  bool others = false;
  ir::for_each_expr(loop->body, [&](const Expr& e) {
    if (const auto* load = e.try_as<ir::Load>()) {
      ++loads;
      others |= !is_tensor(load->buffer.root());
    }
  });
  return loads > 0 && !others ? store->buffer : Buffer();
}

/// What of a loop is loaded ahead.
struct Plan {
  std::vector<Stmt> lets, loads, rest;
  std::set<Buffer, ir::ById> tiles;
};

/// Accesses to tiles as accesses to one of their versions.
class InVersion : public ir::Rewriter {
 public:
  InVersion(const std::map<Buffer, Buffer, ir::ById>& versioned, Expr version)
      : versioned_(versioned), version_(std::move(version)) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& expr) override {
    if (!expr) return expr;
    const Expr next = children(expr);
    const auto* load = next.try_as<ir::Load>();
    if (load == nullptr || !versioned_.contains(load->buffer)) return next;
    return ir::make<ir::Load>(load->loc, [&](ir::Load& n) {
      n = *load;
      n.buffer = versioned_.at(load->buffer);
      n.indices.insert(n.indices.begin(), version_);
    });
  }
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    const Stmt next = children(stmt);
    const auto* store = next.try_as<ir::Store>();
    if (store == nullptr || !versioned_.contains(store->buffer)) return next;
    return ir::make<ir::Store>(store->loc, [&](ir::Store& n) {
      n = *store;
      n.buffer = versioned_.at(store->buffer);
      n.indices.insert(n.indices.begin(), version_);
    });
  }

 private:
  const std::map<Buffer, Buffer, ir::ById>& versioned_;
  Expr version_;
};

class PipelineLoops : public ir::Rewriter {
 public:
  PipelineLoops(const Stmt& launch, Remarks* remarks)
      : launch_(uses_of(launch)), remarks_(remarks) {
    find(launch);
  }
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) return allocate(stmt, *alloc);
    if (stmt.is<ir::While>()) return nested(stmt);
    const auto* loop = stmt.try_as<ir::For>();
    if (loop == nullptr) return children(stmt);
    const auto plan = plans_.find(loop);
    return plan == plans_.end() ? nested(stmt) : pipeline(*loop, plan->second);
  }

 private:
  // ---- plans ----
  void find(const Stmt& launch) {
    ir::for_each_stmt(launch, [&](const Stmt& s) {
      const auto* loop = s.try_as<ir::For>();
      if (loop == nullptr || loop->loop != ir::LoopKind::pipelined) return;
      if (loop->stages < 2) return serial(*loop, "it has one stage");
      if (!loop->stage.empty()) return serial(*loop, "its plan is the author's");
      if (!ir::is_int(loop->lo, 0) || !ir::is_int(loop->step, 1)) {
        return serial(*loop, "it doesn't count from 0 in steps of 1");
      }
      if (joins_blocks(loop->body)) return serial(*loop, "blocks wait for each other in it");
      Plan plan = plan_for(*loop);
      if (plan.loads.empty()) {
        return serial(*loop,
                      "no shared tile is filled by one statement and used here alone, from "
                      "what the loop doesn't write");
      }
      remark_plan(*loop, plan);
      for (const Buffer& tile : plan.tiles) versioned_[tile] = with_versions(tile, loop->stages);
      plans_.emplace(loop, std::move(plan));
    });
  }

  void serial(const ir::For& loop, const char* why) const {
    if (remarks_ == nullptr) return;
    remarks_->add({loop.loc, format("loop over {}: not pipelined", loop.var.name()), why});
  }
  void remark_plan(const ir::For& loop, const Plan& plan) const {
    if (remarks_ == nullptr) return;
    std::vector<std::string> tiles;
    for (const Stmt& s : plan.loads) tiles.push_back(filled_tile(s).name());
    remarks_->add({loop.loc,
                   format("loop over {}: {} in {} versions, loaded {} turns ahead", loop.var.name(),
                          join(tiles, ", "), loop.stages, loop.stages - 1),
                   {}});
  }

  Plan plan_for(const ir::For& loop) const {
    const Uses inside = uses_of(loop.body);
    Plan plan;
    for (const Stmt& s : statements_of(loop.body)) {
      const Buffer tile = filled_tile(s);
      if (tile && is_own(tile, inside)) {
        plan.loads.push_back(s);
        plan.tiles.insert(tile);
      } else if (s.is<ir::Let>() && !ir::has_load(s.as<ir::Let>().value)) {
        plan.lets.push_back(s);
      } else {
        plan.rest.push_back(s);
      }
    }
    return reads_what_it_writes(plan) ? Plan() : plan;
  }

  /// Whether the tile is filled by one statement and used in this loop alone, element by element.
  bool is_own(const Buffer& tile, const Uses& inside) const {
    const auto count = [&](const std::map<Buffer, int, ir::ById>& of) {
      const auto found = of.find(tile);
      return found == of.end() ? 0 : found->second;
    };
    const int outside = count(launch_.mentions) - count(inside.mentions);
    return count(inside.stores) == 1 && !launch_.viewed.contains(tile) &&
           count(launch_.mentions) == count(launch_.accesses) && outside <= 1;
  }

  /// Loads ahead of their time must not see what the loop itself is still to write.
  bool reads_what_it_writes(const Plan& plan) const {
    Uses writes;
    for (const Stmt& s : plan.rest) writes.visit(s);
    for (const Stmt& s : plan.loads) {
      bool found = false;
      ir::for_each_expr(s, [&](const Expr& e) {
        const auto* load = e.try_as<ir::Load>();
        found |= load != nullptr && writes.stores.contains(load->buffer.root());
        // A binding that stays behind.
        found |= e.is<ir::VarNode>() &&
                 std::any_of(plan.rest.begin(), plan.rest.end(), [&](const Stmt& other) {
                   const auto* let = other.try_as<ir::Let>();
                   return let != nullptr && let->var.same_as(e);
                 });
      });
      if (found) return true;
    }
    return false;
  }

  static Buffer with_versions(const Buffer& tile, int64_t versions) {
    return ir::make<ir::BufferNode>(tile.loc(), [&](ir::BufferNode& n) {
      n = *tile.get();
      n.shape.insert(n.shape.begin(), ir::index(versions));
      n.relaxed = true;  // the pass itself orders its accesses
    });
  }

  // ---- the loop ----
  Stmt allocate(const Stmt& stmt, const ir::Alloc& alloc) {
    const auto found = versioned_.find(alloc.buffer);
    if (found != versioned_.end()) return ir::alloc(found->second);
    return stmt;
  }
  Stmt nested(const Stmt& stmt) {
    ++loops_;
    const Stmt next = children(stmt);
    --loops_;
    return next;
  }

  static Stmt sync(ir::SyncCode code, SourceLoc where, Expr value = {}) {
    return ir::make<ir::Sync>(where, [&](ir::Sync& n) {
      n.code = code;
      n.value = std::move(value);
    });
  }

  /// The loads of a turn, if there is such a turn.
  Stmt loads_of(const ir::For& loop, const Plan& plan, const Expr& turn) const {
    std::vector<Stmt> stmts = plan.lets;
    for (const Stmt& s : plan.loads) {
      stmts.push_back(ir::make<ir::Parallel>(s.loc(), [&](ir::Parallel& n) {
        n = s.as<ir::Parallel>();
        n.prefer_async = true;
      }));
    }
    const Stmt body =
        ir::substitute(ir::with_fresh_bindings(ir::seq(std::move(stmts))), {{loop.var, turn}});
    const Expr version = ir::floormod(turn, ir::index(loop.stages));
    return ir::if_(ir::lt(turn, loop.hi), InVersion(versioned_, version).rewrite(body));
  }

  Stmt pipeline(const ir::For& loop, const Plan& plan) {
    using ir::SyncCode;
    const SourceLoc where = loop.loc;
    const int64_t ahead = loop.stages - 1;
    std::vector<Stmt> out, turn;
    // Tiles that the body made are made before it.
    std::vector<Stmt> rest = plan.lets;
    for (const Stmt& s : plan.rest) {
      const auto* alloc = s.try_as<ir::Alloc>();
      if (alloc != nullptr && plan.tiles.contains(alloc->buffer)) {
        out.push_back(allocate(s, *alloc));
      } else {
        rest.push_back(s);
      }
    }
    if (loops_ > 0) out.push_back(ir::barrier(where, "the tiles of the loop before are free"));
    for (int64_t i = 0; i < ahead; ++i) {
      out.push_back(loads_of(loop, plan, ir::index(i)));
      out.push_back(sync(SyncCode::copies_commit, where));
    }
    turn.push_back(sync(SyncCode::copies_wait, where, ir::index(ahead - 1)));
    turn.push_back(ir::barrier(where, "this turn's tiles are here, the last turn's are free"));
    turn.push_back(loads_of(loop, plan, ir::add(loop.var, ir::index(ahead))));
    turn.push_back(sync(SyncCode::copies_commit, where));
    const Expr version = ir::floormod(loop.var, ir::index(loop.stages));
    ++loops_;
    turn.push_back(InVersion(versioned_, version).rewrite(rewrite(ir::seq(std::move(rest)))));
    --loops_;
    out.push_back(ir::make<ir::For>(where, [&](ir::For& n) {
      n = loop;
      n.loop = ir::LoopKind::serial;
      n.stages = 0;
      n.body = ir::seq(std::move(turn));
    }));
    return ir::seq(std::move(out));
  }

  Uses launch_;
  Remarks* remarks_;
  std::map<const ir::For*, Plan> plans_;
  std::map<Buffer, Buffer, ir::ById> versioned_;
  int loops_ = 0;  // around the present statement
};

}  // namespace

ir::Program pipeline_loops(const ir::Program& program, Remarks* remarks) {
  ir::Program result = program;
  for (Stmt& launch : result.launches) launch = PipelineLoops(launch, remarks).rewrite(launch);
  return result;
}

}  // namespace tw::pass
