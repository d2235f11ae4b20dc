#include "tilewright/sim/mutate.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::sim {
namespace {

using ir::Expr;
using ir::OpCode;
using ir::Stmt;

template <class T>
using HandleOf = std::conditional_t<std::is_base_of_v<ir::ExprBase, T>, Expr, Stmt>;

/// Visits a program and applies the change number `wanted` of all that are possible. As a trap it
/// instead stops the program before the statement that would be changed.
class Mutator : public ir::Rewriter {
 public:
  explicit Mutator(size_t wanted, bool trap = false) : wanted_(wanted), trap_(trap) {}
  using Rewriter::rewrite;

  Stmt rewrite(const Stmt& s) override;
  Expr rewrite(const Expr& e) override;

  /// Whether there was such a change, and which.
  bool applied() const { return next_ > wanted_; }
  /// Changes that were possible so far.
  size_t count() const { return next_; }
  const std::string& name() const { return name_; }
  SourceLoc where() const { return where_; }

 private:
  /// Whether this is the change that is wanted.
  bool turn(SourceLoc where, const std::function<std::string()>& name) {
    if (declares_ || next_++ != wanted_) return false;
    where_ = where;
    name_ = (where.known() ? where.text() + ": " : "") + name();
    return true;
  }
  bool turn(SourceLoc where, const char* name) {
    return turn(where, [&] { return std::string(name); });
  }
  /// A copy of the node with something else in it.
  template <class T, class Change>
  static HandleOf<T> with(const T& node, Change change) {
    return ir::make<T>(node.loc, [&](T& n) {
      n = node;
      change(n);
    });
  }
  /// The node with one of its indices increased, or nothing.
  template <class T>
  std::optional<HandleOf<T>> shifted(const T& node, std::vector<Expr> T::* indices,
                                     const ir::Buffer& buffer);

  std::optional<Stmt> changed(const ir::Barrier& barrier);
  std::optional<Stmt> changed(const ir::WarpOp& op);
  std::optional<Stmt> changed(const ir::If& branch);
  std::optional<Stmt> changed(const ir::For& loop);
  std::optional<Stmt> changed(const ir::Move& move);
  std::optional<Stmt> changed(const ir::AsyncCopy& copy);
  std::optional<Stmt> changed(const ir::Sync& sync);
  std::optional<Stmt> changed(const ir::Store& store);
  std::optional<Stmt> changed(const ir::Atomic& atomic);
  std::optional<Expr> changed(const ir::Op& op);
  Expr chain(const Expr& e);
  ir::Buffer rewrite_declaration(const ir::Buffer& buffer) override;

