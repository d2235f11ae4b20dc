// Statements, and the registers that everything is in.
#include "tilewright/sim/twin/assemble.h"

#include <algorithm>
#include <utility>

#include "tilewright/base/convert.h"
#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::sim::twin {
namespace {

/// Bytes to whose multiple local arrays and shared buffers without a place are aligned.
constexpr int64_t kLocalAlign = 16, kSharedAlign = 128;

Space space_of(const ir::Buffer& buffer) {
  switch (buffer.root().space()) {
    case ir::MemSpace::local:
    case ir::MemSpace::variable:
      return Space::local;
    case ir::MemSpace::shared:
    case ir::MemSpace::shared_static:
      return Space::shared;
    case ir::MemSpace::global:
    case ir::MemSpace::workspace:
      return Space::global;
    default:
      throw_internal("space", SourceLoc::here(), buffer.name() + " is in no space of thread IR");
  }
}

int64_t bytes_of(const ir::Buffer& buffer) {
  int64_t elements = 1;
  for (int dim = 0; dim < buffer.rank(); ++dim) {
    elements *= buffer.extent(dim) + (dim == buffer.rank() - 1 ? buffer->padding : 0);
  }
  return (elements * buffer.dtype().bits() + 7) / 8;
}

ElementFn fold_function(ir::CopyFold fold, DType dtype) {
  constexpr ir::AtomicOp kFolds[] = {ir::AtomicOp::add, ir::AtomicOp::min, ir::AtomicOp::max};
  const ElementFn f = atomic_function(kFolds[static_cast<int>(fold) - 1], dtype);
  TW_CHECK(f != nullptr, "{} of {}", ir::enum_name(fold), dtype);
  return f;
}

}  // namespace

class Assembler::Temporaries {
 public:
  explicit Temporaries(Assembler& a) : a_(a), before_(a.temporaries_.size()) {}
  ~Temporaries() {
    a_.free_.insert(a_.free_.end(), a_.temporaries_.begin() + static_cast<int64_t>(before_),
                    a_.temporaries_.end());
    a_.temporaries_.resize(before_);
  }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;

 private:
  Assembler& a_;
  size_t before_;
};

Reg Assembler::fresh() {
  code_.registers.push_back(0);
  return static_cast<Reg>(code_.registers.size() - 1);
}
Reg Assembler::temporary() {
  if (free_.empty()) {
    temporaries_.push_back(fresh());
  } else {
    temporaries_.push_back(free_.back());
    free_.pop_back();
  }
  return temporaries_.back();
}
Reg Assembler::constant(Bits bits) {
  const auto [it, is_new] = constants_.emplace(bits, 0);
  if (is_new) {
    it->second = fresh();
    code_.registers[it->second] = bits;
  }
  return it->second;
}
Reg Assembler::reg(const ir::Var& var) {
  const auto known = regs_.find(var);
  if (known != regs_.end()) return known->second;
  return regs_.emplace(var, fresh()).first->second;
}
std::optional<Reg> Assembler::known(const ir::Var& var) const {
  const auto known = regs_.find(var);
  return known == regs_.end() ? std::nullopt : std::optional(known->second);
}

size_t Assembler::emit(const ir::Node* node, Instruction instruction) {
  code_.instructions.push_back(instruction);
  code_.nodes.push_back(node);
  return here() - 1;
}

int Assembler::buffer(const ir::Buffer& buffer) {
  const auto known = numbers_.find(buffer);
  if (known != numbers_.end()) return known->second;
  TW_CHECK(buffer.rank() <= kMaxRank, "{} has rank {}", buffer.name(), buffer.rank());
  TW_CHECK(buffer.dtype().lanes == 1, "{} has vector elements", buffer.name());
  BufferCode b;
  b.buffer = buffer;
  b.space = space_of(buffer);
  b.width = buffer.dtype().bits();
  const bool is_root = buffer.root().same_as(buffer);
  const int root = is_root ? -1 : this->buffer(buffer.root());
  for (int dim = 0; dim < buffer.rank(); ++dim) {
    b.shape.push_back(fresh());
    b.strides.push_back(fresh());
  }
  b.offset = fresh();
  b.address = fresh();
  b.peer = fresh();
  const auto number = static_cast<int>(code_.buffers.size());
  b.root = is_root ? number : root;
  code_.buffers.push_back(std::move(b));
  bound_.push_back(is_root && !buffer->address);
  numbers_.emplace(buffer, number);
  return number;
}

