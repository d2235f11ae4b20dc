// Explicit vectors of neighbours in a row, for authors who count accesses (language 11.5). A vector
// is a list of values; how wide the access becomes is the compiler's.
#pragma once

#include <array>

#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

/// The elements from `first` on, 32, 64 or 128 bits in all. Where the predicate is false nothing is
/// read and each is 0. E-VEC-01 if the address is known not to be a multiple of the width.
std::vector<Expr> load_vector(const Ref& first, int lanes, const Operand& predicate = true);
/// Writes as many neighbours as there are values.
void store_vector(const Ref& first, const std::vector<Expr>& values,
                  const Operand& predicate = true);

using Pair = std::array<Expr, 2>;

/// Two values of 16 bits in one u32, the first in the low half; and back.
Expr pack(const Operand& low, const Operand& high);
Pair unpack(const Operand& word, DType dtype);

/// Two values of f16, bf16 or f32, for which a target may have one instruction (language 11.3);
/// each result is that of the plain operation. E-TYPE-06 for other types.
namespace x2 {
Pair add(const Pair& a, const Pair& b, SourceLoc where = SourceLoc::here());
Pair sub(const Pair& a, const Pair& b, SourceLoc where = SourceLoc::here());
Pair mul(const Pair& a, const Pair& b, SourceLoc where = SourceLoc::here());
Pair fma(const Pair& a, const Pair& b, const Pair& c, SourceLoc where = SourceLoc::here());
Pair min(const Pair& a, const Pair& b, SourceLoc where = SourceLoc::here());
Pair max(const Pair& a, const Pair& b, SourceLoc where = SourceLoc::here());
Pair abs(const Pair& a, SourceLoc where = SourceLoc::here());
}  // namespace x2

}  // namespace lang
}  // namespace tw
