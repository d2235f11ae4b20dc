// The frame of a launch: arguments, memory, and the loop over blocks.
#include <set>

#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cpu {
namespace {

using runtime::PackedField;

/// The root buffers that a launch writes.
std::set<ir::Buffer, ir::ById> written_by(const ir::Launch& launch) {
  std::set<ir::Buffer, ir::ById> written;
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) written.insert(store->buffer.root());
    if (const auto* atomic = s.try_as<ir::Atomic>()) written.insert(atomic->buffer.root());
  });
  return written;
}

int64_t element_align(DType dtype) { return std::max(1, DType(dtype.scalar).bits() / 8); }

}  // namespace

Emitter::Emitter(Builder& builder, const Target& target, const EmitOptions& options,
                 runtime::KernelMetadata& metadata)
    : b_(builder), target_(target), options_(options), metadata_(metadata) {}

int64_t Emitter::launch(const ir::Program& program, const ir::Launch& launch,
                        const std::string& entry) {
  const StoragePlan plan = plan_storage(launch);

  const Elem params[] = {kPtr, kPtr, kI64, kI64, kPtr, kPtr};
  const std::string names[] = {"args", "grid", "first_block", "last_block", "scratch", "callbacks"};
  b_.begin_function(entry, kI32, params, names);
  b_.mark_readonly_noalias(0);
  b_.mark_readonly_noalias(1);
  callbacks_ = b_.param(5);
  bind_arguments(program, launch, b_.param(0));
  bind_buffers(launch, plan, b_.param(4));

  // Runs the body for each block of the range.
  const Val first = b_.param(2), last = b_.param(3);
  const Block entry_block = b_.here(), body = b_.new_block("block"), exit = b_.new_block("exit");
  b_.branch(icmp(Pred::slt, first, last), body, exit);
  b_.move_to(body);
  block_index_ = b_.phi(kI64, 1, "block");
  b_.add_incoming(block_index_, first, entry_block);
  bind_block(launch, b_.param(1), block_index_);
  stmt(launch.body);
  const Val next = block_index_ + 1;
  b_.add_incoming(block_index_, next, b_.here());
  b_.branch(icmp(Pred::slt, next, last), body, exit);

  b_.move_to(exit);
  if (has_streamed_) b_.plain_intrinsic("llvm.x86.sse.sfence", {});
  b_.ret(b_.constant(kI32, int64_t{0}));
  return plan.scratch_bytes;
}

void Emitter::bind_arguments(const ir::Program& program, const ir::Launch& launch, Val args) {
  const auto slot = [&](PackedField::Kind kind, size_t index, Elem elem) {
    const int64_t offset = runtime::packed_offset(metadata_, kind, static_cast<int>(index));
    TW_CHECK(offset >= 0, "argument {} isn't in the packed block", index);
    return b_.load(b_.offset(args, offset), elem, 1, {.align = 8, .invariant = true});
  };
  const std::set<ir::Buffer, ir::ById> written = written_by(launch);
  // Tensors that may overlap share a class; all others have one of their own.
  LLVMOpaqueMetadata* overlapping = nullptr;
  bool writes_overlapping = false;
  for (const ir::Param& param : program.params) {
    if (param.buffer && param.buffer->may_alias) {
      writes_overlapping = writes_overlapping || written.contains(param.buffer);
    }
  }
  const auto bind_tensor = [&](const ir::Buffer& buffer, size_t index) {
    Storage& storage = storage_[buffer];
    storage.base = slot(PackedField::Kind::address, index, kPtr);
    b_.set_name(storage.base, buffer.name());
    storage.align = std::max(buffer->align, element_align(buffer.dtype()));
    const bool shared = buffer->may_alias;
    if (shared && overlapping == nullptr) overlapping = b_.alias_class("overlapping");
    storage.access.alias_class = shared ? overlapping : b_.alias_class(buffer.name());
    storage.access.invariant = !written.contains(buffer) && !(shared && writes_overlapping);
  };
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const ir::Symbol& symbol = program.symbols[i];
    Value& v = vars_[symbol.var];
    v = {.val = slot(PackedField::Kind::symbol, i, kI64), .multiple = symbol.multiple_of};
    v.val = int_resize(v.val, register_elem(symbol.var.dtype()), true);
    b_.set_name(v.val, symbol.var.name());
  }
  for (size_t i = 0; i < program.params.size(); ++i) {
    const ir::Param& param = program.params[i];
    if (param.kind == ir::ParamKind::pointer) {
      Storage& storage = storage_[param.buffer];  // may point anywhere
      storage.base = slot(PackedField::Kind::address, i, kPtr);
      storage.align = std::max(param.buffer->align, element_align(param.buffer.dtype()));
      b_.set_name(storage.base, param.buffer.name());
    } else if (param.buffer) {
      bind_tensor(param.buffer, i);
    } else {
      const DType dtype = param.var.dtype();
      const Elem elem = register_elem(dtype);
      Val v = slot(PackedField::Kind::scalar, i, dtype.is_bool() ? kI8 : elem);
      if (dtype.is_bool()) v = ne(v, 0);
      b_.set_name(v, param.var.name());
      vars_[param.var].val = v;  // keeps what is known of a size
    }
  }
  for (size_t i = 0; i < program.workspaces.size(); ++i) {
    bind_tensor(program.workspaces[i].buffer, program.params.size() + i);
  }
}

void Emitter::bind_buffers(const ir::Launch& launch, const StoragePlan& plan, Val scratch) {
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc == nullptr || alloc->buffer->view_of || storage_.contains(alloc->buffer)) return;
    const ir::Buffer& buffer = alloc->buffer;
    Storage& storage = storage_[buffer];
    storage.align = 64;
    storage.bytes = bytes_of(buffer);
    storage.access.alias_class = b_.alias_class(buffer.name());
    if (const auto at = plan.scratch.find(buffer); at != plan.scratch.end()) {
      storage.base = b_.offset(scratch, at->second);
    } else if (buffer.rank() == 0) {
      const DType dtype = buffer.dtype();
      storage.base = b_.stack_slot(dtype.is_bool() ? kI8 : register_elem(dtype), dtype.lanes,
                                   element_align(dtype), buffer.name());
      storage.align = element_align(dtype);
    } else {
      const bool packed = buffer.dtype().is_sub_byte() || buffer.dtype().is_bool();
      const Elem elem = packed ? kI8 : register_elem(buffer.dtype());
      storage.base = b_.stack_slot(elem, storage.bytes * 8 / elem.bits, 64, buffer.name());
    }
  });
}

void Emitter::bind_block(const ir::Launch& launch, Val grid, Val block) {
  Val rest = block;
  for (size_t d = 0; d < launch.block_vars.size(); ++d) {
    const ir::Var& var = launch.block_vars[d];
    Val at = rest;
    if (d + 1 < launch.block_vars.size()) {
      const Val extent = b_.load(b_.offset(grid, static_cast<int64_t>(d) * 8), kI64, 1,
                                 {.align = 8, .invariant = true});
      at = urem(rest, extent);
      rest = udiv(rest, extent);
    }
    at = int_resize(at, register_elem(var.dtype()), true);
    b_.set_name(at, var.name());
    vars_[var] = {.val = at};
  }
}

int64_t emit_launch(Builder& builder, const Target& target, const EmitOptions& options,
                    const ir::Program& program, const ir::Launch& launch, const std::string& entry,
                    runtime::KernelMetadata& metadata) {
  return Emitter(builder, target, options, metadata).launch(program, launch, entry);
}

}  // namespace tw::cpu
