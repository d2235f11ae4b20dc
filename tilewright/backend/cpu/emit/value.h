// Values in generated code and the operations on them: LLVM's instructions in the emitter's words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

struct LLVMOpaqueValue;

namespace tw::cpu {

class Builder;

/// Type of one lane. Pointers have 64 bits and are a kind of their own.
struct Elem {
  enum Kind : uint8_t { integer, floating, bfloat, pointer };
  int bits;
  Kind kind = integer;
  friend constexpr bool operator==(Elem, Elem) = default;
};
inline constexpr Elem kI1{1}, kI8{8}, kI16{16}, kI32{32}, kI64{64};
inline constexpr Elem kHalf{16, Elem::floating}, kF32{32, Elem::floating}, kF64{64, Elem::floating};
inline constexpr Elem kBfloat{16, Elem::bfloat};  // only as operands of intrinsics
inline constexpr Elem kPtr{64, Elem::pointer};

/// A value in generated code: a scalar, or a vector of at least two lanes.
class Val {
 public:
  Val() = default;
  Val(Builder* builder, LLVMOpaqueValue* ref) : builder_(builder), ref_(ref) {}

  explicit operator bool() const { return ref_ != nullptr; }
  LLVMOpaqueValue* ref() const { return ref_; }
  Builder& builder() const { return *builder_; }
  Elem elem() const;
  int lanes() const;  // 1: a scalar
  int bits() const { return elem().bits; }
  bool is_const() const;
  /// The value of an integer constant.
  std::optional<int64_t> literal() const;

 private:
  Builder* builder_ = nullptr;
  LLVMOpaqueValue* ref_ = nullptr;
};

/// The right operand of an operation: a value, or an integer literal that takes
/// the left one's type.
struct Operand {
  Val val;
  int64_t literal = 0;
  Operand(Val v) : val(v) {}
  Operand(int64_t v) : literal(v) {}
  Operand(int v) : literal(v) {}
  Operand(uint32_t v) : literal(v) {}
  Val like(Val other) const;
};

// ---- integers, lane by lane; a scalar beside a vector stands for all lanes ----
Val operator+(Val a, Operand b);
Val operator-(Val a, Operand b);
Val operator*(Val a, Operand b);
Val operator&(Val a, Operand b);
Val operator|(Val a, Operand b);
Val operator^(Val a, Operand b);
Val operator~(Val a);
Val operator-(Val a);
Val shl(Val a, Operand b);
Val lshr(Val a, Operand b);
Val ashr(Val a, Operand b);
Val sdiv(Val a, Operand b);
Val udiv(Val a, Operand b);
Val urem(Val a, Operand b);
enum class Pred : uint8_t { eq, ne, ult, ule, ugt, uge, slt, sle, sgt, sge };
Val icmp(Pred pred, Val a, Operand b);
inline Val eq(Val a, Operand b) { return icmp(Pred::eq, a, b); }
inline Val ne(Val a, Operand b) { return icmp(Pred::ne, a, b); }
inline Val ult(Val a, Operand b) { return icmp(Pred::ult, a, b); }
inline Val ugt(Val a, Operand b) { return icmp(Pred::ugt, a, b); }
inline Val slt(Val a, Operand b) { return icmp(Pred::slt, a, b); }
inline Val sgt(Val a, Operand b) { return icmp(Pred::sgt, a, b); }
Val umin(Val a, Operand b);
Val umax(Val a, Operand b);
Val smin(Val a, Operand b);
Val smax(Val a, Operand b);

// ---- floats ----
Val fadd(Val a, Val b);
Val fsub(Val a, Val b);
Val fmul(Val a, Val b);
Val fdiv(Val a, Val b);
Val frem(Val a, Val b);
Val fneg(Val a);
Val fma(Val a, Val b, Val c);
/// Comparisons: `o...` are false and `u...` true when an operand is NaN.
enum class FPred : uint8_t { oeq, olt, ole, ogt, oge, ord, une, uno, ult };
Val fcmp(FPred pred, Val a, Val b);

// ---- conversions and choice ----
Val zext(Val a, Elem to);
Val sext(Val a, Elem to);
Val trunc(Val a, Elem to);
/// Any width: extension (by sign or by zeros) or truncation.
Val int_resize(Val a, Elem to, bool is_signed);
Val fpext(Val a, Elem to);
Val fptrunc(Val a, Elem to);
Val sitofp(Val a, Elem to);
Val uitofp(Val a, Elem to);
/// Toward zero; saturates, and NaN is 0.
Val fptosi_sat(Val a, Elem to);
Val fptoui_sat(Val a, Elem to);
/// The same bits as other lanes: the count follows from the widths.
Val bitcast(Val a, Elem to);
/// `cond` has as many lanes as the others, or is a scalar.
Val select(Val cond, Val a, Val b);

// ---- lanes ----
Val splat(Val scalar, int lanes);
Val extract(Val vector, Operand lane);
Val insert(Val vector, Val scalar, int lane);
/// Lane i of the result is lane mask[i] of a followed by b; negative: anything.
Val pick_lanes(Val a, Val b, std::span<const int> mask);
Val pick_lanes(Val a, std::span<const int> mask);
/// Applies f to pieces of `width` lanes of all arguments, the last filled up with its last lane,
/// and puts the results together.
using PieceFn = std::function<Val(std::span<const Val>)>;
Val in_pieces(int width, std::span<const Val> args, const PieceFn& f);
/// Whether some (every) lane of a bool vector, or the bool itself, is true.
Val any_of(Val mask);
Val all_of(Val mask);

}  // namespace tw::cpu
