// Scale factors in memory, as the casts of this folder share them (see quant.h).
#pragma once

#include "tilewright/kernels/check.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// The factors of a kernel: a parameter of f32 or e4m3 [rows, columns], or of u8, exponents
/// [rows, ceil(columns / 4), 4], at any strides.
class Factors {
 public:
  Factors(Builder& k, std::string_view name, DType dtype, const Expr& rows, int64_t columns,
          bool is_output);

  /// Columns with those that fill up words.
  int64_t padded() const { return packed_ ? (columns_ + 3) / 4 * 4 : columns_; }
  /// In f32; zero outside.
  Expr load(const Expr& row, const Expr& column) const;
  /// Of a padded column; those behind the last get 0. Nothing is written outside.
  void store(const Expr& row, const Expr& column, const Expr& factor) const;

 private:
  Buffer buffer_;
  int64_t columns_;
  bool packed_;
};

/// The tensor as the kernel takes it. It must be f32, e4m3 or words of i32, of that many factors.
Tensor as_factors(std::string_view function, const Named& sf, int64_t rows, int64_t columns);

}  // namespace tw::kernels
