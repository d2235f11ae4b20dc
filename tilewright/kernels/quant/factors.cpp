#include "tilewright/kernels/quant/factors.h"

#include <string>

namespace tw::kernels {

Factors::Factors(Builder& k, std::string_view name, DType dtype, const Expr& rows, int64_t columns,
                 bool is_output)
    : columns_(columns), packed_(dtype == u8) {
  const auto stride = [&](const char* of) { return k.dim(std::string(name) + of); };
  Extents shape = {rows, columns}, strides = {stride("_row"), stride("_column")};
  if (packed_) {
    shape = {rows, lang::cdiv(columns, 4), 4};
    strides.push_back(1);
  }
  buffer_ = is_output ? k.output(name, dtype, shape, {.strides = strides})
                      : k.input(name, dtype, shape, {.strides = strides});
}

Expr Factors::load(const Expr& row, const Expr& column) const {
  if (!packed_) return cast(buffer_(row, column), f32);
  return bitcast(cast(buffer_(row, column / 4, column % 4), i32) << 23, f32);
}

void Factors::store(const Expr& row, const Expr& column, const Expr& factor) const {
  if (!packed_) {
    buffer_(row, column) = cast(factor, buffer_.dtype());
    return;
  }
  const Expr exponent = cast(bitcast(factor, i32) >> 23, u8);
  const Expr inside =
      columns_ == padded() ? exponent : select(column < columns_, exponent, cast(0, u8));
  buffer_(row, column / 4, column % 4) = inside;
}

Tensor as_factors(std::string_view function, const Named& sf, int64_t rows, int64_t columns) {
  check_rank(function, sf, 2);
  check_dtype(function, sf, {f32, f8_e4m3, i32});
  const Tensor& t = sf.tensor;
  if (t.dtype() != i32) {
    check_shape(function, sf, {rows, columns}, "a factor for each block");
    return t;
  }
  const int64_t words = lang::cdiv(columns, 4);
  check_shape(function, sf, {rows, words}, "a word for four blocks of a row");
  return {t.data(), u8, {rows, words, 4}, {4 * t.stride(0), 4 * t.stride(1), 1}, t.device()};
}

}  // namespace tw::kernels
