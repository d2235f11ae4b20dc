// Integer expressions that the host evaluates at a call: shapes, strides, grids, sizes and guards.
// A flat postfix program over what is known of the arguments; evaluating it allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/runtime/tensor.h"

namespace tw::runtime {

/// What an expression can refer to. Tensors and scalars are indexed by parameter; an entry that
/// isn't of the kind is never read. A null tensor reads as a null address with zero extents.
struct HostValues {
  const int64_t* symbols = nullptr;
  const Tensor* const* tensors = nullptr;
  const int64_t* scalars = nullptr;  // integers and bools
};

enum class HostOp : uint8_t {
  // Leaves.
  constant,     // value
  symbol,       // index of the symbol
  scalar,       // index of the parameter
  extent,       // index of the parameter, dim
  stride,       // index of the parameter, dim
  address_mod,  // index of the parameter: its address mod kAddressModulus
  // Of two operands. Comparisons and `and`, `or` give 0 or 1; both operands are evaluated.
  add,
  sub,
  mul,
  floordiv,
  floormod,
  cdiv,
  min,
  max,
  eq,
  ne,
  lt,
  le,
  logical_and,
  logical_or,
};

/// What `address_mod` is taken modulo.
inline constexpr int64_t kAddressModulus = 64;

/// An expression. It is total: a division by zero gives zero, and overflow saturates (so that a
/// size which overflows is too large to be allocated, never too small).
class HostExpr {
 public:
  struct Instr {
    HostOp op;
    uint8_t dim = 0;
    int64_t value = 0;
    friend bool operator==(const Instr&, const Instr&) = default;
  };

  HostExpr() : HostExpr(0) {}
  HostExpr(int64_t value) : code_{{HostOp::constant, 0, value}} {}
  static HostExpr symbol(int index) { return leaf(HostOp::symbol, index); }
  static HostExpr scalar(int param) { return leaf(HostOp::scalar, param); }
  static HostExpr extent(int param, int dim) { return leaf(HostOp::extent, param, dim); }
  static HostExpr stride(int param, int dim) { return leaf(HostOp::stride, param, dim); }
  static HostExpr address_mod(int param) { return leaf(HostOp::address_mod, param); }
  /// Applies an operation of two operands. Constants are folded. Deeper than kMaxDepth is an Error.
  static HostExpr binary(HostOp op, const HostExpr& a, const HostExpr& b);
  /// A program as `text` or JSON gave it; one that isn't well formed is an Error.
  static HostExpr from_code(std::vector<Instr> code);

  int64_t evaluate(const HostValues& values) const;

  bool is_constant() const { return code_.size() == 1 && code_[0].op == HostOp::constant; }
  int64_t constant() const { return code_[0].value; }
  /// The index when the expression is just one symbol, else -1.
  int as_symbol() const;
  /// Bit i: symbol i occurs. Symbols are below kMaxSymbols.
  uint64_t symbols() const;
  /// What `and` joins: all hold exactly if the expression does.
  std::vector<HostExpr> conjuncts() const;
  /// Whether it is a * s + b in symbol s, where a and b don't contain s.
  bool is_affine_in(int symbol) const;
  std::span<const Instr> code() const { return code_; }

  friend bool operator==(const HostExpr&, const HostExpr&) = default;

 private:
  static HostExpr leaf(HostOp op, int64_t index, int dim = 0);

  std::vector<Instr> code_;
};

/// Depth of the evaluation's stack, and how many symbols a kernel can have.
inline constexpr int kMaxDepth = 32;
inline constexpr int kMaxSymbols = 64;

inline HostExpr operator+(const HostExpr& a, const HostExpr& b) {
  return HostExpr::binary(HostOp::add, a, b);
}
inline HostExpr operator-(const HostExpr& a, const HostExpr& b) {
  return HostExpr::binary(HostOp::sub, a, b);
}
inline HostExpr operator*(const HostExpr& a, const HostExpr& b) {
  return HostExpr::binary(HostOp::mul, a, b);
}
inline HostExpr cdiv(const HostExpr& a, const HostExpr& b) {
  return HostExpr::binary(HostOp::cdiv, a, b);
}

/// Names for printing; an index without a name prints as in `to_text`.
struct HostNames {
  std::function<std::string(int)> symbol, param;
};

/// Infix, with names: `cdiv(m, 128) * 2 + 1`, `A.shape[0] <= 64 && A.address % 64 == 0`.
std::string to_text(const HostExpr& expr, const HostNames& names);
/// The same with the names s0, s1, ... of symbols and p0, p1, ... of parameters.
std::string to_text(const HostExpr& expr);

/// Postfix text, as metadata stores it: `s0 128 cdiv 2 mul 1 add`, `p0.shape0`, `p0.stride1`,
/// `p0.address`, `p3.value`. Reading what isn't such a text is an Error.
std::string to_postfix(const HostExpr& expr);
HostExpr parse_postfix(std::string_view text);

}  // namespace tw::runtime