  size_t wanted_, next_ = 0;
  bool trap_;
  bool declares_ = false;
  std::string name_;
  SourceLoc where_;
};

template <class T>
std::optional<HandleOf<T>> Mutator::shifted(const T& node, std::vector<Expr> T::* indices,
                                            const ir::Buffer& buffer) {
  for (size_t dim = 0; dim < (node.*indices).size(); ++dim) {
    const auto name = [&] { return format("index {} of {} plus 1", dim, buffer.name()); };
    if (!turn(node.loc, name)) continue;
    return with(node, [&](T& n) {
      Expr& index = (n.*indices)[dim];
      index = ir::add(index, ir::int_const(index.dtype(), 1));
    });
  }
  return std::nullopt;
}

std::optional<Stmt> Mutator::changed(const ir::Barrier& barrier) {
  const auto none = [&] {
    return "no barrier" + (barrier.reason.empty() ? "" : " (" + barrier.reason + ")");
  };
  if (turn(barrier.loc, none)) return ir::seq({});
  if (barrier.id == 0) return std::nullopt;
  if (barrier.threads > 32 && turn(barrier.loc, "barrier for 32 threads fewer")) {
    return with(barrier, [](ir::Barrier& b) { b.threads -= 32; });
  }
  if (turn(barrier.loc, "another barrier")) {
    return with(barrier, [](ir::Barrier& b) { b.id = b.id % 15 + 1; });
  }
  return std::nullopt;
}

std::optional<Stmt> Mutator::changed(const ir::WarpOp& op) {
  if (op.code == ir::WarpCode::sync_warp) {
    if (turn(op.loc, "no sync_warp")) return ir::seq({});
    return std::nullopt;
  }
  // Within half the width a short exchange stays what it is.
  const std::optional<int64_t> distance =
      op.code == ir::WarpCode::shfl_xor ? ir::as_int(op.args[1]) : std::nullopt;
  const bool far = !distance || *distance >= op.width / 2;
  if (far && op.width > 1 && turn(op.loc, [&] { return format("width {}", op.width / 2); })) {
    return with(op, [](ir::WarpOp& w) { w.width /= 2; });
  }
  if (op.code > ir::WarpCode::shfl_down) return std::nullopt;
  if (op.code == ir::WarpCode::shfl_xor) {
    if (!turn(op.loc, "shuffle over the double distance")) return std::nullopt;
    return with(op, [](ir::WarpOp& w) { w.args[1] = ir::add(w.args[1], w.args[1]); });
  }
  if (!turn(op.loc, "shuffle one lane farther")) return std::nullopt;
  return with(op, [](ir::WarpOp& w) {
    w.args[1] = ir::add(w.args[1], ir::int_const(w.args[1].dtype(), 1));
  });
}

std::optional<Stmt> Mutator::changed(const ir::If& branch) {
  if (!branch.else_body && turn(branch.loc, "no guard")) return branch.then_body;
  if (branch.cond.dtype().is_bool() && turn(branch.loc, "opposite guard")) {
    return with(branch, [](ir::If& i) { i.cond = ir::lnot(i.cond); });
  }
  return std::nullopt;
}

std::optional<Stmt> Mutator::changed(const ir::For& loop) {
  const auto end = [&](int64_t by) {
    return with(loop, [&](ir::For& f) { f.hi = ir::add(f.hi, ir::int_const(f.hi.dtype(), by)); });
  };
  const std::string& var = loop.var.name();
  if (turn(loop.loc, [&] { return format("end of the loop over {} plus 1", var); })) return end(1);
  if (turn(loop.loc, [&] { return format("end of the loop over {} minus 1", var); }))
    return end(-1);
  if (turn(loop.loc, [&] { return format("begin of the loop over {} plus 1", var); })) {
    return with(loop, [](ir::For& f) { f.lo = ir::add(f.lo, ir::int_const(f.lo.dtype(), 1)); });
  }
  return std::nullopt;
}

std::optional<Stmt> Mutator::changed(const ir::Move& move) {
  if (turn(move.loc,
           [&] { return format("no move from {} to {}", move.src.name(), move.dst.name()); })) {
    return ir::seq({});
  }
  if (auto other = shifted(move, &ir::Move::src_indices, move.src)) return other;
  return shifted(move, &ir::Move::dst_indices, move.dst);
}

std::optional<Stmt> Mutator::changed(const ir::AsyncCopy& copy) {
  const ir::Buffer &src = copy.src.buffer, &dst = copy.dst.buffer;
  if (turn(copy.loc, [&] { return format("no copy from {} to {}", src.name(), dst.name()); })) {
    return ir::seq({});
  }
  if (copy.valid && turn(copy.loc, "a copy that is always valid")) {
    return with(copy, [](ir::AsyncCopy& c) { c.valid = {}; });
  }
  for (const auto region : {&ir::AsyncCopy::src, &ir::AsyncCopy::dst}) {
    const ir::Region& r = copy.*region;
    for (size_t dim = 0; dim < r.begin.size(); ++dim) {
      const auto name = [&] { return format("index {} of {} plus 1", dim, r.buffer.name()); };
      if (!turn(copy.loc, name)) continue;
      return with(copy, [&](ir::AsyncCopy& c) {
        Expr& index = (c.*region).begin[dim];
        index = ir::add(index, ir::int_const(index.dtype(), 1));
      });
    }
  }
  return std::nullopt;
}

std::optional<Stmt> Mutator::changed(const ir::Sync& sync) {
  using ir::SyncCode;
  // To start the next launch later, or order less for the host, shows in no launch by itself.
  if (sync.code == SyncCode::trigger_next || sync.code == SyncCode::wait_previous) {
    return std::nullopt;
  }
  const auto name = [&] { return format("no {}", ir::enum_name(sync.code)); };
  if (!sync.result && turn(sync.loc, name)) return ir::seq({});
  if (sync.value) {
    const auto more = [&] { return format("value of {} plus 1", ir::enum_name(sync.code)); };
    if (turn(sync.loc, more)) {
      return with(
          sync, [](ir::Sync& s) { s.value = ir::add(s.value, ir::int_const(s.value.dtype(), 1)); });
    }
  }
  return shifted(sync, &ir::Sync::at, sync.barrier);
}

std::optional<Stmt> Mutator::changed(const ir::Store& store) {
  return shifted(store, &ir::Store::indices, store.buffer);
}

std::optional<Stmt> Mutator::changed(const ir::Atomic& atomic) {
  if (atomic.order != ir::MemoryOrder::relaxed && turn(atomic.loc, "relaxed atomic")) {
    return with(atomic, [](ir::Atomic& a) { a.order = ir::MemoryOrder::relaxed; });
  }
  const bool global = atomic.buffer.root().space() == ir::MemSpace::global ||
                      atomic.buffer.root().space() == ir::MemSpace::workspace;
  if (global && atomic.scope != ir::AtomicScope::block &&
      turn(atomic.loc, "atomic for its block only")) {
    return with(atomic, [](ir::Atomic& a) { a.scope = ir::AtomicScope::block; });
  }
  return shifted(atomic, &ir::Atomic::indices, atomic.buffer);
}

std::optional<Expr> Mutator::changed(const ir::Op& op) {
  const auto instead = [&](size_t arg) -> std::optional<Expr> {
    const auto name = [&] { return format("{} instead of {}", op.args[arg], Expr(&op)); };
    return turn(op.loc, name) ? std::optional(op.args[arg]) : std::nullopt;
  };
  const bool clamps = op.dtype.is_int() && (op.code == OpCode::min || op.code == OpCode::max);
  const bool chooses = op.code == OpCode::select || op.code == OpCode::if_else;
  if (clamps) {
    for (const size_t arg : {0, 1}) {
      if (op.args[arg].is<ir::Const>()) continue;
      if (const std::optional<Expr> other = instead(arg)) return other;
    }
  }
  if (chooses) {
    for (const size_t arg : {1, 2}) {
      if (const std::optional<Expr> other = instead(arg)) return other;
    }
  }
  return std::nullopt;
}

/// a && b && c, or a || b || c, without one of them.
Expr Mutator::chain(const Expr& e) {
  const OpCode code = e.as<ir::Op>().code;
  std::vector<Expr> parts;
  const std::function<void(const Expr&)> collect = [&](const Expr& x) {
    const auto* op = x.try_as<ir::Op>();
    if (op == nullptr || op->code != code) return parts.push_back(x);
    for (const Expr& arg : op->args) collect(arg);
  };
  collect(e);
  const auto join = [&](size_t without) {
    Expr all;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i == without) continue;
      all = !all                   ? parts[i]
            : code == OpCode::land ? ir::land(all, parts[i])
                                   : ir::lor(all, parts[i]);
    }
    return all;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (turn(e.loc(), [&] { return format("{} without {}", e, parts[i]); })) return join(i);
  }
  bool changed = false;
  for (Expr& part : parts) {
    const Expr next = rewrite(part);
    changed = changed || !next.same_as(part);
    part = next;
  }
  return changed ? join(parts.size()) : e;
}

