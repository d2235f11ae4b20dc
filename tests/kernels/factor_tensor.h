// Memory for scale factors in every layout, for tests of casts.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/quant_testing.h"

namespace tw::test {

/// How factors lie in memory; packed_down is words of four blocks of a column.
enum class Layout : uint8_t { rows, columns, packed_rows, packed_columns, packed_down };
inline bool is_packed(Layout layout) { return layout >= Layout::packed_rows; }

inline int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Memory for factors of m x n blocks; all of it is 0x55 at first.
struct FactorTensor {
  FactorTensor(Layout of_layout, DType dtype, int64_t m, int64_t n)
      : rows(m), columns(n), layout(of_layout), packed(is_packed(of_layout)) {
    const bool turned = layout == Layout::columns || layout == Layout::packed_columns;
    const int64_t down = layout == Layout::packed_down ? up(m, 4) / 4 : m;
    const int64_t across = packed && layout != Layout::packed_down ? up(n, 4) / 4 : n;
    const DType of = packed ? i32 : dtype;
    const int64_t pitch = turned ? up(down, 128 / of.bits()) : across;
    memory = OwnedTensor(of, turned ? Shape{across, pitch} : Shape{down, pitch});
    std::memset(memory->data(), 0x55, static_cast<size_t>(memory->bytes()));
    view = turned ? memory->slice(1, 0, down).transpose(0, 1) : memory.view();
  }
  /// The exponent of a block, where factors are packed.
  uint8_t& exponent(int64_t i, int64_t j) const {
    const bool is_down = layout == Layout::packed_down;
    const Tensor word = view.select(0, is_down ? i / 4 : i).select(0, is_down ? j : j / 4);
    return word.data_as<uint8_t>()[is_down ? i % 4 : j % 4];
  }
  /// Row by row; bytes that fill up words are 0.
  std::vector<float> factors() const {
    std::vector<float> list;
    if (packed) {
      const bool is_down = layout == Layout::packed_down;
      const int64_t all = is_down ? up(rows, 4) : rows, wide = is_down ? columns : up(columns, 4);
      for (int64_t i = 0; i < all; ++i) {
        for (int64_t j = 0; j < wide; ++j) {
          const uint32_t byte = exponent(i, j);
          if (i < rows && j < columns) {
            list.push_back(std::bit_cast<float>(byte << 23));
          } else {
            EXPECT_EQ(byte, 0U);
          }
        }
      }
      return list;
    }
    for (const double factor : values(view)) list.push_back(static_cast<float>(factor));
    return list;
  }
  /// Sets a factor, which must be a power of two where factors are packed, and gives what is held.
  float set(int64_t i, int64_t j, float factor) const {
    if (packed) {
      exponent(i, j) = static_cast<uint8_t>(std::bit_cast<uint32_t>(factor) >> 23);
      return std::bit_cast<float>(static_cast<uint32_t>(exponent(i, j)) << 23);
    }
    const Tensor at = view.select(0, i).select(0, j);
    assign(at, {factor});
    return static_cast<float>(values(at)[0]);
  }

  int64_t rows, columns;
  Layout layout;
  bool packed;
  OwnedTensor memory;
  Tensor view;
};

}  // namespace tw::test
