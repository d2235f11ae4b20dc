// A module of LLVM IR under construction. It stands on LLVM's C API, whose headers compile in a
// tenth of a second where those of the C++ one take two; instructions on values are in value.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/backend/cpu/emit/value.h"

struct LLVMOpaqueBasicBlock;
struct LLVMOpaqueBuilder;
struct LLVMOpaqueContext;
struct LLVMOpaqueMetadata;
struct LLVMOpaqueModule;
struct LLVMOpaqueType;

namespace tw::cpu {

/// Flags that floating-point instructions get.
struct FloatFlags {
  bool contract = false;  // a * b + c may become one fma
};

/// A basic block.
class Block {
 public:
  Block() = default;
  explicit Block(LLVMOpaqueBasicBlock* ref) : ref_(ref) {}
  LLVMOpaqueBasicBlock* ref() const { return ref_; }

 private:
  LLVMOpaqueBasicBlock* ref_ = nullptr;
};

/// How an access behaves beyond its address.
struct Access {
  int64_t align = 1;                          // of the address, in bytes
  LLVMOpaqueMetadata* alias_class = nullptr;  // from `alias_class`; null: may alias all
  bool invariant = false;                     // loads: nobody writes it while the function runs
  bool streaming = false;                     // stores past the caches
};

enum class Order : uint8_t { relaxed, acquire, release, acq_rel, seq_cst };
enum class Rmw : uint8_t {
  add,
  min,
  max,
  umin,
  umax,
  bit_and,
  bit_or,
  bit_xor,
  exchange,
  fadd,
  fmin,
  fmax
};

/// A module under construction and the place in it where instructions go.
class Builder {
 public:
  explicit Builder(const std::string& module_name);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  LLVMOpaqueContext* context() const { return context_; }
  LLVMOpaqueModule* module() const { return module_; }
  std::string module_text() const;

  // ---- constants ----
  Val constant(Elem elem, int64_t value, int lanes = 1);
  Val constant(Elem elem, double value, int lanes = 1);
  Val constants(Elem elem, std::span<const int64_t> values);
  Val undefined(Elem elem, int lanes);
  Val zero(Elem elem, int lanes) { return constant(elem, int64_t{0}, lanes); }
  Val iota(Elem elem, int lanes);

  // ---- functions and blocks ----
  /// Begins an external function; instructions go into its first block.
  void begin_function(const std::string& name, Elem result, std::span<const Elem> params,
                      std::span<const std::string> names);
  Val param(int index);
  /// What every function from here on is compiled for.
  void set_target_attributes(std::vector<std::pair<std::string, std::string>> attributes);
  /// Masked accesses of more bits are made in halves; 0: never. Without AVX-512, LLVM 19 reads past
  /// a mask of several registers (or fails) when it splits one that is partly known.
  void set_mask_bits(int64_t bits) { mask_bits_ = bits; }
  /// Marks a pointer parameter: other pointers don't reach its memory, which is only read.
  void mark_readonly_noalias(int param);
  Block new_block(const std::string& name);
  Block here() const;
  void move_to(Block block);
  bool is_terminated() const;
  void branch(Block to);
  void branch(Val cond, Block if_true, Block if_false);
  void ret(Val value);
  Val phi(Elem elem, int lanes, const std::string& name = "");
  void add_incoming(Val phi, Val value, Block from);
  /// A stack slot of `count` elements, made in the first block.
  Val stack_slot(Elem elem, int64_t count, int64_t align, const std::string& name);

  // ---- memory; addresses are pointers, or vectors of them ----
  Val offset(Val pointer, Operand bytes);
  Val load(Val pointer, Elem elem, int lanes, const Access& access);
  void store(Val pointer, Val value, const Access& access);
  Val masked_load(Val pointer, Val mask, Val otherwise, const Access& access);
  void masked_store(Val pointer, Val mask, Val value, const Access& access);
  Val gather(Val pointers, Val mask, Val otherwise, const Access& access);
  void scatter(Val pointers, Val mask, Val value, const Access& access);
  /// A new class of memory: accesses of different classes don't touch the same bytes.
  LLVMOpaqueMetadata* alias_class(const std::string& name);

  Val atomic_load(Val pointer, Elem elem, Order order);
  void atomic_store(Val pointer, Val value, Order order);
  Val atomic_rmw(Rmw op, Val pointer, Val value, Order order);
  /// The previous value.
  Val compare_exchange(Val pointer, Val expected, Val desired, Order order, Val* success = nullptr);

  // ---- calls ----
  /// An intrinsic by its full name; `types` are its overloaded types.
  Val intrinsic(const char* name, std::span<const Val> types_of, std::span<const Val> args);
  Val intrinsic(const char* name, Val arg) { return intrinsic(name, {&arg, 1}, {&arg, 1}); }
  /// One without overloaded types.
  Val plain_intrinsic(const char* name, std::span<const Val> args) {
    return intrinsic(name, {}, args);
  }
  /// A function outside, which neither reads nor writes memory when `pure`.
  Val call(const std::string& name, Elem result, int lanes, std::span<const Val> args, bool pure);
  /// Through a pointer, with C's convention.
  void call_pointer(Val pointer, std::span<const Val> args);

  /// Calls a function of this module that `body` defines, once for each name. Nothing of it mixes
  /// with its callers. The result has the type of the first argument.
  Val helper(const std::string& name, std::span<const Val> args,
             const std::function<Val(Builder&, std::span<const Val>)>& body);
  /// In helpers: changes the rounding mode (numbers of FLT_ROUNDS), and an operation that obeys it.
  void set_rounding(int64_t mode);
  Val constrained(const char* intrinsic, std::span<const Val> args);

  void set_name(Val value, const std::string& name);

  FloatFlags flags;

  // For the free functions of this header.
  LLVMOpaqueBuilder* ref() const { return builder_; }
  LLVMOpaqueType* type(Elem elem, int lanes) const;
  Val make(LLVMOpaqueValue* ref) { return Val(this, ref); }
  /// Gives a floating-point instruction the flags.
  Val flagged(LLVMOpaqueValue* ref);

 private:
  LLVMOpaqueContext* context_;
  LLVMOpaqueModule* module_;
  LLVMOpaqueBuilder* builder_;
  LLVMOpaqueValue* function_ = nullptr;
  LLVMOpaqueMetadata* alias_root_ = nullptr;
  int alias_classes_ = 0;
  bool splits_mask(Val value) const;

  std::vector<std::pair<std::string, std::string>> target_attributes_;
  int64_t mask_bits_ = 0;

  void set_attribute(const std::string& name, const std::string& value);
  Val mark_strict(Val call);
  Val finish_access(LLVMOpaqueValue* instruction, const Access& access, bool plain);
};

}  // namespace tw::cpu
