#include "tilewright/sim/interpreter.h"

#include <algorithm>
#include <utility>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/stmt_kinds.h"
#include "tilewright/ir/visit.h"
#include "tilewright/sim/machine.h"
#include "tilewright/sim/translate.h"

namespace tw::sim {

Argument Argument::tensor(void* data, DType dtype, std::vector<int64_t> shape,
                          std::vector<int64_t> strides) {
  return {data, dtype, std::move(shape), std::move(strides), 0};
}
Argument Argument::value(DType dtype, uint64_t bits) { return {nullptr, dtype, {}, {}, bits}; }

namespace {

std::vector<int64_t> strides_of(const Argument& argument) {
  if (!argument.strides.empty()) return argument.strides;
  std::vector<int64_t> strides(argument.shape.size(), 1);
  for (size_t dim = strides.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * argument.shape[dim];
  }
  return strides;
}

/// Values of symbols while they are being solved.
class SymbolSolver {
 public:
  SymbolSolver(const ir::Program& program, const RunOptions& options)
      : program_(program), options_(options), translator_(options), machine_(options) {}

  std::vector<int64_t> solve(const std::vector<Argument>& arguments);

 private:
  struct Equation {
    ir::Expr expr;
    int64_t given;
    std::string what;  // "extent 0 of x"
  };

  int64_t evaluate(const ir::Expr& e) {
    const Eval eval = translator_.integer(e);
    machine_.vars.resize(std::max(machine_.vars.size(), translator_.variables()));
    return static_cast<int64_t>(eval(machine_));
  }
  void set(const ir::Var& var, int64_t value) {
    const size_t slot = translator_.slot(var);
    machine_.vars.resize(std::max(machine_.vars.size(), slot + 1));
    machine_.vars[slot] = static_cast<Bits>(value);
    known_.insert_or_assign(var, value);
  }
  std::vector<Equation> equations(const std::vector<Argument>& arguments);
  /// The only unknown symbol of an expression; null when there is none or more than one.
  ir::Var unknown_of(const ir::Expr& e) const;
  bool solve_one(const Equation& equation);
  void check_facts(const ir::Symbol& symbol) const;

  const ir::Program& program_;
  const RunOptions& options_;
  Translator translator_;
  Machine machine_;
  std::map<ir::Var, int64_t, ir::ById> known_;
};

std::vector<SymbolSolver::Equation> SymbolSolver::equations(
    const std::vector<Argument>& arguments) {
  std::vector<Equation> equations;
  for (size_t p = 0; p < program_.params.size(); ++p) {
    const ir::Param& param = program_.params[p];
    const Argument& argument = arguments[p];
    if (param.kind == ir::ParamKind::scalar || param.kind == ir::ParamKind::pointer) continue;
    if (param.nullable && argument.data == nullptr && argument.shape.empty()) continue;
    const std::string& name = param.buffer.name();
    TW_REQUIRE(argument.dtype == param.buffer.dtype(), "{}: {} is {}, it must be {}", program_.name,
               name, argument.dtype, param.buffer.dtype());
    TW_REQUIRE(argument.shape.size() == param.buffer.shape().size(),
               "{}: {} is {}, it must have rank {}", program_.name, name, argument.shape,
               param.buffer.rank());
    const std::vector<int64_t> strides = strides_of(argument);
    for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
      equations.push_back(
          {param.buffer.shape()[dim], argument.shape[dim], format("extent {} of {}", dim, name)});
      if (!param.buffer->strides.empty()) {
        equations.push_back(
            {param.buffer->strides[dim], strides[dim], format("stride {} of {}", dim, name)});
      }
    }
  }
  return equations;
}

ir::Var SymbolSolver::unknown_of(const ir::Expr& e) const {
  std::vector<ir::Var> unknown;
  ir::for_each_expr(e, [&](const ir::Expr& part) {
    if (!part.is<ir::VarNode>()) return;
    const ir::Var var = ir::Var::of(part);
    const bool seen = std::any_of(unknown.begin(), unknown.end(),
                                  [&](const ir::Var& other) { return other.same_as(var); });
    if (!known_.contains(var) && !seen) unknown.push_back(var);
  });
  return unknown.size() == 1 ? unknown[0] : ir::Var();
}

bool SymbolSolver::solve_one(const Equation& equation) {
  const ir::Var var = unknown_of(equation.expr);
  if (!var) return false;
  const auto at = [&](int64_t value) {
    set(var, value);
    return evaluate(equation.expr);
  };
  const int64_t base = at(0), slope = at(1) - base;
  const int64_t value = slope == 0 ? 0 : (equation.given - base) / slope;
  if (slope != 0 && at(value) == equation.given) return true;
  known_.erase(var);
  return false;
}

void SymbolSolver::check_facts(const ir::Symbol& symbol) const {
  const int64_t value = known_.at(symbol.var);
  const bool holds = value >= symbol.min && value <= symbol.max && value % symbol.multiple_of == 0;
  if (holds) return;
  throw Error(codes::host_05, symbol.var.loc(),
              "{}: {} is {}, promised are {} to {}, a multiple of {}", program_.name,
              symbol.var.name(), value, symbol.min, symbol.max, symbol.multiple_of);
}

std::vector<int64_t> SymbolSolver::solve(const std::vector<Argument>& arguments) {
  TW_REQUIRE(arguments.size() == program_.params.size(), "{}: {} arguments given, {} needed",
             program_.name, arguments.size(), program_.params.size());
  for (const ir::Symbol& symbol : program_.symbols) {
    const auto given = options_.symbols.find(symbol.var.name());
    if (given != options_.symbols.end()) set(symbol.var, given->second);
  }
  for (size_t p = 0; p < arguments.size(); ++p) {
    const ir::Param& param = program_.params[p];
    if (param.kind == ir::ParamKind::scalar && param.var.dtype().is_int()) {
      set(param.var, decode_int(arguments[p].scalar, param.var.dtype()));
    }
  }
  const std::vector<Equation> all = equations(arguments);
  for (bool progress = true; progress;) {
    progress = false;
    for (const Equation& equation : all) progress = solve_one(equation) || progress;
  }
  std::vector<int64_t> values;
  for (const ir::Symbol& symbol : program_.symbols) {
    if (!known_.contains(symbol.var)) {
      throw Error(codes::prog_06, symbol.var.loc(), "{}: {} can't be determined from the arguments",
                  program_.name, symbol.var.name());
    }
    check_facts(symbol);
    values.push_back(known_.at(symbol.var));
  }
  for (const Equation& equation : all) {
    const int64_t wanted = evaluate(equation.expr);
    if (wanted == equation.given) continue;
    throw Error(codes::host_05, {}, "{}: {} is {}, it must be {}", program_.name, equation.what,
                equation.given, wanted);
  }
  return values;
}

/// A run of a program.
class Run {
 public:
  Run(const ir::Program& program, const std::vector<Argument>& arguments, const RunOptions& options)
      : program_(program), arguments_(arguments), translator_(options), machine_(options) {}

