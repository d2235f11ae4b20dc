// The checks of a call and the solution of its symbols, driven by tables that are
// made once per kernel.
#pragma once

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "tilewright/runtime/argument.h"
#include "tilewright/runtime/metadata.h"

namespace tw::runtime {

/// What a call knows of its arguments. Lives on the stack; nothing is initialized
/// but what `bind` sets.
class Binding {
 public:
  Binding() {}  // leaves the arrays alone

  const Tensor* tensors[kMaxParams];  // null for what isn't a tensor or is null
  uint64_t raw[kMaxParams];           // addresses, and bits of scalars in their dtype
  int64_t scalars[kMaxParams];        // values of whole scalars
  int64_t symbols[kMaxSymbols];
  uint16_t solved_by[kMaxSymbols];  // the row that gave the value
  uint64_t known;                   // bit i: symbol i has a value
  uint64_t omitted;                 // bit i: parameter i is an output that the caller left out
  uint64_t pending;                 // bit i: deferred rows of parameter i
  Device device;                    // of the tensors

  HostValues values() const { return {symbols, tensors, scalars}; }
  /// Keeps a tensor for the time of the call as the value of a parameter.
  void keep(size_t param, const Tensor& tensor) {
    tensors[param] = new (&kept_[param * sizeof(Tensor)]) Tensor(tensor);
  }

 private:
  alignas(Tensor) std::byte kept_[kMaxParams * sizeof(Tensor)];
};

/// One check: an extent or a stride of an argument against an expression.
struct EntryRow {
  HostExpr expr;
  uint64_t needs;    // symbols of the expression
  int64_t constant;  // its value when it is constant
  int16_t symbol;    // the symbol when it is just one, else -1
  bool is_constant;
  bool is_stride;
  uint8_t param, dim;
};

/// The checks of language 26 for one kernel. Each failure is an Error with its E-HOST code.
class ArgumentTable {
 public:
  /// The metadata is verified and must live as long.
  explicit ArgumentTable(const KernelMetadata& metadata);

  /// Checks the arguments and solves the symbols. Outputs that were left out are marked; their rows
  /// are checked by `bind_output`.
  void bind(std::span<const Arg> args, Binding& binding) const;
  /// Checks that tensors don't share memory where the kernel relies on it: what it writes with
  /// anything else, but for two that are both declared no_restrict. With `in_place` an output may
  /// be an input itself.
  void check_apart(const Binding& binding, bool in_place) const;
  /// The shape of an output or a workspace.
  Shape shape_of(size_t param, const Binding& binding) const;
  /// Checks what an allocator returned for an output that was left out.
  void bind_output(size_t param, const Tensor& tensor, Binding& binding) const;

 private:
  friend class CallErrors;
  struct ParamRow {
    uint16_t first_row, last_row;
    uint8_t rank;
    ParamKind kind;
    DType dtype;
    bool compact, nullable;
    int64_t align_mask;
    uint8_t arg, short_arg;  // its place among the arguments, with and without the outputs
    int8_t symbol = -1;      // that a scalar gives
  };

  void bind_tensor(size_t param, const Arg& arg, Binding& binding) const;
  void check_tensor(size_t param, const Tensor& tensor, Binding& binding) const;
  void check_compact(size_t param, const Tensor& tensor) const;
  bool check_row(size_t row, int64_t actual, Binding& binding) const;
  bool solve(size_t row, int symbol, int64_t actual, Binding& binding) const;
  void check_pending(Binding& binding) const;
  void settle_unknown(Binding& binding) const;
  void check_facts(const Binding& binding) const;
  void bind_scalar(size_t param, const Arg& arg, Binding& binding) const;
  void bind_pointer(size_t param, const Arg& arg, Binding& binding) const;

  const KernelMetadata& metadata_;
  std::vector<ParamRow> params_;
  std::vector<uint8_t>
      order_;  // parameters that the caller gives: scalars and pointers, then tensors
  std::vector<EntryRow> rows_;
  std::vector<std::pair<uint8_t, uint8_t>> apart_;  // a tensor that is written, and another
  std::vector<uint8_t> reaching_;                   // the tensors in these pairs
  size_t full_count_ = 0, short_count_ = 0;         // arguments with and without the outputs
};

}  // namespace tw::runtime
