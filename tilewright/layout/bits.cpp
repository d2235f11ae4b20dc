#include "tilewright/layout/bits.h"

#include <algorithm>
#include <bit>

#include "tilewright/base/error.h"

namespace tw::layout {
namespace {

bool is_power_of_two(int64_t x) { return std::has_single_bit(static_cast<uint64_t>(x)); }

int bits_in(const Coords& extents) {
  return std::countr_zero(static_cast<uint64_t>(product(extents)));
}

}  // namespace

uint64_t BitMatrix::operator()(uint64_t x) const {
  uint64_t y = 0;
  for (size_t b = 0; b < columns.size(); ++b) {
    if ((x >> b & 1) != 0) y ^= columns[b];
  }
  return y;
}

std::optional<BitMatrix> bits_of(const Layout& layout) {
  for (const Coords* box : {&layout.shape(), &layout.extents()}) {
    if (!std::all_of(box->begin(), box->end(), is_power_of_two)) return std::nullopt;
  }
  Coords used(layout.out_rank());
  for (const Term& term : layout.terms()) {
    if (!is_power_of_two(term.extent) || !is_power_of_two(term.stride)) return std::nullopt;
    const int64_t bits = (term.extent - 1) * term.stride;
    if ((used[term.out] & bits) != 0) return std::nullopt;
    used[term.out] |= bits;
    for (const Source& source : term.sources) {
      if (!is_power_of_two(source.div)) return std::nullopt;
    }
  }
  BitMatrix matrix;
  for (int b = 0; b < bits_in(layout.shape()); ++b) {
    matrix.columns.push_back(layout.offset(unflatten(int64_t{1} << b, layout.shape())));
  }
  return matrix;
}

Layout layout_of(const BitMatrix& matrix, const Coords& shape, const Coords& extents) {
  TW_CHECK(static_cast<int>(matrix.columns.size()) == bits_in(shape), "a matrix of {} bits on {}",
           matrix.columns.size(), shape);
  std::vector<Source> digits;  // of each input bit
  for (size_t b = 0; b < matrix.columns.size(); ++b) {
    const Coords x = unflatten(int64_t{1} << b, shape);
    const auto dim = std::find_if(x.begin(), x.end(), [](int64_t c) { return c != 0; });
    digits.push_back({static_cast<int>(dim - x.begin()), *dim});
  }
  std::vector<Term> terms;
  for (int row = 0; row < bits_in(extents); ++row) {
    const Coords y = unflatten(int64_t{1} << row, extents);
    const auto out = std::find_if(y.begin(), y.end(), [](int64_t c) { return c != 0; });
    Term term = {{}, 2, static_cast<int>(out - y.begin()), *out};
    for (size_t b = 0; b < digits.size(); ++b) {
      if ((matrix.columns[b] >> row & 1) != 0) term.sources.push_back(digits[b]);
    }
    terms.push_back(std::move(term));
  }
  return Layout(shape, std::move(terms), extents);
}

BitMatrix compose(const BitMatrix& first, const BitMatrix& second) {
  BitMatrix both;
  for (const uint64_t column : first.columns) both.columns.push_back(second(column));
  return both;
}

std::optional<BitMatrix> inverse(const BitMatrix& matrix, int rows) {
  // Gauss and Jordan on the columns: `image` becomes one bit of the result each, `x`
  // says of which inputs.
  struct Column {
    uint64_t image, x;
  };
  std::vector<Column> columns;
  for (size_t b = 0; b < matrix.columns.size(); ++b) {
    columns.push_back({matrix.columns[b], uint64_t{1} << b});
  }
  BitMatrix back = {std::vector<uint64_t>(rows)};
  std::vector<int> pivot_row;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].image == 0) return std::nullopt;
    const int row = std::countr_zero(columns[c].image);
    pivot_row.push_back(row);
    for (size_t other = 0; other < columns.size(); ++other) {
      if (other == c || (columns[other].image >> row & 1) == 0) continue;
      columns[other].image ^= columns[c].image;
      columns[other].x ^= columns[c].x;
    }
  }
  for (size_t c = 0; c < columns.size(); ++c) back.columns[pivot_row[c]] = columns[c].x;
  return back;
}

int rank(const BitMatrix& matrix) {
  std::vector<uint64_t> columns = matrix.columns;
  int found = 0;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == 0) continue;
    ++found;
    const uint64_t lowest = columns[c] & (0 - columns[c]);
    for (size_t other = c + 1; other < columns.size(); ++other) {
      if ((columns[other] & lowest) != 0) columns[other] ^= columns[c];
    }
  }
  return found;
}

}  // namespace tw::layout
