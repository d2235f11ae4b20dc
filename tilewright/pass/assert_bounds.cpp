#include "tilewright/pass/assert_bounds.h"

#include <functional>
#include <map>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

bool in_tensor(const ir::Buffer& buffer) {
  return buffer.space() == ir::MemSpace::global || buffer.space() == ir::MemSpace::workspace;
}

/// What has to be asserted of an access: that a place lies within [0, extent).
struct Question {
  Expr cond;
  std::string place;  // "dimension 0", "t"
  Expr index, extent;
};
using OnQuestion = std::function<void(const Access&, const Question&)>;

/// Calls back for each access that may be outside, in each dimension where it may.
class Unproven : public AccessWalk {
 public:
  explicit Unproven(OnQuestion ask) : ask_(std::move(ask)) {}

 private:
  void on_access(const Access& access) override {
    if (in_tensor(access.buffer) && !access.unchecked) return;  // guarded
    const Bounds::Scope scope(bounds_);
    if (access.when) bounds_.assume(access.when);
    Expr spared = access.when ? ir::lnot(access.when) : ir::bool_const(false);
    for (const Expr& extent : access.extent) {  // a region of nothing is inside
      const Expr is_empty = ir::le(extent, ir::index(0));
      if (!bounds_.disproves(is_empty)) spared = ir::lor(spared, is_empty);
    }
    const Span place = flat_place(access);
    for (size_t d = 0; d < access.begin.size(); ++d) {
      const Expr first = ir::cast(i64, access.begin[d]);
      ask(access, spared, {first, last_from(first, access.extent[d])}, access.buffer.shape()[d],
          format("dimension {}", d));
    }
    if (place.first) {
      ask(access, spared, place, ir::index(elements_of_root(access.buffer)),
          access.buffer.root().name());
    }
  }

  struct Span {
    Expr first, last;
  };

  void ask(const Access& access, const Expr& spared, const Span& span, const Expr& extent,
           std::string place) {
    const Expr below = ir::lt(span.first, ir::index(0));
    Expr inside;
    for (const Expr& c : {ir::le(ir::index(0), span.first), ir::lt(span.last, extent)}) {
      if (!bounds_.proves(c)) inside = ir::land(inside, c);
    }
    if (!inside) return;
    const bool is_element = ir::structurally_equal(span.first, span.last);
    const Expr index = is_element ? span.first : ir::select(below, span.first, span.last);
    ask_(access, {ir::lor(spared, inside), std::move(place), index, extent});
  }

  static Expr last_from(const Expr& first, const Expr& extent) {
    if (const auto n = ir::as_int(extent)) return ir::add(first, ir::index(*n - 1));
    return ir::sub(ir::add(first, extent), ir::index(1));
  }

  /// Elements of a block buffer's root, in the view's dtype.
  static int64_t elements_of_root(const ir::Buffer& view) {
    const ir::Buffer root = view.root();
    int64_t bits = root.dtype().bits();
    for (int d = 0; d < root.rank(); ++d) bits *= root.extent(d);
    return bits / view.dtype().bits();
  }

  /// The elements between which an access to a view of a block buffer lies in the root; none if
  /// the whole view is known to be in it.
  Span flat_place(const Access& access) const {
    const ir::Buffer& view = access.buffer;
    if (!view->view_of || in_tensor(view)) return {};
    const std::vector<Expr> strides = ir::strides_of(view);
    Expr begin = view->offset ? view->offset : ir::index(0), end = begin;
    Span span{begin, begin};
    for (size_t d = 0; d < strides.size(); ++d) {
      end = ir::add(end, ir::mul(ir::sub(view.shape()[d], ir::index(1)), strides[d]));
      const Expr first = ir::cast(i64, access.begin[d]);
      span.first = ir::add(span.first, ir::mul(first, strides[d]));
      const Expr last = last_from(first, access.extent[d]);
      span.last = ir::add(span.last, ir::mul(last, strides[d]));
    }
    const Expr size = ir::index(elements_of_root(view));
    if (bounds_.proves(ir::le(ir::index(0), begin)) && bounds_.proves(ir::lt(end, size))) return {};
    return span;
  }

