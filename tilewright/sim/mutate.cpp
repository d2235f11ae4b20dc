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
  const std::string& name() const { return name_; }
  SourceLoc where() const { return where_; }

 private:
  /// Whether this is the change that is wanted.
  bool turn(SourceLoc where, const std::function<std::string()>& name) {
    if (next_++ != wanted_) return false;
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

  size_t wanted_, next_ = 0;
  bool trap_;
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
  if (turn(barrier.loc, "no barrier")) return ir::seq({});
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
  const bool chooses =
      op.dtype.is_int() && (op.code == OpCode::select || op.code == OpCode::if_else);
  if (clamps || op.code == OpCode::land) {
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

Stmt Mutator::rewrite(const Stmt& s) {
  if (!s || applied()) return s;
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
  return ir::seq({stop, s});
}

Expr Mutator::rewrite(const Expr& e) {
  if (!e || applied()) return e;
  std::optional<Expr> other;
  if (const auto* op = e.try_as<ir::Op>()) other = changed(*op);
  if (const auto* load = e.try_as<ir::Load>()) {
    other = shifted(*load, &ir::Load::indices, load->buffer);
  }
  return other ? *other : children(e);
}

/// The tensors of a call, in memory of their own; outputs hold nothing of use.
class Copies {
 public:
  Copies(const ir::Program& program, const std::vector<Argument>& arguments)
      : arguments_(arguments) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Argument& argument = arguments_[i];
      std::vector<std::byte>& bytes = bytes_.emplace_back();
      if (argument.data == nullptr) continue;
      const auto [lowest, highest] = reach(argument);
      const auto first = static_cast<std::byte*>(argument.data) + lowest;
      // The copy is aligned as the original is.
      const size_t shift = reinterpret_cast<uintptr_t>(first) % 16;
      const auto size = static_cast<size_t>(highest - lowest);
      bytes.resize(shift + size, std::byte{0xA5});
      const bool is_output = program.params[i].kind == ir::ParamKind::output;
      if (size > 0 && !is_output) std::memcpy(bytes.data() + shift, first, size);
      argument.data = bytes.data() + shift - lowest;
    }
  }
  const std::vector<Argument>& arguments() const { return arguments_; }
  bool same_bits(const Copies& other) const { return bytes_ == other.bytes_; }

 private:
  /// First byte and end of a tensor, from its data.
  static std::pair<int64_t, int64_t> reach(const Argument& argument) {
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

  std::vector<Argument> arguments_;
  std::vector<std::vector<std::byte>> bytes_;
};

}  // namespace

std::vector<Mutant> mutants(const ir::Program& program) {
  std::vector<Mutant> all;
  for (size_t wanted = 0;; ++wanted) {
    Mutator mutator(wanted), trap(wanted, true);
    ir::Program other = mutator.rewrite(program);
    if (!mutator.applied()) return all;
    all.push_back({mutator.name(), mutator.where(), std::move(other), trap.rewrite(program)});
  }
}

std::string to_text(const MutationReport& report) {
  std::string text = format("{} of {} mutants are caught", report.caught, report.tried);
  if (report.unreached > 0) text += format(", {} are never reached", report.unreached);
  if (!report.survivors.empty()) text += "; survivors:\n" + join(report.survivors, "\n");
  return text;
}

MutationReport run_mutants(const ir::Program& program, const std::vector<Argument>& arguments,
                           const MutationOptions& options) {
  const auto run = [&](const ir::Program& p, uint64_t seed, const Copies& copies) {
    TwinOptions twin = options.twin;
    twin.seed = seed;
    return to_text(run_twin(p, copies.arguments(), twin).findings);
  };
  std::vector<Copies> wanted;  // by seed
  for (const uint64_t seed : options.seeds) {
    wanted.emplace_back(program, arguments);
    const std::string found = run(program, seed, wanted.back());
    TW_REQUIRE(found.empty(), "{}: the twin reports something before anything is changed\n{}",
               program.name, found);
  }
  const auto is_caught = [&](const ir::Program& mutant) {
    for (size_t i = 0; i < options.seeds.size(); ++i) {
      const Copies copies(program, arguments);
      try {
        if (!run(mutant, options.seeds[i], copies).empty()) return true;
      } catch (const std::exception&) {
        return true;
      }
      if (!copies.same_bits(wanted[i])) return true;
    }
    return false;
  };
  const std::vector<Mutant> all = mutants(program);
  MutationReport report;
  report.tried = options.most == 0 ? all.size() : std::min(options.most, all.size());
  for (size_t i = 0; i < report.tried; ++i) {
    const Mutant& mutant = all[i * all.size() / report.tried];
    if (is_caught(mutant.program)) {
      ++report.caught;
    } else if (is_caught(mutant.trap)) {
      report.survivors.push_back(mutant.name);
    } else {
      ++report.unreached;
    }
  }
  return report;
}

}  // namespace tw::sim
