#include "tilewright/pass/thread/forward_loads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

/// How often each buffer is read and written in a program, by statements.
struct Census : ir::Visitor {
  std::map<Buffer, int, ir::ById> reads, writes;
  std::set<Buffer, ir::ById> viewed;
  using Visitor::visit;
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) ++reads[load->buffer];
    children(expr);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* alloc = stmt.try_as<ir::Alloc>(); alloc != nullptr && alloc->buffer->view_of) {
      viewed.insert(alloc->buffer.root());
    }
    if (const auto* store = stmt.try_as<ir::Store>()) ++writes[store->buffer.root()];
    if (const auto* atomic = stmt.try_as<ir::Atomic>()) ++writes[atomic->buffer.root()];
    if (const auto* copy = stmt.try_as<ir::AsyncCopy>()) ++writes[copy->dst.buffer.root()];
    if (const auto* reduce = stmt.try_as<ir::Reduce>()) {
      ++reads[reduce->src.buffer];
      ++writes[reduce->dst.buffer.root()];
    }
    if (const auto* scan = stmt.try_as<ir::Scan>()) ++writes[scan->dst.buffer.root()];
    if (const auto* end = stmt.try_as<ir::ReducerFinalize>()) ++writes[end->dst.buffer.root()];
    if (const auto* print = stmt.try_as<ir::Print>(); print != nullptr && print->buffer) {
      reads[print->buffer] += 2;
    }
    children(stmt);
  }
};

/// `parallel x... { F[x...] = tensor[...] }`.
struct Filling {
  const ir::Parallel* loop;
  const ir::Store* store;
};

class ForwardLoads : public ir::Rewriter {
 public:
  explicit ForwardLoads(const ir::Program& program) { census_.visit(program); }
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& stmt) override {
    const auto* seq = stmt.try_as<ir::Seq>();
    if (seq == nullptr) return stmt ? children(stmt) : stmt;
    std::vector<Stmt> list = seq->stmts;
    bool changed = false;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto filling = filling_of(list[i]);
      if (!filling) continue;
      const size_t use = reader_after(list, i, filling->store->buffer);
      if (use == list.size() || !as_many(*filling->loop, list[use].as<ir::Parallel>())) continue;
      list[use] = with_value(list[use], *filling);
      list[i] = ir::seq({});
      changed = true;
    }
    if (!changed) return children(stmt);
    return children(ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& s) { s.stmts = std::move(list); }));
  }

 private:
  std::optional<Filling> filling_of(const Stmt& stmt) {
    const auto* loop = stmt.try_as<ir::Parallel>();
    const auto* store = loop == nullptr ? nullptr : loop->body.try_as<ir::Store>();
    const auto* load = store == nullptr ? nullptr : store->value.try_as<ir::Load>();
    if (load == nullptr || !loop->layout.empty()) return std::nullopt;
    const Buffer &to = store->buffer, &from = load->buffer;
    if (to.space() != ir::MemSpace::fragment || to->view_of || census_.viewed.contains(to) ||
        census_.writes[to] != 1 || census_.reads[to] != 1) {
      return std::nullopt;
    }
    if (from.space() != ir::MemSpace::global || from->address || from->may_alias ||
        census_.writes.contains(from.root())) {
      return std::nullopt;
    }
    if (store->indices.size() != loop->vars.size()) return std::nullopt;
    for (size_t d = 0; d < loop->vars.size(); ++d) {
      if (!store->indices[d].same_as(loop->vars[d])) return std::nullopt;
    }
    return Filling{loop, store};
  }

  /// The loop that reads the buffer, if only fillings and allocations stand before it.
  size_t reader_after(const std::vector<Stmt>& list, size_t i, const Buffer& buffer) {
    for (size_t k = i + 1; k < list.size(); ++k) {
      if (list[k].is<ir::Alloc>() || ir::is_empty(list[k])) continue;
      if (!list[k].is<ir::Parallel>()) break;
      bool reads = false;
      ir::for_each_expr(list[k], [&](const Expr& e) {
        const auto* load = e.try_as<ir::Load>();
        reads = reads || (load != nullptr && load->buffer.same_as(buffer));
      });
      if (reads) return k;
      if (!filling_of(list[k]) && !stays_in_registers(list[k])) break;
    }
    return list.size();
  }

  static bool stays_in_registers(const Stmt& loop) {
    bool stays = true;
    const auto look = [&](const Buffer& b) {
      const ir::MemSpace space = b.root().space();
      stays = stays && (space == ir::MemSpace::fragment || space == ir::MemSpace::local ||
                        space == ir::MemSpace::variable);
    };
    ir::for_each_stmt(loop, [&](const Stmt& s) {
      if (const auto* store = s.try_as<ir::Store>()) look(store->buffer);
      stays = stays && !s.is<ir::Atomic>() && !s.is<ir::Print>();
    });
    ir::for_each_expr(loop, [&](const Expr& e) {
      if (const auto* load = e.try_as<ir::Load>()) look(load->buffer);
    });
    return stays;
  }

  static bool as_many(const ir::Parallel& a, const ir::Parallel& b) {
    const auto size = [](const ir::Parallel& n) {
      int64_t product = 1;
      for (const Expr& e : n.extents) product *= *ir::as_int(e);
      return product;
    };
    return size(a) == size(b);
  }

  static Stmt with_value(const Stmt& loop, const Filling& filling) {
    return ir::rewrite(loop, [&](auto& self, const ir::Load& n) -> Expr {
      if (!n.buffer.same_as(filling.store->buffer)) return self.rebuild(n);
      ir::Substitution values;
      for (size_t d = 0; d < n.indices.size(); ++d) {
        values[filling.loop->vars[d]] = self(n.indices[d]);
      }
      return ir::substitute(filling.store->value, values);
    });
  }

  Census census_;
};

}  // namespace

ir::Program forward_loads(const ir::Program& program) {
  return ForwardLoads(program).rewrite(program);
}

}  // namespace tw::pass
