// Layouts and fragments from text: what `to_text` prints, and short forms of the common ones. Bad
// text is an Error with the code E-LAY-10.
#pragma once

#include <string_view>
#include <variant>

#include "tilewright/layout/fragment.h"
#include "tilewright/layout/layout.h"
#include "tilewright/layout/shape_stride.h"

namespace tw::layout {

/// A layout:
///
///   [8, 64] -> [512]: i * 64 + (i ^ j / 8) * 8 + j % 8
///   (8,(4,2)):(4,(1,32))              nested; without strides compact, the first mode fastest
///   Sw<3,4,3> o (8,64):(64,1)         CuTe's swizzle on the offsets
///   row_major(8, 64)
///   swizzled(8, 64, 16, 128)          rows, columns, bits of an element, width in bytes
///   padded(8, 64, 16)                 rows, columns, bits
///   panels(64, 32, 16, 2)             rows, depth, rows of a panel, group
///   column_panels(32, 64, 16, 2)      depth, columns, columns of a panel, group
Layout parse_layout(std::string_view text);

/// A fragment:
///
///   [16, 8] x 2 -> 64 threads, 4 slots: i % 8 * 4 + j / 2 + r * 32, i / 8 * 2 + j % 2
///   mma_c_16x8                        a table of tensor_core.h
///   accumulator(mma_c_16x8, 64, 64, 2, 2)
///   operand_a(mma_a_16x16, 64, 32, 2, 2)
///   operand_b(mma_b_16x8, 32, 64, 2, 2)
///                                     a block's tile: atom, shape, parts of the rows, of the
///                                     columns
///   replicated(16, 8, 32)             shape, then threads
Fragment parse_fragment(std::string_view text);

/// Either, told apart by the text.
std::variant<Layout, Fragment> parse_either(std::string_view text);

/// `(8,(4,2)):(4,(1,32))`.
ShapeStride parse_shape_stride(std::string_view text);

}  // namespace tw::layout