/// The extents of a buffer change nothing but what counts as outside.
ir::Buffer Mutator::rewrite_declaration(const ir::Buffer& buffer) {
  const bool outer = std::exchange(declares_, true);
  ir::Buffer next = Rewriter::rewrite_declaration(buffer);
  declares_ = outer;
  return next;
}

Stmt Mutator::rewrite(const Stmt& s) {
  if (!s || applied()) return s;
  if (s.is<ir::Assume>()) return s;  // for the compiler: nothing that the kernel does
  if (const auto* launch = s.try_as<ir::Launch>(); launch != nullptr && launch->guard) {
    // Which launch runs is the host's business.
    const Expr guard = launch->guard;
    const auto guarded_by = [&](const Stmt& l, const Expr& by) {
      return ir::make<ir::Launch>(l.loc(), [&](ir::Launch& n) {
        n = l.as<ir::Launch>();
        n.guard = by;
      });
    };
    return guarded_by(rewrite(guarded_by(s, {})), guard);
  }
  const std::optional<Stmt> other =
      ir::dispatch(*s.get(), [&]<class T>(const T& node) -> std::optional<Stmt> {
        if constexpr (requires { changed(node); } && std::is_base_of_v<ir::StmtBase, T>) {
          return changed(node);
        } else {
          return std::nullopt;
        }
      });
  const Stmt result = other ? *other : children(s);
  if (!trap_ || !applied()) return result;
  trap_ = false;  // the statements around it stay as they are
  const Stmt stop = ir::make<ir::Assert>(s.loc(), [](ir::Assert& a) {
    a.cond = ir::bool_const(false);
    a.message = "reached";
  });
  if (const auto* launch = s.try_as<ir::Launch>()) {  // its grid was changed
    return ir::make<ir::Launch>(s.loc(), [&](ir::Launch& n) {
      n = *launch;
      n.body = ir::seq({stop, launch->body});
    });
  }
  return ir::seq({stop, s});
}

