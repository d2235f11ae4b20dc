#include "tilewright/sim/twin/twin.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/sim/translate.h"
#include "tilewright/sim/twin/assemble.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim {
namespace twin {
namespace {

/// A tensor of the call: which memory it lies in and how.
struct Bound {
  int memory = 0;
  std::byte* data = nullptr;  // of element (0, ...)
  int64_t base = 0;           // its byte in that memory
  std::vector<int64_t> shape, strides;
};

std::vector<int64_t> compact(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

/// A run of a program.
class Run {
 public:
  Run(const ir::Program& program, const std::vector<Argument>& arguments,
      const TwinOptions& options)
      : program_(program),
        arguments_(arguments),
        options_(options),
        sizes_(run_options_),
        machine_(run_options_) {
    run_options_.symbols = options.symbols;
  }

  TwinResult run();

 private:
  int64_t value_of(const ir::Expr& e) {
    const Eval eval = sizes_.integer(e);
    machine_.vars.resize(std::max(machine_.vars.size(), sizes_.variables()));
    return static_cast<int64_t>(eval(machine_));
  }
  void set(const ir::Var& var, Bits bits) {
    const size_t slot = sizes_.slot(var);
    machine_.vars.resize(std::max(machine_.vars.size(), slot + 1));
    machine_.vars[slot] = bits;
    scalars_.emplace_back(var, bits);
  }
  void bind_parameters();
  void bind_workspaces();
  LaunchCode code_of(const ir::Launch& launch);
  void set_buffers(const Assembler& assembler, LaunchCode* code);
  void watch(const LaunchCode& code);
  std::deque<int64_t> chosen_blocks(LaunchState& state) const;
  /// False when the program stopped.
  bool launch(const ir::Launch& launch);

  bool is_aligned(const ir::Buffer& buffer) const;

  const ir::Program& program_;
  const std::vector<Argument>& arguments_;
  const TwinOptions& options_;
  RunOptions run_options_;
  Translator sizes_;  // evaluates grids, guards and shapes
  Machine machine_;
  std::vector<std::pair<ir::Var, Bits>> scalars_;
  std::map<ir::Buffer, Bound, ir::ById> bound_;
  std::vector<Memory> memories_;
  TwinResult result_;
};

void Run::bind_parameters() {
  struct Piece {
    std::byte *begin, *end;
    bool unwritten;
  };
  std::vector<Piece> pieces;
  for (size_t p = 0; p < arguments_.size(); ++p) {
    const ir::Param& param = program_.params[p];
    const Argument& argument = arguments_[p];
    if (param.kind == ir::ParamKind::scalar) {
      set(param.var, argument.scalar);
      continue;
    }
    Bound bound{.shape = argument.shape, .strides = argument.strides};
    const size_t rank = param.buffer.shape().size();
    bound.shape.resize(rank);  // an absent tensor has no elements
    if (bound.strides.empty()) bound.strides = compact(bound.shape);
    int64_t lowest = 0, highest = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      const int64_t reach = (bound.shape[dim] - 1) * bound.strides[dim];
      (reach < 0 ? lowest : highest) += reach;
    }
    const int64_t width = param.buffer.dtype().bits();
    bound.data = static_cast<std::byte*>(argument.data);
    if (bound.data != nullptr && points_in(bound.shape) > 0) {
      pieces.push_back({bound.data + lowest * width / 8,
                        bound.data + ((highest + 1) * width + 7) / 8,
                        param.kind == ir::ParamKind::output});
    }
    bound_[param.buffer] = std::move(bound);
  }
  for (const MemoryRange& range : options_.memory) {
    auto* const data = static_cast<std::byte*>(range.data);
    if (range.bytes > 0) pieces.push_back({data, data + range.bytes, false});
  }
  // Tensors that overlap are in one memory, of which all counts as written.
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  for (size_t i = 0; i < pieces.size();) {
    Piece whole = pieces[i];
    for (++i; i < pieces.size() && pieces[i].begin < whole.end; ++i) {
      whole.end = std::max(whole.end, pieces[i].end);
      whole.unwritten = false;
    }
    memories_.emplace_back(whole.begin, whole.end - whole.begin);
    if (whole.unwritten) memories_.back().track_writes();
  }
  memories_.emplace_back(nullptr, 0);  // of tensors without elements
  for (auto& [buffer, bound] : bound_) {
    const auto within = [&data = bound.data](const Memory& m) {
      return m.bytes() > 0 && data >= m.data() && data < m.data() + m.bytes();
    };
    const bool empty = points_in(bound.shape) == 0;
    const auto at =
        empty ? memories_.end() - 1 : std::find_if(memories_.begin(), memories_.end() - 1, within);
    bound.memory = static_cast<int>(at - memories_.begin());
    bound.base = empty || at->bytes() == 0 ? 0 : bound.data - at->data();
  }
}

void Run::bind_workspaces() {
  for (const ir::Workspace& workspace : program_.workspaces) {
    Bound bound{.memory = static_cast<int>(memories_.size())};
    for (const ir::Expr& extent : workspace.buffer.shape()) bound.shape.push_back(value_of(extent));
    bound.strides = compact(bound.shape);
    const int64_t bytes = (points_in(bound.shape) * workspace.buffer.dtype().bits() + 7) / 8;
    memories_.emplace_back(bytes, static_cast<std::byte>(0xA5 ^ (options_.seed & 0xFF)));
    if (workspace.zero) memories_.back().zero();
    bound_[workspace.buffer] = std::move(bound);
  }
}

/// Puts what the call has determined into the registers.
void Run::set_buffers(const Assembler& assembler, LaunchCode* code) {
  for (const auto& [var, bits] : scalars_) {
    if (const std::optional<Reg> reg = assembler.known(var)) code->registers[*reg] = bits;
  }
  for (BufferCode& b : code->buffers) {
    const auto bound = bound_.find(b.buffer);
    if (bound == bound_.end()) continue;
    b.memory = bound->second.memory;
    b.base = bound->second.base;
    for (size_t dim = 0; dim < b.shape.size(); ++dim) {
      code->registers[b.shape[dim]] = static_cast<Bits>(bound->second.shape[dim]);
      code->registers[b.strides[dim]] = static_cast<Bits>(bound->second.strides[dim]);
    }
  }
}

/// What the accesses need to know of their buffers.
void plan_accesses(LaunchCode* code) {
  for (Access& a : code->accesses) {
    const BufferCode& b = code->buffers[static_cast<size_t>(a.buffer)];
    const BufferCode& root = code->buffers[static_cast<size_t>(b.root)];
    const size_t rank = b.shape.size();
    a.direct = b.width >= 8 && root.padding_bits == 0 && !b.buffer->address && !b.buffer->peer &&
               a.index.size() == rank;
    a.plain = b.plain && a.count == 1;
    a.truth = b.buffer.dtype().is_bool();
    a.space = b.space;
    a.memory = root.memory;
    a.width = b.width / 8;
    a.base = root.base;
    a.bytes = root.bytes;
    a.offset = b.offset;
    for (size_t dim = 0; dim < rank && a.direct; ++dim) {
      a.dimensions.push_back({a.index[dim], b.shape[dim], b.strides[dim]});
    }
  }
}

LaunchCode Run::code_of(const ir::Launch& launch) {
  Assembler assembler;
  LaunchCode code = assembler.assemble(launch);
  set_buffers(assembler, &code);
  plan_accesses(&code);
  for (const BufferCode& b : code.buffers) {
    if (b.space != Space::shared) continue;
    const int64_t base = code.buffers[static_cast<size_t>(b.root)].base;
    code.shared_unit = static_cast<int>(
        std::gcd(std::gcd(code.shared_unit, base), static_cast<int64_t>(std::max(b.width / 8, 1))));
  }
  return code;
}

/// Watches the memory that the launch writes; what is only read has no races.
void Run::watch(const LaunchCode& code) {
  std::vector<int> unit(memories_.size(), 16);
  std::vector<bool> written(memories_.size(), false);
  const auto narrow = [&](int memory, int width) {
    int& u = unit[static_cast<size_t>(memory)];
    u = std::gcd(u, std::max(width / 8, 1));
  };
  const auto for_memories = [&](int buffer, const auto& f) {
    const BufferCode& b = code.buffers[static_cast<size_t>(buffer)];
    if (b.space != Space::global) return;
    const BufferCode& root = code.buffers[static_cast<size_t>(b.root)];
    for (size_t m = 0; m < memories_.size(); ++m) {
      if (b.buffer->address || root.memory == static_cast<int>(m)) f(static_cast<int>(m), b);
    }
  };
  for (const Access& access : code.accesses) {
    for_memories(access.buffer, [&](int m, const BufferCode& b) {
      narrow(m, b.width);
      narrow(m, static_cast<int>(
                    std::gcd(int64_t{16}, code.buffers[static_cast<size_t>(b.root)].base)) *
                    8);
    });
  }
  for (const AsyncCode& copy : code.asyncs) {
    for_memories(code.accesses[copy.dst.access].buffer,
                 [&](int m, const BufferCode&) { written[static_cast<size_t>(m)] = true; });
  }
  for (const Instruction& in : code.instructions) {
    const bool writes = in.code == Code::store || in.code == Code::move_out ||
                        in.code == Code::fold_out ||
                        (in.code == Code::atomic && code.atomics[in.b].writes);
    if (!writes) continue;
    for_memories(code.accesses[in.a].buffer,
                 [&](int m, const BufferCode&) { written[static_cast<size_t>(m)] = true; });
  }
  for (size_t m = 0; m < memories_.size(); ++m) {
    if (written[m] && memories_[m].bytes() > 0) {
      memories_[m].watch(unit[m]);
    } else {
      memories_[m].stop_watching();
    }
  }
}

/// The blocks to run, with all of their clusters, in the order in which they begin.
std::deque<int64_t> Run::chosen_blocks(LaunchState& state) const {
  std::deque<int64_t> blocks(options_.blocks.begin(), options_.blocks.end());
  if (blocks.empty()) {
    blocks.resize(static_cast<size_t>(points_in(state.grid)));
    std::iota(blocks.begin(), blocks.end(), int64_t{0});
  }
  for (const int64_t block : blocks) {
    TW_REQUIRE(block >= 0 && block < points_in(state.grid),
               "{}: there is no block {} in a grid of {}", state.kernel, block, state.grid);
  }
  if (points_in(state.cluster) > 1 && !options_.blocks.empty()) {
    std::deque<int64_t> all;
    for (const int64_t block : blocks) {
      for (const int64_t each : cluster_of(block, state)) {
        if (std::ranges::find(all, each) == all.end()) all.push_back(each);
      }
    }
    blocks = std::move(all);
  }
  if (options_.seed != 0) {
    for (size_t i = blocks.size(); i-- > 1;) {
      std::swap(blocks[i], blocks[state.next_random() % (i + 1)]);
    }
  }
  return blocks;
}

bool Run::launch(const ir::Launch& launch) {
  const LaunchCode code = code_of(launch);
  LaunchState state(code, options_, &result_);
  state.kernel = launch.name.empty() ? program_.name : launch.name;
  state.memories = &memories_;
  for (const ir::Expr& extent : launch.grid) {
    const size_t dim = state.grid.size();
    state.grid.push_back(value_of(extent));
    state.cluster.push_back(dim < launch.cluster.size() ? launch.cluster[dim] : 1);
    TW_REQUIRE(state.grid[dim] % state.cluster[dim] == 0,
               "{}: extent {} of the grid is {}, clusters need a multiple of {}", state.kernel, dim,
               state.grid[dim], state.cluster[dim]);
  }
  for (const BufferCode& b : code.buffers) {
    if (b.space != Space::shared || b.bytes == 0 || b.base + b.bytes <= code.shared_bytes) continue;
    state.report(FindingKind::outside_storage, b.buffer.get(),
                 format("{} has bytes {} to {} of {} bytes of shared memory", b.buffer.name(),
                        b.base, b.base + b.bytes, code.shared_bytes));
  }
  watch(code);

  std::deque<int64_t> waiting = chosen_blocks(state);
  // Blocks run one after the other. One that only goes round in a loop may wait for another, so
  // the next one begins and both take turns; so do those of a cluster, which begin together.
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::deque<Block*> begun;
  std::vector<Block*> at_grid;
  const size_t blocks = waiting.size();
  size_t idle = 0;  // runs in which nothing happened, in a row
  bool next = true;
  while ((!waiting.empty() || !begun.empty()) && !state.stopped) {
    if (!waiting.empty() && (next || begun.empty())) {
      const std::vector<int64_t> numbers = cluster_of(waiting.front(), state);
      for (const int64_t number : numbers) waiting.erase(std::ranges::find(waiting, number));
      clusters.push_back(make_cluster(state, numbers));
      for (const auto& block : clusters.back()->blocks) begun.push_front(block.get());
      if (options_.seed != 0 && numbers.size() > 1) {
        const auto first = static_cast<std::ptrdiff_t>(state.next_random() % numbers.size());
        std::rotate(begun.begin(), begun.begin() + first,
                    begun.begin() + static_cast<std::ptrdiff_t>(numbers.size()));
      }
    }
    Block* const block = begun.front();
    begun.pop_front();
    const Block::Status status = block->run();
    const bool goes_on = status == Block::Status::working || status == Block::Status::waiting;
    if (goes_on) begun.push_back(block);
    idle = status == Block::Status::waiting && block->is_idle() ? idle + 1 : 0;
    const bool stuck = idle > 0 && idle >= begun.size();
    next = status == Block::Status::working || stuck ||
           (!goes_on && block->cluster().running == 0) || status == Block::Status::at_grid;
    if (stuck && waiting.empty()) {
      block->report_stuck();
      state.stopped = true;
    }
    if (status == Block::Status::done && block->cluster().running == 0) {
      const Cluster* const ended = &block->cluster();
      std::erase_if(clusters, [&](const auto& c) { return c.get() == ended; });
    }
    if (status != Block::Status::at_grid) continue;
    at_grid.push_back(block);
    if (at_grid.size() < blocks) continue;
    Clocks all;
    for (Block* each : at_grid) each->meet_grid(&all);
    for (Block* each : at_grid) {
      each->leave_grid(all);
      begun.push_back(each);
    }
    at_grid.clear();
  }
  if (!at_grid.empty() && !state.stopped) {
    at_grid.front()->report_grid(static_cast<int64_t>(at_grid.size()));
    state.stopped = true;
  }
  return !state.stopped;
}

/// Whether the argument's address is a multiple of 16.
bool Run::is_aligned(const ir::Buffer& buffer) const {
  for (size_t p = 0; p < arguments_.size(); ++p) {
    if (!program_.params[p].buffer.same_as(buffer)) continue;
    return reinterpret_cast<uintptr_t>(arguments_[p].data) % 16 == 0;
  }
  return true;  // a workspace
}

TwinResult Run::run() {
  const std::vector<int64_t> symbols = solve_symbols(program_, arguments_, run_options_);
  for (size_t i = 0; i < symbols.size(); ++i) {
    const ir::Var& var = program_.symbols[i].var;
    set(var, encode(symbols[i], var.dtype()));
  }
  bind_parameters();
  bind_workspaces();
  bool found = false;  // the variant of the present launch that runs
  for (const ir::Stmt& s : program_.launches) {
    const auto& node = s.as<ir::Launch>();
    const bool last = !node.is_conditional();
    const bool holds = (!node.guard || value_of(node.guard) != 0) &&
                       std::all_of(node.aligned.begin(), node.aligned.end(),
                                   [&](const ir::Buffer& b) { return is_aligned(b); });
    const bool skip = found || !holds;
    found = !last && (found || !skip);
    if (!skip && !launch(node)) break;
  }
  return std::move(result_);
}

}  // namespace
}  // namespace twin

TwinResult run_twin(const ir::Program& program, const std::vector<Argument>& arguments,
                    const TwinOptions& options) {
  return twin::Run(program, arguments, options).run();
}

}  // namespace tw::sim
