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

/// Two values of 16 bits in one u32, the first in the low half; and back.
Expr pack(const Operand& low, const Operand& high);
std::array<Expr, 2> unpack(const Operand& word, DType dtype);

}  // namespace lang
}  // namespace tw