  OnQuestion ask_;
};

/// Puts the asserts of each statement before it.
class Inserter : public ir::Rewriter {
 public:
  using Checks = std::map<Stmt, std::vector<Stmt>, ir::ById>;
  explicit Inserter(const Checks& checks) : checks_(checks) {}
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& stmt) override {
    if (!stmt) return stmt;
    std::vector<Stmt> out;
    add(stmt, out);
    return out.size() == 1 ? out[0] : ir::seq(std::move(out));
  }

 private:
  void add(const Stmt& stmt, std::vector<Stmt>& out) {
    const auto found = checks_.find(stmt);
    const std::vector<Stmt> none, &checks = found == checks_.end() ? none : found->second;
    if (stmt.is<ir::While>() && !checks.empty()) {
      out.push_back(checked_while(stmt.as<ir::While>(), checks));
      return;
    }
    out.insert(out.end(), checks.begin(), checks.end());
    if (stmt.is<ir::Seq>()) {
      out.push_back(sequence(stmt));
    } else if (stmt.is<ir::For>()) {
      out.push_back(loop(stmt));
    } else {
      out.push_back(children(stmt));
    }
  }

  // A Let holds for the rest of its own sequence, so the asserts join that.
  Stmt sequence(const Stmt& stmt) {
    const auto& old = stmt.as<ir::Seq>().stmts;
    std::vector<Stmt> next;
    for (const Stmt& s : old) add(s, next);
    bool same = old.size() == next.size();
    for (size_t i = 0; same && i < old.size(); ++i) same = old[i].same_as(next[i]);
    if (same) return stmt;
    return ir::make<ir::Seq>(stmt.loc(), [&](ir::Seq& n) { n.stmts = std::move(next); });
  }

  Stmt loop(const Stmt& stmt) {
    const Stmt next = children(stmt);
    if (next.same_as(stmt) || !next.as<ir::For>().strict) return next;
    return ir::make<ir::For>(stmt.loc(), [&](ir::For& n) {
      n = next.as<ir::For>();
      n.strict = false;
    });
  }

  // The condition is evaluated anew before each iteration, and so are its asserts.
  Stmt checked_while(const ir::While& loop, const std::vector<Stmt>& checks) {
    std::vector<Stmt> body = checks;
    body.push_back(ir::if_(ir::lnot(loop.cond), ir::make<ir::Break>(loop.loc, [](ir::Break&) {})));
    body.push_back(rewrite(loop.body));
    return ir::make<ir::While>(loop.loc, [&](ir::While& n) {
      n.cond = ir::bool_const(true);
      n.body = ir::seq(std::move(body));
    });
  }

  const Checks& checks_;
};

}  // namespace

ir::Program assert_bounds(const ir::Program& program) {
  if (ir::option(program, "check_bounds") != "on") return program;
  Inserter::Checks checks;
  Unproven([&](const Access& access, const Question& question) {
    const Stmt check = ir::make<ir::Assert>(access.where, [&](ir::Assert& n) {
      n.cond = question.cond;
      n.message = format("{} reaches {{}} in {} (extent {{}})", to_text(access), question.place);
      n.values = {question.index, question.extent};
    });
    std::vector<Stmt>& present = checks[access.by];
    const bool known = std::any_of(present.begin(), present.end(),
                                   [&](const Stmt& s) { return ir::structurally_equal(s, check); });
    if (!known) present.push_back(check);
  }).run(program);
  return checks.empty() ? program : Inserter(checks).rewrite(program);
}

void suspect_bounds(const ir::Program& program, Diagnostics& diagnostics) {
  std::set<std::string> reported;
  Unproven([&](const Access& access, const Question& question) {
    const std::string text = to_text(access);
    if (in_tensor(access.buffer) || !reported.insert(text + access.where.text()).second) return;
    diagnostics
        .warn(codes::w_bnd_01, access.where, "{}: {} may lie outside {}", program.name, text,
              question.place)
        .note("it is in `{}`", first_line(access.by))
        .note("{}", described(access.buffer))
        .help("the option check_bounds makes it an assert");
  }).run(program);
}

}  // namespace tw::pass
