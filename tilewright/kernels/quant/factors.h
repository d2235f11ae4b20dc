// Scale factors in memory, as the casts of this folder share them (see quant.h).
#pragma once

#include "tilewright/kernels/check.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// What four exponents share a word of i32: neighbors in a row; or, of blocks of one column, in a
/// column. Of those, neighbors in a row are neighbors in memory.
enum class Words : uint8_t { of_rows, of_columns };
inline Words words_of(int64_t block_columns) {
  return block_columns == 1 ? Words::of_columns : Words::of_rows;
}

/// The factors of a kernel: a parameter of f32 or e4m3 [rows, columns], or of u8, exponents
/// [rows, ceil(columns / 4), 4] or [ceil(rows / 4), columns, 4], at any strides.
class Factors {
 public:
  Factors(Builder& k, std::string_view name, DType dtype, const Expr& rows, int64_t columns,
          bool is_output, Words words = Words::of_rows);

  /// Columns, and rows, with those that fill up words.
  int64_t padded() const;
  Expr padded_rows() const;
  /// In f32; zero outside.
  Expr load(const Expr& row, const Expr& column) const;
  /// The exponent field of a factor that is a power of two, or 0, in i32.
  Expr load_exponent(const Expr& row, const Expr& column) const;
  /// Of a padded row and column; those behind the last get 0. Nothing is written outside.
  void store(const Expr& row, const Expr& column, const Expr& factor) const;

 private:
  Ref exponent(const Expr& row, const Expr& column) const;

  Buffer buffer_;
  Expr rows_;
  int64_t columns_;
  bool packed_;
  Words words_;
};

/// The tensor as the kernel takes it. It must be f32, e4m3 or words of i32, of that many factors.
Tensor as_factors(std::string_view function, const Named& sf, int64_t rows, int64_t columns,
                  Words words = Words::of_rows);

}  // namespace tw::kernels