Expr Mutator::rewrite(const Expr& e) {
  if (!e || applied()) return e;
  std::optional<Expr> other;
  if (const auto* op = e.try_as<ir::Op>()) {
    if (op->code == OpCode::land || op->code == OpCode::lor) return chain(e);
    other = changed(*op);
  }
  if (const auto* load = e.try_as<ir::Load>()) {
    other = shifted(*load, &ir::Load::indices, load->buffer);
  }
  return other ? *other : children(e);
}

/// First byte and end of a tensor, from its data.
std::pair<int64_t, int64_t> reach(const Argument& argument) {
  int64_t lowest = 0, highest = 0, stride = 1;
  for (size_t dim = argument.shape.size(); dim-- > 0;) {
    if (argument.shape[dim] == 0) return {0, 0};
    const int64_t step = argument.strides.empty() ? stride : argument.strides[dim];
    const int64_t far = (argument.shape[dim] - 1) * step;
    (far < 0 ? lowest : highest) += far;
    stride *= argument.shape[dim];
  }
  const int64_t bits = argument.dtype.bits();
  return {lowest * bits / 8, ((highest + 1) * bits + 7) / 8};
}

}  // namespace

OwnedCall::OwnedCall(const ir::Program& program, const Call& call) : call_(call) {
  struct Piece {
    std::byte *begin, *end;
    bool is_output;
    std::vector<size_t> arguments;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    if (argument.data == nullptr) continue;
    auto* const data = static_cast<std::byte*>(argument.data);
    const auto [lowest, highest] = reach(argument);
    pieces.push_back(
        {data + lowest, data + highest, program.params[i].kind == ir::ParamKind::output, {i}});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  for (size_t i = 0; i < pieces.size();) {
    Piece whole = pieces[i];
    for (++i; i < pieces.size() && pieces[i].begin < whole.end; ++i) {
      whole.end = std::max(whole.end, pieces[i].end);
      whole.is_output = whole.is_output && pieces[i].is_output;
      whole.arguments.push_back(pieces[i].arguments.front());
    }
    // The copy is aligned as the original is.
    const size_t shift = reinterpret_cast<uintptr_t>(whole.begin) % 16;
    const auto size = static_cast<size_t>(whole.end - whole.begin);
    std::vector<std::byte>& bytes = memory_.emplace_back(shift + size, std::byte{0xA5});
    if (size > 0 && !whole.is_output) std::memcpy(bytes.data() + shift, whole.begin, size);
    for (const size_t each : whole.arguments) {
      call_.arguments[each].data =
          bytes.data() + shift + (static_cast<std::byte*>(call.arguments[each].data) - whole.begin);
    }
  }
}

size_t count_mutants(const ir::Program& program) {
  Mutator mutator(SIZE_MAX);
  mutator.rewrite(program);
  return mutator.count();
}

Mutant mutant(const ir::Program& program, size_t number) {
  Mutator mutator(number), trap(number, true);
  ir::Program other = mutator.rewrite(program);
  TW_CHECK(mutator.applied(), "{} has no mutant {}", program.name, number);
  return {mutator.name(), mutator.where(), std::move(other), trap.rewrite(program)};
}

std::vector<Mutant> mutants(const ir::Program& program) {
  std::vector<Mutant> all;
  const size_t count = count_mutants(program);
  for (size_t i = 0; i < count; ++i) all.push_back(mutant(program, i));
  return all;
}

bool only_stops(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.kind == FindingKind::failed_assert; });
}

