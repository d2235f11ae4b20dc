#include "tilewright/pass/check_race.h"

#include <map>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::OpCode;
using ir::Stmt;
using Value = std::optional<int64_t>;

/// The values of the indices, and of what is computed from them, in one iteration. What is not in
/// it is the same in all iterations; what has no value differs in an unknown way.
class Environment {
 public:
  void set(const ir::Var& var, Value value) { values_[var] = value; }

  Value eval(const Expr& e) const {
    if (const Value constant = ir::as_int(e)) return constant;
    if (e.is<ir::VarNode>()) {
      const auto it = values_.find(ir::Var::of(e));
      return it == values_.end() ? std::nullopt : it->second;
    }
    if (const auto* cast = e.try_as<ir::Cast>()) {
      const Value value = cast->value.dtype().is_float() ? std::nullopt : eval(cast->value);
      if (!value || !e.dtype().is_int()) return std::nullopt;
      return ir::as_int(ir::int_const(e.dtype(), *value));
    }
    const auto* op = e.try_as<ir::Op>();
    return op == nullptr ? std::nullopt : eval(*op);
  }
  /// Whether all iterations agree about it; `written` are the buffers that the loop writes.
  bool is_same_for_all(const Expr& e, const std::set<ir::Buffer, ir::ById>& written) const {
    return !ir::contains(e, [&](const Expr& part) {
      if (const auto* load = part.try_as<ir::Load>()) return written.contains(load->buffer.root());
      return part.is<ir::VarNode>() && values_.contains(ir::Var::of(part));
    });
  }

 private:
  Value eval(const ir::Op& op) const {
    if (op.args[0].dtype().is_float()) return std::nullopt;
    const Value a = eval(op.args[0]);
    if (op.code == OpCode::land || op.code == OpCode::lor) {
      const bool decisive = op.code == OpCode::lor;
      const Value b = eval(op.args[1]);
      if ((a && (*a != 0) == decisive) || (b && (*b != 0) == decisive)) return decisive ? 1 : 0;
      return a && b ? Value(decisive ? 0 : 1) : std::nullopt;
    }
    if (op.code == OpCode::select || op.code == OpCode::if_else) {
      return a ? eval(op.args[*a != 0 ? 1 : 2]) : std::nullopt;
    }
    if (op.code == OpCode::lnot) return a ? Value(*a == 0 ? 1 : 0) : std::nullopt;
    if (op.args.size() != 2 || !a) return std::nullopt;
    const Value b = eval(op.args[1]);
    if (!b) return std::nullopt;
    const bool divides = op.code == OpCode::floordiv || op.code == OpCode::floormod ||
                         op.code == OpCode::truncdiv || op.code == OpCode::truncmod;
    if (divides && *b == 0) return std::nullopt;
    switch (op.code) {
      case OpCode::eq:
        return *a == *b;
      case OpCode::ne:
        return *a != *b;
      case OpCode::lt:
        return *a < *b;
      case OpCode::le:
        return *a <= *b;
      case OpCode::gt:
        return *a > *b;
      case OpCode::ge:
        return *a >= *b;
      default:
        return apply(op.code, op.args[0].dtype(), ValueSet::constant(*a), ValueSet::constant(*b))
            .single();
    }
  }

  std::map<ir::Var, Value, ir::ById> values_;
};

/// Who touched an element, as far as it matters: the first to write it plainly, and two different
/// iterations that touched it at all.
struct Toucher {
  std::vector<int64_t> iteration;
  const Access* access;
};
struct Element {
  std::optional<Toucher> writer, first, second;
};

constexpr int64_t kSymbolicExtent = 4, kMaxIterations = 1 << 14;
constexpr int kMaxSteps = 1 << 18;

class ParallelLoop {
 public:
  explicit ParallelLoop(const ir::Parallel& loop) : loop_(loop) {
    ir::for_each_stmt(loop.body, [&](const Stmt& s) {
      if (const auto* alloc = s.try_as<ir::Alloc>()) private_.insert(alloc->buffer.root());
      for_each_access(s, [&](const Access& a) {
        if (a.kind == Access::Kind::write) written_.insert(a.buffer.root());
      });
    });
  }

