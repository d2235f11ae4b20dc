// The state of emitting one launch. Its functions are in emit_launch.cpp (the frame),
// emit_stmt.cpp, emit_expr.cpp, emit_memory.cpp and emit_effects.cpp (atomics, prints, asserts).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tilewright/backend/cpu/emit/emit.h"
#include "tilewright/backend/cpu/emit/storage.h"

namespace tw::cpu {

/// Distances of the lanes from a common value.
using Offsets = std::shared_ptr<const std::vector<int64_t>>;

/// What an expression is worth at a program point. Inside a vectorized loop it is one of
///   uniform    the same for all lanes: `val` holds one element
///   pattern    an integer that differs by constants: lane l is val + (*offsets)[l]
///   varying    `val` holds the elements of all lanes, one lane after the other
/// An element of a vector dtype is itself several LLVM lanes.
struct Value {
  Val val;
  bool varying = false;
  Offsets offsets;
  int64_t multiple = 1;  // of an integer: what certainly divides `val`; 0: it is 0

  bool uniform() const { return !varying && !offsets; }
};

/// Memory that a root buffer stands for.
struct Storage {
  Val base;
  int64_t align = 1;   // of base
  int64_t bytes = -1;  // when all of it may be touched, whatever the masks say; else -1
  Access access;       // how it is accessed: class and invariance
};

class Emitter {
 public:
  Emitter(Builder& builder, const Target& target, const EmitOptions& options,
          runtime::KernelMetadata& metadata);

  int64_t launch(const ir::Program& program, const ir::Launch& launch, const std::string& entry);

 private:
  // ---- the frame ----
  void bind_arguments(const ir::Program& program, const ir::Launch& launch, Val args);
  void bind_buffers(const ir::Launch& launch, const StoragePlan& plan, Val scratch);
  void bind_block(const ir::Launch& launch, Val grid, Val block);

  // ---- statements ----
  void stmt(const ir::Stmt& s);
  void serial_loop(const ir::For& loop);
  void vector_loop(const ir::For& loop);
  void while_loop(const ir::While& loop);
  void branch(const ir::If& branch);
  void jump(Block to);

  // ---- expressions ----
  Value value(const ir::Expr& expr);
  Value compute(const ir::Expr& expr);
  Value condition(const ir::Expr& cond);  // as a bool; an integer holds unless it is 0
  Value constant(const ir::Const& c);
  Value operation(const ir::Op& op);
  Value conversion(const ir::Cast& cast);
  Value lazy(const ir::Op& op);
  Value choose(const Value& cond, const ir::Expr& if_true, const ir::Expr& if_false);
  std::optional<Value> index_operation(const ir::Op& op, const Value& a, const Value& b);
  std::optional<Value> compare_pattern(const ir::Op& op, const Value& a, const Value& b);
  /// The value's element where all lanes agree, or all lanes.
  Val scalar(const Value& v) const;
  Val lanes(const Value& v, DType dtype);
  Val uniform(const ir::Expr& expr);  // it must be
  int element_lanes(DType dtype) const { return lanes_ * dtype.lanes; }
  /// Runs f with the lanes narrowed to those where `mask` holds.
  template <class F>
  auto under(Val mask, F f) {
    const Val outside = mask_;
    mask_ = outside ? outside & mask : mask;
    memo_.emplace_back();
    struct Restore {  // also when f throws or returns a value
      Emitter& self;
      Val outside;
      ~Restore() {
        self.mask_ = outside;
        self.memo_.pop_back();
      }
    } restore{*this, outside};
    return f();
  }

  // ---- memory ----
  struct Address {
    const Storage* storage;
    Value index;  // of the element, in the dtype, from the root's start
    DType dtype;
  };
  const Storage& storage_of(const ir::Buffer& root);
  Address address(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices);
  Value load(const ir::Load& load);
  Value load_at(const Address& at);
  void store_at(const Address& at, const Value& value, bool streaming);
  Value load_packed(const Address& at);
  void store_packed(const Address& at, const Value& value);
  void prefetch(const ir::Prefetch& prefetch);
  void store_vector(const Address& at, Val pointer, Val memory, bool streaming);
  bool fills_bytes(const Address& at) const;
  void bind_view(const ir::Buffer& view);
  Val pointer(const Address& at, Val index);
  Val pointers(const Address& at);
  Val wide_mask(DType dtype);
  Val last_lane();
  /// What f computes when some lane is active, else zero; f may touch memory.
  template <class F>
  Val if_any_lane(F f) {
    const Block before = b_.here(), some = b_.new_block("some"), exit = b_.new_block("none");
    b_.branch(any_of(mask_), some, exit);
    b_.move_to(some);
    const Val v = f();
    const Block after = b_.here();
    b_.branch(exit);
    b_.move_to(exit);
    const Val phi = b_.phi(v.elem(), v.lanes());
    b_.add_incoming(phi, b_.zero(v.elem(), v.lanes()), before);
    b_.add_incoming(phi, v, after);
    return phi;
  }
  Access access(const Address& at) const;
  /// Whether an access without mask is harmless: all lanes are inside.
  bool is_inside(const Address& at) const;
  Val from_memory(DType dtype, Val memory);
  Val to_memory(DType dtype, Val value);

  // ---- effects ----
  void atomic(const ir::Atomic& atomic);
  void print(const ir::Print& print);
  void check(const ir::Assert& check);
  /// Calls a callback of runtime/cpu_abi.h with the values as 64-bit words.
  void call_back(int slot, const std::string& text, SourceLoc where,
                 const std::vector<ir::Expr>& values);

  Builder& b_;
  const Target& target_;
  const EmitOptions& options_;
  runtime::KernelMetadata& metadata_;

  std::map<ir::Var, Value, ir::ById> vars_;
  std::map<ir::Buffer, Storage, ir::ById> storage_;
  std::map<ir::Buffer, ir::Var, ir::ById> view_offset_;
  std::vector<std::map<ir::Expr, Value, ir::ById>> memo_{
      1};  // of the statement, a scope per lazy operand

  int lanes_ = 1;  // of the vectorized loop that we are in
  Val mask_;       // its active lanes; null: all
  struct Loop {
    Block next, exit;
  };
  std::vector<Loop> loops_;
  Val block_index_, callbacks_;
  bool has_streamed_ = false;
};

}  // namespace tw::cpu
