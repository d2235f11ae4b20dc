// The fragments that tensor-core instructions read and write (language 16.4), as data.
//
// With lane l = t mod 32, g = l / 4, q = l mod 4, warp w = t / 32 of a warp-group, and register r
// each table gives the row and column that thread t holds in register r.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/layout/fragment.h"

namespace tw::layout {

/// One row of the table.
struct TensorCoreTile {
  std::string name;
  std::string what;         // for people
  Layout thread_value_map;  // (thread, register) -> (row, column)
};

/// All tables of fixed size:
///
///   name            tile, element             row                       column
///   mma_c_16x8      accumulator, 32 bits      g + 8(r/2)                2q + r%2
///   mma_a_16x16     A, 16 bits                g + 8(r/2%2)              2q + r%2 + 8(r/4)
///   mma_a_16x32     A, 8 bits                 g + 8(r/4%2)              4q + r%4 + 16(r/8)
///   mma_a_16x8      A, tf32                   g + 8(r%2)                q + 4(r/2)
///   mma_b_16x8      B, 16 bits                2q + r%2 + 8(r/2)         g
///   mma_b_32x8      B, 8 bits                 4q + r%4 + 16(r/4)        g
///   mma_b_8x8       B, tf32                   q + 4r                    g
///   mma_c_8x8       accumulator, f64          g                         2q + r
///   wgmma_a_64x16   A in registers, 16 bits   16w + g + 8(r/2%2)        2q + r%2 + 8(r/4)
///   wgmma_a_64x32   A in registers, 8 bits    16w + g + 8(r/4%2)        4q + r%4 + 16(r/8)
///   matrix_8x8      ldmatrix, stmatrix        g                         2q + r
const std::vector<TensorCoreTile>& tensor_core_tiles();

/// The accumulator of wgmma, 64 x n: row 16w + g + 8(r/2%2), column 8(r/4) + 2q + r%2.
TensorCoreTile wgmma_accumulator(int64_t n);

/// The fragment of a table by name, `wgmma_c_64x128` among them; empty if there is none.
std::optional<Fragment> tensor_core_fragment(std::string_view name);

/// A tile of a whole block, made of one instruction's tile `atom` (8.4, 16.4): atoms repeat over
/// registers, those of a row of atoms first, then over `parts_m` parts of the rows and `parts_n` of
/// the columns, each on its own warp (warp-group for wgmma); warp w has part w mod parts_m of the
/// rows and w / parts_m of the columns. A shape that the atoms don't divide is an Error.
Fragment accumulator_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                          int64_t parts_n);
/// The tile of A [rows, K]: warps of equal row part hold copies. And of B [K, columns]: those of
/// equal column part.
Fragment operand_a_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                        int64_t parts_n);
Fragment operand_b_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                        int64_t parts_n);

}  // namespace tw::layout
