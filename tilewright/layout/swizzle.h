// Layouts of tiles in shared memory: the swizzles of bulk copies and tensor cores, and padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// Bytes of a row that lie together; inside, chunks of 16 bytes are exchanged by the row
/// (language 16.5).
enum class Swizzle : uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// "none", "32", "64", "128".
std::string to_text(Swizzle swizzle);

/// 0, 32, 64, 128.
int64_t width(Swizzle swizzle);
/// What the base of the tile must be aligned to, in bytes.
int64_t base_alignment(Swizzle swizzle);

/// Whether a tile of rows x columns elements (columns contiguous) can have the swizzle: its width
/// divides the row, and there are a multiple of 8 rows, or 4.
bool is_usable(Swizzle swizzle, int64_t rows, int64_t columns, int bits);
/// The widest usable one.
Swizzle widest_swizzle(int64_t rows, int64_t columns, int bits);

/// (row, column) -> (piece, row, chunk, element): pieces of `width` bytes of all rows follow one
/// another; in a piece, chunk c of row i is stored as c ^ (i mod 8) * width / 128. Without swizzle
/// the tile is row-major. For the other orientation `permute` the dimensions.
Layout swizzled(int64_t rows, int64_t columns, int bits, Swizzle swizzle);

/// Row-major with 16 bytes after each row, so that a column's elements lie in different banks.
/// Empty if the row isn't a multiple of 32 bytes; then rows are no worse without.
std::optional<Layout> padded(int64_t rows, int64_t columns, int bits);

/// A demand for a swizzle, and what else its user can work with.
struct SwizzleDemand {
  Swizzle wanted;
  std::vector<Swizzle> accepted;  // besides
};
/// One swizzle for both: the same, or of two different widths the narrower if both accept it. Empty
/// where they contradict (E-LAY-02).
std::optional<Swizzle> merge(const SwizzleDemand& a, const SwizzleDemand& b);

/// CuTe's Swizzle<bits, base, shift> on [0, size): bits base .. base + bits - 1 of a number are
/// xored with those `shift` further up. shift >= bits; size is a multiple of 2^(base + bits).
Layout xor_bits(int64_t size, int bits, int base, int shift);

/// Cycles of a memory with `banks` banks of `bank_bytes` for the lanes of one access of `bytes`
/// each: lanes go in groups that fill the banks once, and a bank gives one word per cycle. Without
/// conflicts it is lanes * bytes / (banks * bank_bytes).
int64_t bank_cycles(const std::vector<int64_t>& byte_offsets, int64_t bytes, int64_t banks = 32,
                    int64_t bank_bytes = 4);

}  // namespace tw::layout
