#include "tilewright/lang/trace.h"

#include <algorithm>
#include <functional>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/settle.h"

namespace tw {
inline namespace lang {
namespace {

thread_local Trace* current_trace = nullptr;

void add_root(std::vector<ir::Buffer>& list, const ir::Buffer& buffer) {
  const ir::Buffer root = buffer.root();
  const auto same = [&](const ir::Buffer& b) { return b.same_as(root); };
  if (std::ranges::none_of(list, same)) list.push_back(root);
}

/// Roots of the buffers that a statement may write.
std::vector<ir::Buffer> written_by(const ir::Stmt& stmt) {
  std::vector<ir::Buffer> roots;
  ir::for_each_stmt(stmt, [&](const ir::Stmt& s) {
    if (const auto* n = s.try_as<ir::Store>()) add_root(roots, n->buffer);
    if (const auto* n = s.try_as<ir::Copy>()) add_root(roots, n->dst.buffer);
    if (const auto* n = s.try_as<ir::Fill>()) add_root(roots, n->dst.buffer);
    if (const auto* n = s.try_as<ir::Gemm>()) add_root(roots, n->c.buffer);
    if (const auto* n = s.try_as<ir::Reduce>()) add_root(roots, n->dst.buffer);
    if (const auto* n = s.try_as<ir::Scan>()) add_root(roots, n->dst.buffer);
    if (const auto* n = s.try_as<ir::ReducerFinalize>()) add_root(roots, n->dst.buffer);
    if (const auto* n = s.try_as<ir::Atomic>()) add_root(roots, n->buffer);
    if (const auto* n = s.try_as<ir::AsyncCopy>()) add_root(roots, n->dst.buffer);
  });
  return roots;
}

/// Whether threads wait for or tell others in it.
bool orders_threads(const ir::Stmt& stmt) {
  bool found = false;
  ir::for_each_stmt(stmt, [&](const ir::Stmt& s) {
    const auto* warp = s.try_as<ir::WarpOp>();
    const auto* atomic = s.try_as<ir::Atomic>();
    found = found || s.is<ir::Barrier>() || s.is<ir::Sync>() ||
            (atomic != nullptr && ir::waits(atomic->op)) ||
            (warp != nullptr && warp->code == ir::WarpCode::sync_warp);
  });
  return found;
}

/// Whether only its own thread can write it.
bool is_private(const ir::Buffer& root) {
  return root.space() == ir::MemSpace::variable || root.space() == ir::MemSpace::local;
}

/// Whether two roots may share memory. Parameters don't alias unless the author says so; a view at
/// an address may be anywhere that is not excluded so.
bool may_alias(const ir::Buffer& a, const ir::Buffer& b) {
  if (a.same_as(b)) return true;
  const auto anywhere = [](const ir::Buffer& x) { return x->may_alias || x->address; };
  return a.space() == ir::MemSpace::global && b.space() == ir::MemSpace::global && anywhere(a) &&
         anywhere(b);
}

}  // namespace

Trace::Trace(std::string name, const Schedule& schedule)
    : schedule_(schedule.settings()), outer_(current_trace) {
  program.name = std::move(name);
  scopes_.push_back(Scope{ScopeKind::program, nullptr, {}});
  scope_ = &scopes_.back();
  current_trace = this;
}
Trace::~Trace() { current_trace = outer_; }

Trace& Trace::current(const Site& site) {
  if (current_trace == nullptr) {
    throw Error(codes::prog_03, site.where, "{}: used outside a program", site.name)
        .help("call it from the callable given to tw::program");
  }
  return *current_trace;
}

Trace& Trace::in_launch(const Site& site) {
  Trace& trace = current(site);
  if (!trace.inside(ScopeKind::launch)) {
    throw Error(codes::prog_03, site.where, "{}: used outside a launch", site.name)
        .help("move it into the body of k.launch");
  }
  return trace;
}

void Trace::open(ScopeKind kind, SourceLoc where, size_t indices) {
  if (scope_->depth >= ir::kMaxNesting) {
    throw Error({}, where, "statement: more than {} loops and conditions inside each other",
                ir::kMaxNesting)
        .help("join the conditions with &&, or write one loop over more dimensions");
  }
  scopes_.push_back(Scope{kind, scope_, where});
  scopes_.back().depth = scope_->depth + 1;
  scopes_.back().indices = scope_->indices + indices;
  scope_ = &scopes_.back();
}

ir::Stmt Trace::close() {
  std::vector<ir::Stmt> stmts;
  for (Scope::Entry& entry : scope_->entries) {
    const auto* allocated = entry.stmt.try_as<ir::Alloc>();
    const auto layout = allocated != nullptr ? layouts.find(allocated->buffer) : layouts.end();
    if (layout != layouts.end()) {
      entry.stmt = ir::alloc(allocated->buffer, allocated->initial, layout->second);
    }
    stmts.push_back(std::move(entry.stmt));
  }
  scope_->open = false;
  scope_ = scope_->parent;
  return ir::seq(std::move(stmts));
}

Scope* Trace::enclosing(ScopeKind kind) const {
  for (Scope* s = scope_; s != nullptr; s = s->parent) {
    if (s->kind == kind) return s;
  }
  return nullptr;
}

void Trace::emit(ir::Stmt stmt) {
  std::vector<ir::Buffer> writes = written_by(stmt);
  const bool orders = orders_threads(stmt);
  scope_->entries.push_back({++time_, std::move(stmt), std::move(writes), orders});
}

void Trace::insert(const Point& at, ir::Stmt stmt) {
  auto& entries = at.scope->entries;
  const auto after = std::ranges::upper_bound(entries, at.time, {}, &Scope::Entry::time);
  std::vector<ir::Buffer> writes = written_by(stmt);
  const bool orders = orders_threads(stmt);
  entries.insert(after, {at.time, std::move(stmt), std::move(writes), orders});
}

void Trace::record_at(const Point& at, const std::function<void()>& f) {
  // The statements are recorded in a sequence of their own, then moved to their place.
  Scope* const here = scope_;
  scopes_.push_back(Scope{ScopeKind::branch, at.scope, at.scope->where});
  Scope* const recorded = scope_ = &scopes_.back();
  recorded->indices = at.scope->indices;
  f();
  scope_ = here;
  recorded->open = false;
  for (Scope::Entry& entry : recorded->entries) insert(at, std::move(entry.stmt));
  for (auto& [node, point] : points_) {
    if (point.scope == recorded) point = at;
  }
}

ir::Buffer Trace::allocate(ir::MemSpace space, DType dtype, std::vector<ir::Expr> shape,
                           std::string name, SourceLoc where, ir::Expr initial) {
  const ir::Buffer buffer = ir::make<ir::BufferNode>(where, [&](ir::BufferNode& n) {
    n.name = std::move(name);
    n.dtype = dtype;
    n.space = space;
    n.shape = std::move(shape);
    if (const auto* setting = find_setting(schedule_.versions, n.name)) n.versions = setting->value;
  });
  declare(buffer);
  block_buffers.insert(buffer.name());
  emit(ir::alloc(buffer, std::move(initial)));
  return buffer;
}

void Trace::allocate(const ir::Buffer& buffer) {
  declare(buffer);
  emit(ir::alloc(buffer));
}

void Trace::annotate(const ir::Buffer& buffer, const std::function<void(ir::BufferNode&)>& change) {
  change(const_cast<ir::BufferNode&>(*buffer.get()));  // made by this trace, not yet shared
}

bool Trace::is_input(const ir::Buffer& root) const {
  return std::ranges::any_of(program.params, [&](const ir::Param& p) {
    return p.kind == ir::ParamKind::input && p.buffer && p.buffer.same_as(root);
  });
}

ir::Expr Trace::load(const ir::Buffer& buffer, std::vector<ir::Expr> indices, bool unchecked,
                     SourceLoc where) {
  const ir::Expr value = ir::make<ir::Load>(where, [&](ir::Load& n) {
    n.dtype = buffer.dtype();
    n.buffer = buffer;
    n.indices = std::move(indices);
    n.unchecked = unchecked;
  });
  points_[value.get()] = now();
  values_.push_back(value);
  return value;
}

std::vector<ir::Expr> Trace::settle(SourceLoc where, const std::vector<ir::Expr>& values) {
  return lang::settle(*this, now(), where, values);
}

void Trace::declare(const ir::Var& var, const Point& at) {
  points_[var.get()] = at;
  values_.push_back(var);
}
void Trace::declare(const ir::Buffer& buffer) {
  points_[buffer.get()] = now();
  buffers_.push_back(buffer);
}

void Trace::check_visible(const ir::Expr& var, SourceLoc where) const {
  const auto known = points_.find(var.get());
  const auto* name = var.try_as<ir::VarNode>();
  const std::string text = name != nullptr ? name->name : "a value read";
  if (known == points_.end()) {
    throw Error(codes::prog_01, where, "{} belongs to another program", text)
        .help("use values only in the program that made them");
  }
  if (!encloses(known->second.scope, scope_)) {
    throw Error(codes::prog_02, where, "{} is used after the body that made it has ended", text)
        .note("the body began at {}", known->second.scope->where.text())
        .help("keep the value in a var or a buffer declared outside that body");
  }
}

void Trace::check_visible(const ir::Buffer& buffer, const Site& site) const {
  const auto known = points_.find(buffer.get());
  if (known == points_.end()) {
    throw Error(codes::prog_01, site.where, "{}: {} belongs to another program", site.name,
                buffer.name())
        .help("use buffers only in the program that made them");
  }
  if (!encloses(known->second.scope, scope_)) {
    throw Error(codes::mem_07, site.where, "{}: {} is used after the body that made it has ended",
                site.name, buffer.name())
        .note("{} was made at {}", buffer.name(), buffer.loc().text())
        .help("allocate it before that body");
  }
}

bool Trace::is_visible(const ir::Buffer& buffer) const {
  const auto known = points_.find(buffer.get());
  return known != points_.end() && encloses(known->second.scope, scope_);
}

bool Trace::crosses_loop(const Point& from) const {
  for (const Scope* s = scope_; s != nullptr && s != from.scope; s = s->parent) {
    if (s->is_loop()) return true;
  }
  return false;
}

std::string Trace::index_name(size_t offset) const {
  static constexpr std::string_view kNames = "ijklmnpq";
  const size_t n = scope_->indices + offset;
  if (n < kNames.size()) return std::string(1, kNames[n]);
  return "i" + std::to_string(n);
}

Point Trace::point_of(const ir::Expr& load) const {
  const auto known = points_.find(load.get());
  TW_CHECK(known != points_.end(), "a load of {} has no point", load.as<ir::Load>().buffer.name());
  return known->second;
}
Point Trace::defined_at(const ir::Expr& var) const { return points_.at(var.get()); }

bool Trace::may_change(const ir::Buffer& buffer, const Point& from, const Point& to) const {
  const ir::Buffer root = buffer.root();
  for (const Scope* s = to.scope; s != nullptr; s = s->parent) {
    if (s != from.scope && s->is_loop()) return true;  // a later statement of the body may write
    for (auto entry = s->entries.rbegin(); entry != s->entries.rend(); ++entry) {
      if (entry->time <= from.time) break;
      if (entry->time > to.time) continue;
      if (entry->orders && !is_private(root)) return true;
      for (const ir::Buffer& written : entry->writes) {
        if (may_alias(written, root)) return true;
      }
    }
    if (s == from.scope) return false;
  }
  return true;  // from is in a body that has ended
}

void Trace::check_epochs(const Epochs& other_path, const Site& site) const {
  for (const auto& [reducer, open] : other_path) {
    if (epochs.at(reducer) == open) continue;
    throw Error(codes::rdc_04, site.where,
                "{}: the epoch of {} is open on one path and closed on another", site.name,
                reducer.name())
        .help("init and finalize it on the same path");
  }
}

void Trace::check_schedule() const {
  const auto check = [&](const std::vector<Schedule::Setting>& list,
                         const std::set<std::string>& names, std::string_view kind) {
    for (const Schedule::Setting& setting : list) {
      if (names.contains(setting.name)) continue;
      Error error(codes::sched_01, setting.where, "schedule: {} has no {} called {}", name(), kind,
                  setting.name);
      if (!names.empty()) error.help("it has {}", join({names.begin(), names.end()}, ", "));
      throw error;
    }
  };
  check(schedule_.tunables, tunables, "tunable");
  check(schedule_.stages, loops, "pipelined loop");
  check(schedule_.layouts, block_buffers, "buffer");
  check(schedule_.versions, block_buffers, "buffer");
}

bool encloses(const Scope* outer, const Scope* inner) {
  for (; inner != nullptr; inner = inner->parent) {
    if (inner == outer) return outer->open;
  }
  return false;
}

}  // namespace lang
}  // namespace tw