  /// The first conflict, if there is one: the two accesses.
  std::optional<std::pair<Toucher, Toucher>> conflict() {  // points into this object
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (const Expr& e : loop_.extents) extents.push_back(ir::as_int(e).value_or(kSymbolicExtent));
    for (const int64_t extent : extents) count *= std::min(extent, kMaxIterations);
    while (count > kMaxIterations) {
      int64_t& longest = *std::max_element(extents.begin(), extents.end());
      longest = (longest + 1) / 2;
      count = 1;
      for (const int64_t extent : extents) count *= extent;
    }
    iteration_.assign(extents.size(), 0);
    for (int64_t i = 0; i < count && steps_ < kMaxSteps && !found_; ++i) {
      int64_t rest = i;
      for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
        iteration_[d] = rest % extents[d];
        env_.set(loop_.vars[d], iteration_[d]);
      }
      run(loop_.body);
    }
    return found_;
  }

 private:
  void run(const Stmt& stmt) {
    if (!stmt || found_ || ++steps_ > kMaxSteps) return;
    if (const auto* seq = stmt.try_as<ir::Seq>()) {
      for (const Stmt& s : seq->stmts) run(s);
      return;
    }
    for (const Indexed& indexed : accesses(stmt)) touch(indexed);
    if (const auto* let = stmt.try_as<ir::Let>()) {
      const Value value = let->var.dtype().is_int() || let->var.dtype().is_bool()
                              ? env_.eval(let->value)
                              : std::nullopt;
      if (value || !env_.is_same_for_all(let->value, written_)) env_.set(let->var, value);
    } else if (const auto* atomic = stmt.try_as<ir::Atomic>(); atomic && atomic->result) {
      env_.set(atomic->result, std::nullopt);
    } else if (const auto* branch = stmt.try_as<ir::If>()) {
      run_branch(*branch);
    } else if (const auto* loop = stmt.try_as<ir::For>()) {
      run_loop(*loop);
    } else if (const auto* box = stmt.try_as<ir::Parallel>()) {
      run_box(*box, 0);
    }
  }

  /// An equality that is not known may hold in one iteration only; other conditions that are not
  /// known guard ends of tensors, and hold nearly everywhere.
  void run_branch(const ir::If& branch) {
    const Value value = env_.eval(branch.cond);
    if (value) return run(*value != 0 ? branch.then_body : branch.else_body);
    const bool singles_out = !env_.is_same_for_all(branch.cond, written_) &&
                             ir::contains(branch.cond, [](const Expr& e) {
                               const auto* op = e.try_as<ir::Op>();
                               return e.is<ir::Load>() || (op != nullptr && op->code == OpCode::eq);
                             });
    if (!singles_out) run(branch.then_body);
  }
  void run_loop(const ir::For& loop) {
    const Value lo = env_.eval(loop.lo), hi = env_.eval(loop.hi), step = ir::as_int(loop.step);
    if (!lo || !step || *step <= 0) return;
    for (int64_t i = *lo; i < hi.value_or(*lo + kSymbolicExtent) && steps_ < kMaxSteps;
         i += *step) {
      env_.set(loop.var, i);
      run(loop.body);
    }
  }
  void run_box(const ir::Parallel& box, size_t dim) {
    if (dim == box.vars.size()) return run(box.body);
    const int64_t extent = env_.eval(box.extents[dim]).value_or(kSymbolicExtent);
    for (int64_t i = 0; i < extent && steps_ < kMaxSteps; ++i) {
      env_.set(box.vars[dim], i);
      run_box(box, dim + 1);
    }
  }

  /// An access with its indices as sums, made once.
  struct Indexed {
    Access access;
    std::vector<Linear> sums;
  };
  const std::vector<Indexed>& accesses(const Stmt& stmt) {
    const auto [it, is_new] = accesses_.try_emplace(stmt);
    if (!is_new) return it->second;
    for_each_access(stmt, [&](const Access& access) {
      const ir::Buffer root = access.buffer.root();
      const bool own = root.space() == ir::MemSpace::variable ||
                       root.space() == ir::MemSpace::local || private_.contains(root);
      if (own || access.when || !written_.contains(root)) return;
      Indexed indexed{access, {}};
      for (const Expr& index : access.begin) indexed.sums.push_back(Linear::of(index));
      it->second.push_back(std::move(indexed));
    });
    return it->second;
  }

  void touch(const Indexed& indexed) {
    std::vector<int64_t> place;
    std::vector<Expr> common;  // what is the same for all iterations, per dimension
    for (const Linear& sum : indexed.sums) {
      const auto split = split_index(sum);
      if (!split) return;
      place.push_back(split->first);
      common.push_back(split->second);
    }
    place.push_back(common_id(common));
    note(elements_[indexed.access.buffer][place], indexed.access);
  }
  /// The part of an index that has a value, and the part that all iterations share.
  std::optional<std::pair<int64_t, Expr>> split_index(const Linear& sum) const {
    Linear common;
    int64_t place = sum.constant;
    for (const Linear::Term& term : sum.terms) {
      if (const Value value = env_.eval(term.expr)) {
        place += *value * term.coefficient;
      } else if (env_.is_same_for_all(term.expr, written_)) {
        common.add(term.expr, term.coefficient);
      } else {
        return std::nullopt;
      }
    }
    return std::pair(place, common.to_expr());
  }
  int64_t common_id(const std::vector<Expr>& common) {
    for (size_t i = 0; i < commons_.size(); ++i) {
      bool same = commons_[i].size() == common.size();
      for (size_t d = 0; same && d < common.size(); ++d)
        same = same_expr(commons_[i][d], common[d]);
      if (same) return static_cast<int64_t>(i);
    }
    commons_.push_back(common);
    return static_cast<int64_t>(commons_.size()) - 1;
  }

  void note(Element& element, const Access& access) {
    const auto by_other = [&](const std::optional<Toucher>& t) {
      return t && t->iteration != iteration_ ? &*t : nullptr;
    };
    const Toucher present{iteration_, &access};
    const bool plain_write = access.kind == Access::Kind::write && !access.atomic;
    const Toucher* partner = by_other(element.writer);
    if (partner == nullptr && plain_write) partner = by_other(element.first);
    if (partner == nullptr && plain_write) partner = by_other(element.second);
    if (partner != nullptr) {
      found_ = {*partner, present};
      return;
    }
    if (plain_write && !element.writer) element.writer = present;
    if (!element.first) {
      element.first = present;
    } else if (by_other(element.first) != nullptr && !element.second) {
      element.second = present;
    }
  }

  const ir::Parallel& loop_;
  std::set<ir::Buffer, ir::ById> written_, private_;
  Environment env_;
  std::vector<int64_t> iteration_;
  int steps_ = 0;
  std::map<Stmt, std::vector<Indexed>, ir::ById> accesses_;
  std::vector<std::vector<Expr>> commons_;
  std::map<ir::Buffer, std::map<std::vector<int64_t>, Element>, ir::ById> elements_;
  std::optional<std::pair<Toucher, Toucher>> found_;
};