/// Computes shape, strides and offset of a view, or of a buffer of the block.
void Assembler::bind_view(int number, const ir::Node* node) {
  const Temporaries scope(*this);
  const BufferCode b = code_.buffers[static_cast<size_t>(number)];
  bound_[static_cast<size_t>(number)] = true;
  const ir::BufferNode& buffer = *b.buffer.get();
  const auto set = [&](Reg dst, const ir::Expr& e) {
    emit(node, {.code = Code::copy, .dst = dst, .a = e ? integer(e) : constant(0)});
  };
  for (size_t dim = 0; dim < b.shape.size(); ++dim) set(b.shape[dim], buffer.shape[dim]);
  const std::vector<ir::Expr> strides = ir::strides_of(b.buffer);
  for (size_t dim = 0; dim < b.shape.size(); ++dim) set(b.strides[dim], strides[dim]);
  set(b.offset, buffer.offset);
  if (buffer.address) set(b.address, buffer.address);
  if (buffer.peer) set(b.peer, buffer.peer);
}

LaunchCode Assembler::assemble(const ir::Launch& launch) {
  code_.launch = &launch;
  code_.shared_bytes = unplanned_ = launch.shared_bytes;
  for (const int64_t n : launch.threads) code_.threads *= n;
  for (const ir::Var& var : launch.block_vars) code_.block_vars.push_back(reg(var));
  code_.thread = reg(launch.thread);
  // Views that nothing in the launch allocates are bound before its first statement.
  std::vector<ir::Buffer> allocated;
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    if (const auto* alloc = s.try_as<ir::Alloc>()) allocated.push_back(alloc->buffer);
  });
  struct Uses : ir::Visitor {
    std::vector<ir::Buffer> found;
    using Visitor::visit;
    void visit(const ir::Buffer& b) override { found.push_back(b); }
  } uses;
  uses.visit(launch.body);
  for (const ir::Buffer& used : uses.found) {
    if (!used) continue;
    const auto number = static_cast<size_t>(buffer(used));
    const bool here = std::any_of(allocated.begin(), allocated.end(),
                                  [&](const ir::Buffer& b) { return b.same_as(used); });
    if (!bound_[number] && !here) bind_view(static_cast<int>(number), &launch);
  }
  stmt(launch.body);
  emit(&launch, {.code = Code::end});
  code_.shared_bytes = unplanned_;
  return std::move(code_);
}

void Assembler::stmt(const ir::Stmt& s) {
  if (!s) return;
  const Temporaries scope(*this);
  switch (s.kind()) {
    case ir::Kind::Seq:
      for (const ir::Stmt& part : s.as<ir::Seq>().stmts) stmt(part);
      return;
    case ir::Kind::Let: {
      const auto& let = s.as<ir::Let>();
      return expr_to(reg(let.var), let.value);
    }
    case ir::Kind::Alloc:
      return alloc(s.as<ir::Alloc>());
    case ir::Kind::Store: {
      const auto& store = s.as<ir::Store>();
      const Reg value = expr(store.value);
      const uint32_t place = access(store.buffer, store.indices, &store);
      emit(&store, {.code = Code::store, .a = place, .b = value});
      return;
    }
    case ir::Kind::For:
      return loop(s.as<ir::For>());
    case ir::Kind::If:
      return branch(s.as<ir::If>());
    case ir::Kind::While:
      return while_loop(s.as<ir::While>());
    case ir::Kind::Break:
      loops_.back().breaks.push_back(emit(s.get(), {.code = Code::jump}));
      return;
    case ir::Kind::Continue:
      loops_.back().continues.push_back(emit(s.get(), {.code = Code::jump}));
      return;
    case ir::Kind::Prefetch:
      return;
    case ir::Kind::Atomic:
      return atomic(s.as<ir::Atomic>());
    case ir::Kind::Print:
      return print(s.as<ir::Print>());
    case ir::Kind::Assert: {
      const auto& a = s.as<ir::Assert>();
      return check(a.cond, s.get(), a.message, a.values, false);
    }
    case ir::Kind::Assume:
      return check(s.as<ir::Assume>().cond, s.get(), "the assumed condition is false", {}, true);
    case ir::Kind::Barrier:
      return barrier(s.as<ir::Barrier>());
    case ir::Kind::WarpOp:
      return warp(s.as<ir::WarpOp>());
    case ir::Kind::Move:
      return move(s.as<ir::Move>());
    case ir::Kind::AsyncCopy:
      return async(s.as<ir::AsyncCopy>());
    case ir::Kind::Sync:
      return sync(s.as<ir::Sync>());
    default:
      throw_internal("kind", s.loc(), "no statement of thread IR");
  }
}