  RunResult run();

 private:
  /// Makes room for what the translator has numbered.
  void grow() {
    machine_.vars.resize(translator_.variables());
    machine_.views.resize(translator_.buffers());
    machine_.storages.resize(translator_.buffers());
  }
  void bind_parameters();
  void bind_workspaces();
  void bind_tensor(const ir::Buffer& buffer, const Argument& argument, bool unwritten);
  /// False when the program stopped.
  bool launch(const ir::Launch& launch, const std::vector<Eval>& grid, const Exec& body,
              uint32_t number);

  const ir::Program& program_;
  const std::vector<Argument>& arguments_;
  Translator translator_;
  Machine machine_;
};

void Run::bind_tensor(const ir::Buffer& buffer, const Argument& argument, bool unwritten) {
  const auto number = static_cast<size_t>(translator_.view(buffer));
  View& view = machine_.views[number];
  view.dtype = argument.dtype;
  view.width = argument.dtype.bits();
  view.rank = static_cast<int>(argument.shape.size());
  const std::vector<int64_t> strides = strides_of(argument);
  int64_t lowest = 0, highest = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    view.shape[dim] = argument.shape[dim];
    view.strides[dim] = strides[dim];
    const int64_t reach = (argument.shape[dim] - 1) * strides[dim];
    (reach < 0 ? lowest : highest) += argument.shape[dim] > 0 ? reach : 0;
  }
  const bool is_empty = argument.data == nullptr || points_in(argument.shape) == 0;
  const int64_t bits = is_empty ? 0 : (highest - lowest + 1) * view.width;
  const int64_t origin = -lowest * view.width;
  machine_.storages[number] =
      std::make_unique<Storage>(static_cast<std::byte*>(argument.data) - origin / 8, bits, origin,
                                translator_.unit_bits(buffer));
  view.storage = machine_.storages[number].get();
  if (unwritten) view.storage->track_writes();
  machine_.reachable.push_back(view.storage);
}

void Run::bind_parameters() {
  for (size_t p = 0; p < arguments_.size(); ++p) {
    const ir::Param& param = program_.params[p];
    if (param.kind == ir::ParamKind::scalar) {
      machine_.vars[translator_.slot(param.var)] = arguments_[p].scalar;
    } else {
      bind_tensor(param.buffer, arguments_[p], param.kind == ir::ParamKind::output);
    }
  }
  for (const MemoryRange& range : machine_.options.memory) {
    machine_.storages.push_back(
        std::make_unique<Storage>(static_cast<std::byte*>(range.data), range.bytes * 8, 0, 4));
    machine_.reachable.push_back(machine_.storages.back().get());
  }
}