std::string coordinates(const std::vector<int64_t>& iteration) {
  std::string text = tw::to_text(iteration);
  text.front() = '(';
  text.back() = ')';
  return text;
}

void report(const ir::Program& program, const ir::Parallel& loop,
            const std::pair<Toucher, Toucher>& conflict, Diagnostic::Severity severity,
            Diagnostics& diagnostics) {
  const auto& [a, b] = conflict;
  const auto does = [](const Toucher& t) {
    return format("iteration {} {} {}", coordinates(t.iteration),
                  t.access->kind == Access::Kind::read ? "reads" : "writes", to_text(*t.access));
  };
  Error& error =
      diagnostics.add(severity, Error(codes::w_race_01, loop.loc,
                                      "{}: iterations of a parallel loop conflict: {}, {}",
                                      program.name, does(a), does(b)));
  for (const Toucher* t : {&a, &b}) {
    const SourceLoc where = t->access->where;
    error.note("in `{}`{}", first_line(t->access->by), where.known() ? " at " + where.text() : "");
  }
  error.help("write each element in one iteration, or use atomics or a reducer");
}

}  // namespace

void check_race(const ir::Program& program, Diagnostics& diagnostics) {
  const std::string level = ir::option(program, "check_race");
  if (level == "off") return;
  const auto severity =
      level == "error" ? Diagnostic::Severity::error : Diagnostic::Severity::warning;
  for (const Stmt& launch : program.launches) {
    ir::for_each_stmt(launch, [&](const Stmt& stmt) {
      const auto* loop = stmt.try_as<ir::Parallel>();
      if (loop == nullptr) return;
      ParallelLoop iterations(*loop);
      if (const auto conflict = iterations.conflict()) {
        report(program, *loop, *conflict, severity, diagnostics);
      }
    });
  }
}

}  // namespace tw::pass
