#include "tilewright/pass/access.h"

#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

/// Finds the accesses of one statement: loads in its own expressions, then its regions and stores.
class Finder {
 public:
  Finder(const Stmt& stmt, const std::function<void(const Access&)>& f) : stmt_(stmt), f_(f) {}

  void run() {
    ir::dispatch(*stmt_.get(), [&]<class T>(const T& node) {
      T::visit_fields(node, [&](const char*, const auto& field) { loads(field); });
      if constexpr (std::is_base_of_v<ir::StmtBase, T>) own(node);
    });
  }

 private:
  // ---- loads ----
  void loads(const Expr& e) {
    if (!e) return;
    if (const auto* load = e.try_as<ir::Load>()) {
      for (const Expr& i : load->indices) loads(i);
      element(Access::Kind::read, load->buffer, load->indices, e.loc(), load->unchecked);
      return;
    }
    const auto* op = e.try_as<ir::Op>();
    if (op != nullptr && ir::is_lazy(op->code)) {
      loads(op->args[0]);
      const Expr outside = when_, no = ir::lnot(op->args[0]);
      for (size_t i = 1; i < op->args.size(); ++i) {
        const bool if_false = op->code == ir::OpCode::lor || i == 2;
        when_ = ir::land(outside, if_false ? no : op->args[0]);
        loads(op->args[i]);
      }
      when_ = outside;
    } else if (op != nullptr) {
      for (const Expr& arg : op->args) loads(arg);
    } else if (const auto* cast = e.try_as<ir::Cast>()) {
      loads(cast->value);
      loads(cast->rbits);
    }
  }
  void loads(const ir::Var&) {}
  void loads(const ir::Region& r) {
    loads(r.begin);
    loads(r.extent);
  }
  template <class T>
  void loads(const std::vector<T>& list) {
    for (const auto& item : list) loads(item);
  }
  template <class T>
  void loads(const T&) {}

  // ---- what each statement touches ----
  template <class T>
  void own(const T&) {}
  void own(const ir::Alloc& n) {
    if (n.initial) element(Access::Kind::write, n.buffer, {}, n.loc);
  }
  void own(const ir::Store& n) {
    element(Access::Kind::write, n.buffer, n.indices, n.loc, n.unchecked);
  }
  void own(const ir::Copy& n) {
    region(Access::Kind::read, n.src);
    region(Access::Kind::write, n.dst);
  }
  void own(const ir::Fill& n) { region(Access::Kind::write, n.dst); }
  void own(const ir::Gemm& n) {
    region(Access::Kind::read, n.a);
    region(Access::Kind::read, n.b);
    // A clear flag known at run time only is assumed to be right (language 3.4).
    if (!n.clear || ir::is_false(n.clear)) region(Access::Kind::read, n.c);
    region(Access::Kind::write, n.c);
  }
  void own(const ir::Reduce& n) {
    region(Access::Kind::read, n.src);
    if (!n.clear) region(Access::Kind::read, n.dst);
    region(Access::Kind::write, n.dst);
  }
  void own(const ir::Scan& n) {
    region(Access::Kind::read, n.src);
    region(Access::Kind::write, n.dst);
  }
  void own(const ir::ReducerFinalize& n) { region(Access::Kind::write, n.dst); }
  void own(const ir::ReducerUpdate& n) {
    atomic_ = true;
    element(Access::Kind::write, n.reducer, n.indices, n.loc);
  }
  void own(const ir::Atomic& n) {
    atomic_ = true;
    if (n.op != ir::AtomicOp::store) element(Access::Kind::read, n.buffer, n.indices, n.loc);
    if (!ir::only_reads(n.op)) element(Access::Kind::write, n.buffer, n.indices, n.loc);
  }
  void own(const ir::AsyncCopy& n) {
    region(Access::Kind::read, n.src);
    region(Access::Kind::write, n.dst);
  }
  void own(const ir::Print& n) {
    if (n.buffer) region(Access::Kind::read, ir::Region::whole(n.buffer));
  }

  void element(Access::Kind kind, const ir::Buffer& buffer, const std::vector<Expr>& indices,
               SourceLoc where, bool unchecked = false) {
    emit(kind, buffer, indices, std::vector<Expr>(indices.size(), ir::index(1)), where, unchecked);
  }
  void region(Access::Kind kind, const ir::Region& r) {
    emit(kind, r.buffer, r.begin, r.extent, stmt_.loc(), r.unchecked);
  }
  void emit(Access::Kind kind, const ir::Buffer& buffer, std::vector<Expr> begin,
            std::vector<Expr> extent, SourceLoc where, bool unchecked) {
    f_({kind, buffer, std::move(begin), std::move(extent), atomic_, unchecked, when_, stmt_,
        where.known() ? where : stmt_.loc()});
  }

  const Stmt& stmt_;
  const std::function<void(const Access&)>& f_;
  bool atomic_ = false;
  Expr when_;
};

bool is_positive(const Expr& lo, const Expr& hi) {
  const auto a = ir::as_int(lo), b = ir::as_int(hi);
  return a && b && *a < *b;
}

}  // namespace

void for_each_access(const Stmt& stmt, const std::function<void(const Access&)>& f) {
  Finder(stmt, f).run();
}

