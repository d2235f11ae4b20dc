// What helps while a kernel is being written: printing, assertions, and facts for the prover.
#pragma once

#include <string_view>

#include "tilewright/lang/region.h"

namespace tw {
inline namespace lang {

/// Prints the message and the values.
void print(std::string_view message, const std::vector<Expr>& values = {},
           SourceLoc where = SourceLoc::here());
/// Prints a buffer element by element, with indices.
void print(const Buffer& buffer, std::string_view message = {},
           SourceLoc where = SourceLoc::here());
/// Stops the kernel with the message and the values unless the condition holds.
void device_assert(const Operand& condition, std::string_view message,
                   const std::vector<Expr>& values = {});
/// A fact for the compiler; if it is wrong anything may happen (option check_assumptions finds it).
void assume(const Operand& condition);

}  // namespace lang
}  // namespace tw