void Assembler::alloc(const ir::Alloc& alloc) {
  const int number = buffer(alloc.buffer);
  const bool is_view = alloc.buffer->view_of || alloc.buffer->address;
  if (!is_view) {
    BufferCode& b = code_.buffers[static_cast<size_t>(number)];
    b.bytes = bytes_of(alloc.buffer);
    if (alloc.buffer->padding != 0) {
      b.row_bits = alloc.buffer.extent(alloc.buffer.rank() - 1) * b.width;
      b.padding_bits = alloc.buffer->padding * b.width;
    }
    if (b.space == Space::local) {
      b.plain = b.padding_bits == 0 && b.shape.size() <= 1 && b.width >= 8;
      b.base = code_.local_bytes;
      code_.local_bytes = ceil_div(b.base + b.bytes, kLocalAlign) * kLocalAlign;
    } else {
      TW_CHECK(b.space == Space::shared, "{} is allocated in {}", b.buffer.name(),
               ir::enum_name(b.buffer.space()));
      b.base = alloc.place;
      if (alloc.place < 0) {
        b.base = ceil_div(unplanned_, kSharedAlign) * kSharedAlign;
        unplanned_ = b.base + b.bytes;
      }
    }
  }
  bind_view(number, &alloc);
  const auto a = static_cast<uint32_t>(number);
  if (!is_view && code_.buffers[a].space == Space::local) {
    emit(&alloc, {.code = Code::forget, .a = a});
  }
  if (alloc.initial) {
    const Reg value = expr(alloc.initial);
    const uint32_t place = access(alloc.buffer, {}, &alloc);
    emit(&alloc, {.code = Code::store, .a = place, .b = value});
  }
}

void Assembler::loop(const ir::For& loop) {
  const Reg i = temporary(), var = reg(loop.var);
  emit(&loop, {.code = Code::copy, .dst = i, .a = integer(loop.lo)});
  const Reg end = integer(loop.hi), step = integer(loop.step);
  const size_t head = emit(&loop, {.code = Code::loop, .a = i, .b = end, .c = step});
  emit(&loop, {.code = Code::resize,
               .dst = var,
               .a = i,
               .b = static_cast<uint32_t>(loop.var.dtype().bits())});
  loops_.emplace_back();
  stmt(loop.body);
  patch(loops_.back().continues);
  emit(&loop, {.code = Code::advance, .dst = i, .a = i, .b = step});
  emit(&loop, {.code = Code::jump, .dst = static_cast<uint32_t>(head)});
  patch(head);
  patch(loops_.back().breaks);
  loops_.pop_back();
}

void Assembler::branch(const ir::If& branch) {
  const size_t to_else = emit(&branch, {.code = Code::jump_unless, .a = expr(branch.cond)});
  stmt(branch.then_body);
  if (branch.else_body) {
    const size_t to_end = emit(&branch, {.code = Code::jump});
    patch(to_else);
    stmt(branch.else_body);
    patch(to_end);
  } else {
    patch(to_else);
  }
}

void Assembler::while_loop(const ir::While& loop) {
  const auto head = static_cast<uint32_t>(here());
  const size_t out = emit(&loop, {.code = Code::jump_unless, .a = expr(loop.cond)});
  loops_.emplace_back();
  stmt(loop.body);
  patch(loops_.back().continues);
  const Reg counter = temporary();
  emit(&loop, {.code = Code::advance, .dst = counter, .a = counter, .b = constant(0)});
  emit(&loop, {.code = Code::jump, .dst = head});
  patch(out);
  patch(loops_.back().breaks);
  loops_.pop_back();
}

void Assembler::move(const ir::Move& move) {
  const auto count = static_cast<int>(move.count);
  const uint32_t dst = access(move.dst, move.dst_indices, &move, count);
  const uint32_t src = access(move.src, move.src_indices, &move, count);
  if (move.fold != ir::CopyFold::none) {
    AtomicCode a;
    a.combine = fold_function(move.fold, move.dst.dtype());
    code_.atomics.push_back(a);
    emit(&move, {.code = Code::fold_out,
                 .dst = static_cast<uint32_t>(code_.atomics.size() - 1),
                 .a = dst,
                 .b = src});
    return;
  }
  const bool in = code_.buffers[static_cast<size_t>(buffer(move.dst))].space == Space::local;
  emit(&move, {.code = in ? Code::move_in : Code::move_out, .a = dst, .b = src});
}

void Assembler::atomic(const ir::Atomic& atomic) {
  using ir::AtomicOp;
  using ir::MemoryOrder;
  const DType dtype = atomic.buffer.dtype();
  AtomicCode a;
  a.node = &atomic;
  a.combine = atomic_function(atomic.op, dtype);
  TW_CHECK(a.combine != nullptr, "atomic {} of {}", ir::enum_name(atomic.op), dtype);
  if (atomic.value) a.value = expr(atomic.value);
  if (atomic.compare) a.compare = expr(atomic.compare);
  a.reads = atomic.op != AtomicOp::store;
  a.waits = ir::waits(atomic.op);
  a.writes = !ir::only_reads(atomic.op);
  const bool both = atomic.order == MemoryOrder::acq_rel || atomic.order == MemoryOrder::seq_cst;
  a.acquires = a.reads && (both || atomic.order == MemoryOrder::acquire);
  a.releases = a.writes && (both || atomic.order == MemoryOrder::release);
  const uint32_t place = access(atomic.buffer, atomic.indices, &atomic);
  code_.accesses[place].block_scope = atomic.scope == ir::AtomicScope::block;
  const Reg dst = atomic.result ? reg(atomic.result) : temporary();
  code_.atomics.push_back(a);
  emit(&atomic, {.code = Code::atomic,
                 .dst = dst,
                 .a = place,
                 .b = static_cast<uint32_t>(code_.atomics.size() - 1)});
}

