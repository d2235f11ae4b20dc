#include "tilewright/pass/thread/insert_fences.h"

#include <set>
#include <utility>
#include <vector>

#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Stmt;
using Roots = std::set<Buffer, ir::ById>;

bool is_bulk(const Stmt& stmt) {
  const auto* copy = stmt.try_as<ir::AsyncCopy>();
  return copy != nullptr && copy->engine != ir::CopyEngine::elements;
}

/// Whether it tells other threads, or an engine, that something is written.
bool publishes(const Stmt& stmt) {
  if (const auto* warp = stmt.try_as<ir::WarpOp>()) return warp->code == ir::WarpCode::sync_warp;
  if (const auto* sync = stmt.try_as<ir::Sync>()) {
    return sync->code == ir::SyncCode::phase_arrive ||
           sync->code == ir::SyncCode::phase_arrive_expect || sync->code == ir::SyncCode::grid ||
           sync->code == ir::SyncCode::cluster_arrive;
  }
  // Results of the block come with barriers, which later passes put in.
  const auto* atomic = stmt.try_as<ir::Atomic>();
  return stmt.is<ir::Barrier>() || is_bulk(stmt) || stmt.is<ir::Reduce>() || stmt.is<ir::Scan>() ||
         stmt.is<ir::ReducerFinalize>() || (atomic != nullptr && atomic->result);
}

class InsertFences {
 public:
  explicit InsertFences(const Stmt& launch) {
    ir::for_each_stmt(launch, [&](const Stmt& s) {
      if (!is_bulk(s)) return;
      engines_.insert(s.as<ir::AsyncCopy>().src.buffer.root());
      engines_.insert(s.as<ir::AsyncCopy>().dst.buffer.root());
    });
  }
  bool has_work() const { return !engines_.empty(); }

  Stmt block(const Stmt& stmt) {
    std::vector<Stmt> out;
    add(stmt, out);
    return ir::seq(std::move(out));
  }

 private:
  void wrote(const Buffer& buffer) {
    if (engines_.contains(buffer.root())) unfenced_.insert(buffer.root());
  }
  void note(const Stmt& stmt) {
    ir::for_each_stmt(stmt, [&](const Stmt& s) {
      if (const auto* store = s.try_as<ir::Store>()) wrote(store->buffer);
      if (const auto* atomic = s.try_as<ir::Atomic>()) wrote(atomic->buffer);
      if (const auto* copy = s.try_as<ir::AsyncCopy>(); copy != nullptr && !is_bulk(s)) {
        wrote(copy->dst.buffer);
        copied_.insert(copy->dst.buffer.root());
      }
      if (const auto* loop = s.try_as<ir::Parallel>(); loop != nullptr && loop->prefer_async) {
        ir::for_each_stmt(loop->body, [&](const Stmt& inner) {
          if (const auto* store = inner.try_as<ir::Store>()) copied_.insert(store->buffer.root());
        });
      }
      if (const auto* sync = s.try_as<ir::Sync>()) {
        if (sync->code != ir::SyncCode::copies_wait) return;
        for (const Buffer& root : copied_) wrote(root);
      }
    });
  }

  void add(const Stmt& stmt, std::vector<Stmt>& out) {
    if (!stmt) return;
    switch (stmt.kind()) {
      case ir::Kind::Seq: {
        std::vector<Stmt> inner;
        for (const Stmt& s : stmt.as<ir::Seq>().stmts) add(s, inner);
        out.push_back(ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& s) { s.stmts = inner; }));
        return;
      }
      case ir::Kind::For:
        out.push_back(ir::make<ir::For>(stmt.loc(), [&](ir::For& n) {
          n = stmt.as<ir::For>();
          n.body = repeated(n.body);
        }));
        return;
      case ir::Kind::While:
        out.push_back(ir::make<ir::While>(stmt.loc(), [&](ir::While& n) {
          n = stmt.as<ir::While>();
          n.body = repeated(n.body);
        }));
        return;
      case ir::Kind::If: {
        const auto& branch = stmt.as<ir::If>();
        const Roots before = unfenced_;
        const Stmt then_body = block(branch.then_body);
        const Roots after = std::exchange(unfenced_, before);
        const Stmt else_body = branch.else_body ? block(branch.else_body) : Stmt();
        unfenced_.insert(after.begin(), after.end());
        out.push_back(ir::make<ir::If>(stmt.loc(), [&](ir::If& n) {
          n.cond = branch.cond;
          n.then_body = then_body;
          n.else_body = else_body;
        }));
        return;
      }
      case ir::Kind::Break:
      case ir::Kind::Continue:
        jumps_.insert(unfenced_.begin(), unfenced_.end());
        out.push_back(stmt);
        return;
      default:
        if (publishes(stmt) && !unfenced_.empty()) {
          out.push_back(ir::make<ir::Sync>(
              stmt.loc(), [](ir::Sync& n) { n.code = ir::SyncCode::fence_engines; }));
          unfenced_.clear();
        }
        note(stmt);
        out.push_back(stmt);
    }
  }

  /// A body that runs again after itself, or not at all, and that jumps may leave.
  Stmt repeated(const Stmt& body) {
    const Roots before = unfenced_, outside = std::exchange(jumps_, {});
    const auto turn = [&] {
      const Stmt result = block(body);
      unfenced_.insert(before.begin(), before.end());
      unfenced_.insert(jumps_.begin(), jumps_.end());
      return result;
    };
    turn();
    const Stmt result = turn();
    jumps_ = outside;
    return result;
  }

  Roots engines_, copied_, unfenced_;
  Roots jumps_;  // not fenced where a jump leaves a turn of the loop around
};

}  // namespace

ir::Program insert_fences(const ir::Program& program) {
  if (ir::option(program, "auto_sync") == "off") return program;
  ir::Program result = program;
  for (Stmt& launch : result.launches) {
    InsertFences fences(launch);
    if (!fences.has_work()) continue;
    launch = ir::make<ir::Launch>(launch.loc(), [&](ir::Launch& n) {
      n = launch.as<ir::Launch>();
      n.body = fences.block(n.body);
    });
  }
  return result;
}

}  // namespace tw::pass
