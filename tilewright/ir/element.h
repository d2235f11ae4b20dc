// The element operations (ir/ops.h) whose results are the same on every target, as functions on bit
// patterns: for folding constants and for the interpreter. The others are in sim/element.h.
//
// A value is its storage in the low bits of a word, zero above, as in base/convert.h.
#pragma once

#include <cstdint>

#include "tilewright/base/dtype.h"
#include "tilewright/base/rounding.h"
#include "tilewright/ir/ops.h"

namespace tw::ir {

using Bits = uint64_t;

/// An operation on up to three operands. Total: nothing traps, whatever the operands are.
using ElementFn = Bits (*)(Bits, Bits, Bits);

/// The function of an operation whose operands have type `operand`; null where the language has
/// none, and for those that only approximate (exp and the like, rsqrt, rcp). For select and
/// if_else: (condition, a, b), whatever `operand` is.
///
/// Integers wrap. f32 and f64 compute in their type; tf32 as f32; f16 and bf16 compute in f32 and
/// round once. min and max return the other operand when one is a NaN. Not defined by the language
/// but by this function: division by 0 gives 0 (and its remainder 0), a shift count is taken modulo
/// the width, min and max of equal zeros give the first operand. Exactness::fast is computed like
/// standard; ieee rounds as `rounding` says. Nothing is contracted.
///
/// nth_set(x, n) is the position of the set bit that has n set bits below it, or -1.
/// byte_permute(a, b, s): byte i is byte (nibble i of s) mod 8 of b:a, with a as the low bytes;
/// bit 3 of the nibble spreads that byte's sign. funnel_shl(a, b, n): the upper half of (b:a) << n;
/// funnel_shr the lower half of (b:a) >> n; n is taken modulo the width.
///
/// dot2_bf16 and dot2_i16 add the product of the low halves, then that of the high halves; bf16
/// with one rounding a step, i16 wrapping.
ElementFn exact_function(OpCode code, DType operand, Exactness exactness = Exactness::standard,
                         Rounding rounding = Rounding::rn);

}  // namespace tw::ir