void Run::bind_workspaces() {
  for (const ir::Workspace& workspace : program_.workspaces) {
    const auto number = static_cast<size_t>(translator_.view(workspace.buffer));
    translator_.bind_view(workspace.buffer)(machine_);
    View& view = machine_.views[number];
    machine_.storages[number] =
        std::make_unique<Storage>(points_in(view.extents()) * view.width,
                                  translator_.unit_bits(workspace.buffer), machine_.poison());
    view.storage = machine_.storages[number].get();
    if (workspace.zero) {
      view.storage->zero();
    } else {
      view.storage->track_writes();
    }
    machine_.reachable.push_back(view.storage);
  }
}

/// Whether blocks of a launch may synchronize with each other: then their accesses may be ordered.
bool has_ordered_atomics(const ir::Stmt& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const ir::Stmt& s) {
    const auto* atomic = s.try_as<ir::Atomic>();
    found = found || (atomic != nullptr && atomic->order != ir::MemoryOrder::relaxed);
  });
  return found;
}

bool Run::launch(const ir::Launch& launch, const std::vector<Eval>& grid, const Exec& body,
                 uint32_t number) {
  const std::vector<int64_t> extents = evaluate(grid, machine_);
  const bool watch = machine_.options.check_blocks && !has_ordered_atomics(launch.body);
  machine_.watch_blocks(watch ? number : 0);
  const int64_t blocks = points_in(extents);
  const std::vector<int64_t> order = machine_.order(blocks);
  for (int64_t n = 0; n < blocks; ++n) {
    const int64_t block = order.empty() ? n : order[static_cast<size_t>(n)];
    machine_.enter_block(block, extents);
    const Index at = point_of(block, extents);
    for (size_t dim = 0; dim < extents.size(); ++dim) {
      const ir::Var& var = launch.block_vars[dim];
      machine_.vars[translator_.slot(var)] = encode(at[dim], var.dtype());
    }
    if (body(machine_) == Flow::stop) return false;
  }
  return true;
}

/// Here a block is one worker.
void refuse_threads(const ir::Stmt& launch) {
  ir::Stmt first = launch.as<ir::Launch>().thread ? launch : ir::Stmt();
  ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
    if (!first && ir::is_thread_operation(s) && !ir::is_of_launches(s)) first = s;
  });
  if (!first) return;
  throw Error(codes::tgt_02, first.loc(), "the interpreter has no threads; the twin runs them");
}

RunResult Run::run() {
  const std::vector<int64_t> symbols = solve_symbols(program_, arguments_, machine_.options);
  // Everything is translated before anything is bound: only then is it known which widths a
  // storage is accessed with.
  for (const ir::Param& param : program_.params) {
    if (param.buffer) translator_.view(param.buffer);
    if (param.var) translator_.slot(param.var);
  }
  for (const ir::Workspace& workspace : program_.workspaces)
    translator_.bind_view(workspace.buffer);
  std::vector<std::vector<Eval>> grids;
  std::vector<Eval> guards;  // empty where a launch has none
  std::vector<Exec> bodies;
  for (const ir::Stmt& s : program_.launches) {
    const auto& launch = s.as<ir::Launch>();
    refuse_threads(s);
    for (const ir::Var& var : launch.block_vars) translator_.slot(var);
    std::vector<Eval>& grid = grids.emplace_back();
    for (const ir::Expr& extent : launch.grid) grid.push_back(translator_.integer(extent));
    guards.push_back(launch.guard ? translator_.expr(launch.guard) : Eval());
    bodies.push_back(translator_.stmt(launch.body));
  }
  std::vector<Exec> views;
  for (const ir::Buffer& buffer : translator_.undeclared_views()) {
    views.push_back(translator_.bind_view(buffer));
  }
  for (const ir::Symbol& symbol : program_.symbols) translator_.slot(symbol.var);
  grow();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const ir::Var& var = program_.symbols[i].var;
    machine_.vars[translator_.slot(var)] = encode(symbols[i], var.dtype());
  }
  bind_workspaces();
  bind_parameters();
  for (const Exec& bind : views) bind(machine_);
  bool found = false;  // the variant of the present launch that runs
  for (size_t i = 0; i < bodies.size(); ++i) {
    const bool last = !guards[i];
    const bool skip = found || (!last && guards[i](machine_) == 0);
    found = !last && (found || !skip);
    if (skip) continue;
    const auto& node = program_.launches[i].as<ir::Launch>();
    if (!launch(node, grids[i], bodies[i], static_cast<uint32_t>(i + 1))) break;
  }
  return std::move(machine_.result);
}

}  // namespace

std::vector<int64_t> solve_symbols(const ir::Program& program,
                                   const std::vector<Argument>& arguments,
                                   const RunOptions& options) {
  return SymbolSolver(program, options).solve(arguments);
}

RunResult interpret(const ir::Program& program, const std::vector<Argument>& arguments,
                    const RunOptions& options) {
  return Run(program, arguments, options).run();
}

}  // namespace tw::sim