Judge::Judge(const ir::Program& program, std::vector<Call> calls, std::vector<uint64_t> seeds,
             Why why)
    : program_(program), calls_(std::move(calls)), seeds_(std::move(seeds)), why_(std::move(why)) {}

std::vector<Finding> Judge::run(const ir::Program& program, size_t call, uint64_t seed,
                                const OwnedCall& memory) const {
  return run_twin(program, memory.call().arguments,
                  {.seed = seed,
                   .stop_at_finding = &program != &program_,
                   .symbols = calls_[call].symbols})
      .findings;
}

Verdict Judge::try_all(const ir::Program& mutant, size_t seed) {
  for (size_t c = 0; c < calls_.size(); ++c) {
    auto wanted = wanted_.find({seed, c});
    if (wanted == wanted_.end()) {
      OwnedCall memory(program_, calls_[c]);
      const std::vector<Finding> findings = run(program_, c, seeds_[seed], memory);
      TW_REQUIRE(only_stops(findings),
                 "{}: the twin reports something before anything is changed\n{}", program_.name,
                 to_text(findings));
      Wanted made{std::move(memory), !findings.empty()};
      wanted = wanted_.emplace(std::pair(seed, c), std::move(made)).first;
    }
    const OwnedCall memory(program_, calls_[c]);
    const bool stops = wanted->second.stops;
    try {
      const std::vector<Finding> findings = run(mutant, c, seeds_[seed], memory);
      if (findings.empty() == stops || !only_stops(findings)) {
        return {Fate::reported, findings.empty() ? "no assertion fails" : to_text(findings)};
      }
    } catch (const Error& error) {
      return {Fate::reported, error.message()};
    }
    if (!stops && !memory.same_bits(wanted->second.memory)) return {Fate::differs, ""};
  }
  return {};
}

Verdict Judge::judge(const Mutant& mutant) {
  for (size_t seed = 0; seed < seeds_.size(); ++seed) {
    const Verdict verdict = try_all(mutant.program, seed);
    if (verdict.is_caught()) return verdict;
    if (seed > 0 || !why_) continue;
    const std::string why = why_(mutant);
    if (!why.empty()) return {Fate::equivalent, why};
  }
  return {try_all(mutant.trap, 0).is_caught() ? Fate::survived : Fate::unreached, ""};
}

std::string to_text(const MutationReport& report) {
  std::string text = format("{} of {} mutants are caught", report.caught, report.tried);
  if (report.unreached > 0) text += format(", {} are never reached", report.unreached);
  if (!report.survivors.empty()) text += "; survivors:\n" + join(report.survivors, "\n");
  return text;
}

MutationReport run_mutants(const ir::Program& program, const std::vector<Argument>& arguments,
                           const MutationOptions& options) {
  Judge judge(program, {{arguments, {}}}, options.seeds);
  const size_t all = count_mutants(program);
  MutationReport report;
  report.tried = options.most == 0 ? all : std::min(options.most, all);
  for (size_t i = 0; i < report.tried; ++i) {
    const Mutant next = mutant(program, i * all / report.tried);
    switch (judge.judge(next).fate) {
      case Fate::reported:
      case Fate::differs:
        ++report.caught;
        break;
      case Fate::equivalent:
      case Fate::survived:
        report.survivors.push_back(next.name);
        break;
      case Fate::unreached:
        ++report.unreached;
    }
  }
  return report;
}

}  // namespace tw::sim
