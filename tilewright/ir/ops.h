// The element operations: one table gives name, operand count and class to the builder, printer,
// parser, interpreter and backends. Semantics are in language 11.1; `dtype` of the node is the type
// of the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tilewright/ir/enums.h"

namespace tw::ir {

/// What an operation accepts and gives.
enum class OpClass : uint8_t {
  arithmetic,   // ints and floats; operands and result have one type
  float_math,   // floats only
  integer,      // ints only (bits: also bool)
  compare,      // any type; gives bool
  logic,        // bool; the right operand of land and lor is evaluated only if needed
  test,         // float to bool
  choice,       // condition, then two values of one type
  reinterpret,  // bit pattern kept
  dot,          // accumulator, then two u32 words that each hold two 16-bit values
};

// TW_OP(name, operands, class)
#define TW_OPS(TW_OP)             \
  TW_OP(add, 2, arithmetic)       \
  TW_OP(sub, 2, arithmetic)       \
  TW_OP(mul, 2, arithmetic)       \
  TW_OP(fdiv, 2, float_math)      \
  TW_OP(floordiv, 2, integer)     \
  TW_OP(floormod, 2, integer)     \
  TW_OP(truncdiv, 2, integer)     \
  TW_OP(truncmod, 2, integer)     \
  TW_OP(neg, 1, arithmetic)       \
  TW_OP(abs, 1, arithmetic)       \
  TW_OP(min, 2, arithmetic)       \
  TW_OP(max, 2, arithmetic)       \
  TW_OP(min_nan, 2, float_math)   \
  TW_OP(max_nan, 2, float_math)   \
  TW_OP(fma, 3, float_math)       \
  TW_OP(mul_high, 2, integer)     \
  TW_OP(add_sat, 2, integer)      \
  TW_OP(sub_sat, 2, integer)      \
  TW_OP(fmod, 2, float_math)      \
  TW_OP(floor, 1, float_math)     \
  TW_OP(ceil, 1, float_math)      \
  TW_OP(trunc, 1, float_math)     \
  TW_OP(round, 1, float_math)     \
  TW_OP(rint, 1, float_math)      \
  TW_OP(exp, 1, float_math)       \
  TW_OP(exp2, 1, float_math)      \
  TW_OP(exp10, 1, float_math)     \
  TW_OP(expm1, 1, float_math)     \
  TW_OP(log, 1, float_math)       \
  TW_OP(log2, 1, float_math)      \
  TW_OP(log10, 1, float_math)     \
  TW_OP(log1p, 1, float_math)     \
  TW_OP(pow, 2, float_math)       \
  TW_OP(sqrt, 1, float_math)      \
  TW_OP(rsqrt, 1, float_math)     \
  TW_OP(rcp, 1, float_math)       \
  TW_OP(cbrt, 1, float_math)      \
  TW_OP(hypot, 2, float_math)     \
  TW_OP(sin, 1, float_math)       \
  TW_OP(cos, 1, float_math)       \
  TW_OP(tan, 1, float_math)       \
  TW_OP(asin, 1, float_math)      \
  TW_OP(acos, 1, float_math)      \
  TW_OP(atan, 1, float_math)      \
  TW_OP(atan2, 2, float_math)     \
  TW_OP(sinh, 1, float_math)      \
  TW_OP(cosh, 1, float_math)      \
  TW_OP(tanh, 1, float_math)      \
  TW_OP(asinh, 1, float_math)     \
  TW_OP(acosh, 1, float_math)     \
  TW_OP(atanh, 1, float_math)     \
  TW_OP(erf, 1, float_math)       \
  TW_OP(erfc, 1, float_math)      \
  TW_OP(copysign, 2, float_math)  \
  TW_OP(isnan, 1, test)           \
  TW_OP(isinf, 1, test)           \
  TW_OP(isfinite, 1, test)        \
  TW_OP(signbit, 1, test)         \
  TW_OP(bit_and, 2, integer)      \
  TW_OP(bit_or, 2, integer)       \
  TW_OP(bit_xor, 2, integer)      \
  TW_OP(bit_not, 1, integer)      \
  TW_OP(shl, 2, integer)          \
  TW_OP(shr, 2, integer)          \
  TW_OP(popcount, 1, integer)     \
  TW_OP(clz, 1, integer)          \
  TW_OP(ctz, 1, integer)          \
  TW_OP(ffs, 1, integer)          \
  TW_OP(nth_set, 2, integer)      \
  TW_OP(bit_reverse, 1, integer)  \
  TW_OP(byte_permute, 3, integer) \
  TW_OP(funnel_shl, 3, integer)   \
  TW_OP(funnel_shr, 3, integer)   \
  TW_OP(eq, 2, compare)           \
  TW_OP(ne, 2, compare)           \
  TW_OP(lt, 2, compare)           \
  TW_OP(le, 2, compare)           \
  TW_OP(gt, 2, compare)           \
  TW_OP(ge, 2, compare)           \
  TW_OP(land, 2, logic)           \
  TW_OP(lor, 2, logic)            \
  TW_OP(lnot, 1, logic)           \
  TW_OP(select, 3, choice)        \
  TW_OP(if_else, 3, choice)       \
  TW_OP(bitcast, 1, reinterpret)  \
  TW_OP(dot2_bf16, 3, dot)        \
  TW_OP(dot2_i16, 3, dot)

enum class OpCode : uint8_t {
#define TW_DECLARE(name, operands, op_class) name,
  TW_OPS(TW_DECLARE)
#undef TW_DECLARE
};

struct OpRow {
  OpCode code;
  std::string_view name;
  int operands;
  OpClass op_class;
};

/// Name, operand count and class of an operation.
const OpRow& op_row(OpCode code);
/// The operation of that name, if there is one.
std::optional<OpCode> op_named(std::string_view name);

/// Whether some operand is evaluated only if an earlier one asks for it: land, lor, if_else.
inline bool is_lazy(OpCode code) {
  return code == OpCode::land || code == OpCode::lor || code == OpCode::if_else;
}
/// Whether exchanging the two operands keeps the result, bit for bit (NaN payloads aside).
bool is_commutative(OpCode code);

/// By which an atomic combines the old value with the operand, or compares it where it waits; none
/// for those that only move.
std::optional<OpCode> element_op(AtomicOp op);

/// How exactly an operation computes (language 11.2).
enum class Exactness : uint8_t {
  standard,  // as accurate as the CUDA maths library; a * b + c may be contracted
  fast,      // tw::fast:: and the option fast_math
  ieee,      // tw::ieee::, never contracted, rounded as the node says
};

}  // namespace tw::ir
