#include "tilewright/kernels/quant/factors.h"

#include <string>

namespace tw::kernels {

Factors::Factors(Builder& k, std::string_view name, DType dtype, const Expr& rows, int64_t columns,
                 bool is_output, Words words)
    : rows_(rows), columns_(columns), packed_(dtype == u8), words_(words) {
  const auto stride = [&](const char* of) { return k.dim(std::string(name) + of); };
  Extents shape = {rows, columns}, strides = {stride("_row")};
  if (words == Words::of_columns) {
    if (packed_) shape = {lang::cdiv(rows, 4), columns};
    strides.push_back(packed_ ? 4 : 1);
  } else {
    if (packed_) shape = {rows, lang::cdiv(columns, 4)};
    strides.push_back(stride("_column"));
  }
  if (packed_) {
    shape.push_back(4);
    strides.push_back(1);
  }
  buffer_ = is_output ? k.output(name, dtype, shape, {.strides = strides})
                      : k.input(name, dtype, shape, {.strides = strides});
}

int64_t Factors::padded() const {
  return packed_ && words_ == Words::of_rows ? (columns_ + 3) / 4 * 4 : columns_;
}

Expr Factors::padded_rows() const {
  return packed_ && words_ == Words::of_columns ? lang::cdiv(rows_, 4) * 4 : rows_;
}

Ref Factors::exponent(const Expr& row, const Expr& column) const {
  return words_ == Words::of_rows ? buffer_(row, column / 4, column % 4)
                                  : buffer_(row / 4, column, row % 4);
}

Expr Factors::load_exponent(const Expr& row, const Expr& column) const {
  if (packed_) return cast(exponent(row, column), i32);
  return bitcast(cast(buffer_(row, column), f32), i32) >> 23;
}

Expr Factors::load(const Expr& row, const Expr& column) const {
  if (!packed_) return cast(buffer_(row, column), f32);
  return bitcast(load_exponent(row, column) << 23, f32);
}

void Factors::store(const Expr& row, const Expr& column, const Expr& factor) const {
  if (!packed_) {
    buffer_(row, column) = cast(factor, buffer_.dtype());
    return;
  }
  const Expr e = cast(bitcast(factor, i32) >> 23, u8);
  if (words_ == Words::of_columns) {
    exponent(row, column) = select(row < rows_, e, cast(0, u8));
  } else {
    exponent(row, column) = columns_ == padded() ? e : select(column < columns_, e, cast(0, u8));
  }
}

Tensor as_factors(std::string_view function, const Named& sf, int64_t rows, int64_t columns,
                  Words words) {
  check_rank(function, sf, 2);
  check_dtype(function, sf, {f32, f8_e4m3, i32});
  const Tensor& t = sf.tensor;
  const auto rows_are_dense = [&] {
    TW_REQUIRE(words == Words::of_rows || t.stride(1) == 1 || t.dim(1) < 2,
               "{}: neighbors in a row of {} are {} elements apart, factors of single columns must "
               "be neighbors in memory",
               function, sf.name, t.stride(1));
  };
  if (t.dtype() != i32) {
    check_shape(function, sf, {rows, columns}, "a factor for each block");
    rows_are_dense();
    return t;
  }
  const bool in_rows = words == Words::of_rows;
  const Shape shape =
      in_rows ? Shape{rows, lang::cdiv(columns, 4)} : Shape{lang::cdiv(rows, 4), columns};
  check_shape(function, sf, shape,
              in_rows ? "a word for four blocks of a row" : "a word for four blocks of a column");
  rows_are_dense();
  return {t.data(),
          u8,
          {shape[0], shape[1], 4},
          {4 * t.stride(0), in_rows ? 4 * t.stride(1) : 4, 1},
          t.device()};
}

}  // namespace tw::kernels