std::string to_text(const Access& access) {
  const bool is_element = std::all_of(access.extent.begin(), access.extent.end(),
                                      [](const Expr& e) { return ir::is_int(e, 1); });
  if (is_element) return print(ir::load(access.buffer, access.begin));
  ir::Region region;
  region.buffer = access.buffer;
  region.begin = access.begin;
  region.extent = access.extent;
  return print(region);
}

std::string first_line(const Stmt& stmt) {
  std::string text = print(stmt);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with(" {")) text.resize(text.size() - 2);
  return text;
}

std::string described(const ir::Buffer& buffer) {
  std::vector<std::string> extents;
  for (const Expr& e : buffer.shape()) extents.push_back(print(e));
  const std::string shape = extents.empty() ? "" : "[" + join(extents, ", ") + "]";
  return format("{} is {}{} {}", buffer.name(), buffer.dtype(), shape,
                ir::enum_name(buffer.space()));
}

// ---- the walk ----

void AccessWalk::run(const ir::Program& program) {
  bounds_ = Bounds(program);
  for (const Stmt& launch : program.launches) walk(launch);
}

void AccessWalk::body(const Stmt& loop, std::vector<ir::Var> vars, bool constant,
                      const Stmt& stmt) {
  if (!constant) ++conditions_;
  loops_.push_back({loop, std::move(vars), constant, conditions_});
  on_loop(loop, true);
  walk(stmt);
  on_loop(loop, false);
  loops_.pop_back();
  if (!constant) --conditions_;
}

void AccessWalk::walk(const Stmt& stmt) {
  if (!stmt) return;
  if (const auto* seq = stmt.try_as<ir::Seq>()) {
    for (const Stmt& s : seq->stmts) walk(s);
    return;
  }
  on_stmt(stmt);
  for_each_access(stmt, [&](const Access& access) { on_access(access); });
  if (const auto* let = stmt.try_as<ir::Let>()) bounds_.bind_value(let->var, let->value);
  if (const auto* fact = stmt.try_as<ir::Assume>()) bounds_.assume(fact->cond);
  const Bounds::Scope scope(bounds_);
  if (const auto* launch = stmt.try_as<ir::Launch>()) {
    bind_launch(bounds_, *launch);
    walk(launch->body);
  } else if (const auto* loop = stmt.try_as<ir::For>()) {
    const auto step = ir::as_int(loop->step);
    if (step && *step > 0) bounds_.bind(loop->var, loop->lo, loop->hi, *step);
    body(stmt, {loop->var}, is_positive(loop->lo, loop->hi) && step == 1, loop->body);
  } else if (const auto* box = stmt.try_as<ir::Parallel>()) {
    bool constant = true;
    for (size_t d = 0; d < box->vars.size(); ++d) {
      bounds_.bind(box->vars[d], ir::index(0), box->extents[d]);
      constant = constant && is_positive(ir::index(0), box->extents[d]);
    }
    body(stmt, box->vars, constant, box->body);
  } else if (const auto* repeat = stmt.try_as<ir::While>()) {
    body(stmt, {}, false, repeat->body);
  } else if (const auto* branch = stmt.try_as<ir::If>()) {
    ++conditions_;
    for (const bool holds : {true, false}) {
      const Bounds::Scope inner(bounds_);
      bounds_.assume(branch->cond, holds);
      walk(holds ? branch->then_body : branch->else_body);
    }
    --conditions_;
  }
}

Box AccessWalk::box(const Access& access, bool clip) const {
  Box box;
  for (size_t d = 0; d < access.begin.size(); ++d) {
    const ValueSet begin = bounds_.values(access.begin[d]);
    const ValueSet last = begin + bounds_.values(access.extent[d]) + ValueSet::constant(-1);
    box.lo.push_back(begin.lo);
    box.hi.push_back(last.hi);
    const auto extent = ir::as_int(access.buffer.shape()[d]);
    if (!clip) continue;
    box.lo[d] = std::max<int64_t>(box.lo[d], 0);
    if (extent) box.hi[d] = std::min(box.hi[d], *extent - 1);
  }
  return box;
}

bool AccessWalk::touches_all(const Access& access) const {
  if (access.when) return false;
  std::vector<ir::Var> used;
  for (size_t d = 0; d < access.begin.size(); ++d) {
    if (!ir::as_int(access.extent[d])) return false;
    const Linear begin = bounds_.linear(access.begin[d]);
    if (begin.is_constant()) continue;
    if (begin.terms.size() != 1 || begin.terms[0].coefficient != 1 || begin.overflowed)
      return false;
    if (!begin.terms[0].expr.is<ir::VarNode>()) return false;
    used.push_back(ir::Var::of(begin.terms[0].expr));
  }
  size_t found = 0;
  for (const Loop& loop : loops_) {  // the outermost that is used decides about conditions
    for (const ir::Var& var : loop.vars) {
      const auto uses =
          std::count_if(used.begin(), used.end(), [&](const ir::Var& u) { return u.same_as(var); });
      if (uses > 1 ||
          (uses == 1 && (!loop.constant || (found == 0 && loop.conditions != conditions_)))) {
        return false;
      }
      found += static_cast<size_t>(uses);
    }
  }
  return found == used.size();
}

}  // namespace tw::pass
