#include "tilewright/pass/simplify_unused.h"

#include <unordered_set>

#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

/// Counts uses of variables, and of buffers by root: `reads` are those that make a difference.
class CountUses : public ir::Visitor {
 public:
  std::unordered_map<const ir::ExprBase*, VarUse> vars;
  std::unordered_set<const ir::BufferNode*> read;

  using Visitor::visit;
  void visit(const Expr& expr) override {
    if (!expr.is<ir::VarNode>()) return children(expr);
    VarUse& use = vars[expr.get()];
    ++use.count;
    const auto bound = depth_of_.find(expr.get());
    use.in_deeper_loop |= bound == depth_of_.end() || depth_ > bound->second;
    use.in_declaration |= in_declaration_;
  }
  void visit(const Stmt& stmt) override {
    switch (stmt.kind()) {
      case ir::Kind::Let:
        depth_of_[stmt.as<ir::Let>().var.get()] = depth_;
        return children(stmt);
      case ir::Kind::For: {  // its bounds are looked at once
        const auto& loop = stmt.as<ir::For>();
        for (const Expr* e : {&loop.lo, &loop.hi, &loop.step}) visit(*e);
        ++depth_;
        visit(loop.body);
        --depth_;
        return;
      }
      case ir::Kind::Launch:
      case ir::Kind::Parallel:
      case ir::Kind::While:
        ++depth_;
        children(stmt);
        --depth_;
        return;
      case ir::Kind::Alloc: {
        const auto& alloc = stmt.as<ir::Alloc>();
        declare(alloc.buffer);
        if (alloc.initial) visit(alloc.initial);
        return;
      }
      case ir::Kind::Store: {
        const auto& store = stmt.as<ir::Store>();
        written_ = store.buffer;
        return children(stmt);
      }
      case ir::Kind::Fill:
        written_ = stmt.as<ir::Fill>().dst.buffer;
        return children(stmt);
      default:
        return children(stmt);
    }
  }
  void visit(const ir::Buffer& buffer) override {
    declare(buffer);
    if (written_.same_as(buffer)) {
      written_ = {};  // each statement names what it writes once, before what it reads
    } else {
      read.insert(buffer.root().get());
    }
  }

 private:
  /// Variables in a declaration count once.
  void declare(const ir::Buffer& buffer) {
    if (!declared_.insert(buffer.get()).second) return;
    const bool outer = in_declaration_;
    in_declaration_ = true;
    for (const auto* list : {&buffer->shape, &buffer->strides}) {
      for (const Expr& e : *list) visit(e);
    }
    for (const Expr* e : {&buffer->offset, &buffer->address, &buffer->peer, &buffer->safe_value}) {
      if (*e) visit(*e);
    }
    in_declaration_ = outer;
    if (buffer->view_of) declare(buffer->view_of);
  }

  int depth_ = 0;
  bool in_declaration_ = false;
  ir::Buffer written_;
  std::unordered_map<const ir::ExprBase*, int> depth_of_;
  std::unordered_set<const ir::BufferNode*> declared_;
};

class RemoveUnused : public ir::Rewriter {
 public:
  explicit RemoveUnused(const CountUses& uses) : uses_(uses) {}
  bool changed = false;

  using Rewriter::rewrite;
  Expr rewrite(const Expr& expr) override { return expr; }
  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (is_unused(stmt)) {
      changed = true;
      return ir::seq({});
    }
    if (const auto* loop = stmt.try_as<ir::For>(); loop != nullptr && has_plan(*loop)) {
      planned_ = loop->body;
    }
    const auto* seq = stmt.try_as<ir::Seq>();
    if (seq == nullptr) return children(stmt);
    const bool in_place = planned_.same_as(stmt);
    std::vector<Stmt> next;
    bool same = true;
    for (const Stmt& s : seq->stmts) {
      Stmt now = rewrite(s);
      same = same && now.same_as(s);
      const bool keeps_place = now.same_as(s) || (in_place && is_counted(s));
      if (keeps_place || !ir::is_empty(now)) next.push_back(std::move(now));
    }
    if (same) return stmt;
    if (!in_place) return ir::seq(std::move(next));
    return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(next); });
  }

 protected:
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override { return buffer; }

 private:
  bool is_unread(const ir::Buffer& buffer) const {
    const ir::Buffer root = buffer.root();
    return root.space() != ir::MemSpace::global && root.space() != ir::MemSpace::workspace &&
           !root->address && !uses_.read.contains(root.get());
  }
  bool is_unused(const Stmt& stmt) const {
    if (const auto* let = stmt.try_as<ir::Let>()) return !uses_.vars.contains(let->var.get());
    if (const auto* alloc = stmt.try_as<ir::Alloc>()) return is_unread(alloc->buffer);
    if (const auto* store = stmt.try_as<ir::Store>()) return is_unread(store->buffer);
    if (const auto* fill = stmt.try_as<ir::Fill>()) return is_unread(fill->dst.buffer);
    return false;
  }

  const CountUses& uses_;
  Stmt planned_;  // the body of a loop with a plan
};

}  // namespace

VarUses::VarUses(const ir::Program& program) {
  CountUses count;
  count.visit(program);
  uses_ = std::move(count.vars);
}

VarUse VarUses::of(const ir::Var& var) const {
  const auto use = uses_.find(var.get());
  return use == uses_.end() ? VarUse() : use->second;
}

ir::Program remove_unused(ir::Program program) {
  for (bool again = true; again;) {  // what only removed things used goes in the next round
    CountUses uses;
    uses.visit(program);
    RemoveUnused remove(uses);
    for (Stmt& launch : program.launches) launch = remove.rewrite(launch);
    again = remove.changed;
  }
  return program;
}

}  // namespace tw::pass