void Assembler::warp(const ir::WarpOp& op) {
  using ir::WarpCode;
  WarpOpCode w;
  w.node = &op;
  if (!op.args.empty()) {
    w.value = expr(op.args[0]);
    w.dtype = op.args[0].dtype();
  }
  if (op.args.size() > 1) w.lane = integer(op.args[1]);
  if (op.result) w.dst = reg(op.result);
  const auto fold = [&](ir::OpCode code) { w.fold = element_function(code, w.dtype); };
  switch (op.code) {
    case WarpCode::reduce_add:
      fold(ir::OpCode::add);
      break;
    case WarpCode::reduce_min:
      fold(ir::OpCode::min);
      break;
    case WarpCode::reduce_max:
      fold(ir::OpCode::max);
      break;
    case WarpCode::reduce_and:
      fold(ir::OpCode::bit_and);
      break;
    case WarpCode::reduce_or:
      fold(ir::OpCode::bit_or);
      break;
    case WarpCode::reduce_xor:
      fold(ir::OpCode::bit_xor);
      break;
    default:
      break;
  }
  code_.warps.push_back(w);
  emit(&op, {.code = Code::warp, .a = static_cast<uint32_t>(code_.warps.size() - 1)});
}

void Assembler::barrier(const ir::Barrier& barrier) {
  BarrierCode b;
  b.node = &barrier;
  if (barrier.cond) b.cond = expr(barrier.cond);
  if (barrier.result) b.dst = reg(barrier.result);
  code_.barriers.push_back(b);
  emit(&barrier, {.code = Code::barrier, .a = static_cast<uint32_t>(code_.barriers.size() - 1)});
}

void Assembler::async(const ir::AsyncCopy& copy) {
  const auto side = [&](const ir::Region& r) {
    SideCode s;
    for (const ir::Expr& e : r.extent) s.extent.push_back(*ir::as_int(e));
    s.access = access(r.buffer, r.begin, &copy);
    return s;
  };
  AsyncCode a;
  a.node = &copy;
  a.src = side(copy.src);
  a.dst = side(copy.dst);
  a.valid = copy.valid ? expr(copy.valid) : constant(1);
  if (copy.barrier) a.phases = access(copy.barrier, copy.at, &copy);
  if (copy.fold != ir::CopyFold::none) a.fold = fold_function(copy.fold, copy.src.buffer.dtype());
  code_.asyncs.push_back(std::move(a));
  emit(&copy, {.code = Code::async, .a = static_cast<uint32_t>(code_.asyncs.size() - 1)});
}

void Assembler::sync(const ir::Sync& sync) {
  SyncOpCode s;
  s.node = &sync;
  if (sync.barrier) s.phases = access(sync.barrier, sync.at, &sync);
  if (sync.value) s.value = integer(sync.value);
  if (sync.result) s.dst = reg(sync.result);
  code_.syncs.push_back(s);
  emit(&sync, {.code = Code::sync, .a = static_cast<uint32_t>(code_.syncs.size() - 1)});
}

uint32_t Assembler::message(std::string text, const std::vector<ir::Expr>& values) {
  MessageCode m;
  m.text = std::move(text);
  for (const ir::Expr& value : values) {
    m.values.push_back(expr(value));
    m.dtypes.push_back(value.dtype());
  }
  code_.messages.push_back(std::move(m));
  return static_cast<uint32_t>(code_.messages.size() - 1);
}

void Assembler::print(const ir::Print& print) {
  const uint32_t number = message(print.message, print.values);
  if (print.buffer) {
    const uint32_t place = access(print.buffer, {}, &print);
    for (int dim = 0; dim < print.buffer.rank(); ++dim) {
      code_.accesses[place].index.push_back({temporary(), 0});
    }
    code_.messages[number].access = static_cast<int>(place);
  }
  emit(&print, {.code = Code::print, .a = number});
}

void Assembler::check(const ir::Expr& cond, const ir::Node* node, const std::string& text,
                      const std::vector<ir::Expr>& values, bool assumed) {
  const size_t holds = emit(node, {.code = Code::jump_if, .a = expr(cond)});
  const uint32_t number = message(text, values);
  code_.messages[number].assumed = assumed;
  emit(node, {.code = Code::fail, .a = number});
  patch(holds);
}

}  // namespace tw::sim::twin
