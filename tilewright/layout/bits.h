// The view over bits: a layout whose boxes and digits are powers of two is a linear map over GF(2),
// from the bits of an element's row-major number to the bits of its offset.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

/// x -> exclusive or of columns[b] over the bits b that are set in x.
struct BitMatrix {
  std::vector<uint64_t> columns;

  uint64_t operator()(uint64_t x) const;
  friend bool operator==(const BitMatrix&, const BitMatrix&) = default;
};

/// The matrix of a layout; empty if it isn't linear over bits: an extent or stride that is no power
/// of two, or terms that share bits and so could carry.
std::optional<BitMatrix> bits_of(const Layout& layout);

/// The layout of a matrix between two boxes of powers of two.
Layout layout_of(const BitMatrix& matrix, const Coords& shape, const Coords& extents);

/// x -> second(first(x)).
BitMatrix compose(const BitMatrix& first, const BitMatrix& second);
/// The matrix with inverse(matrix(x)) = x; empty if two x have the same image. `rows`:
/// bits of the image.
std::optional<BitMatrix> inverse(const BitMatrix& matrix, int rows);
/// The image has 2^rank elements.
int rank(const BitMatrix& matrix);

}  // namespace tw::layout
