// The scale factor of a group, as the casts of this folder share it.
#pragma once

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// How a scale factor follows from the largest magnitude.
enum class ScaleKind : uint8_t {
  exact,         // in f32
  power_of_two,  // the next one, in f32 or as its exponent
  e4m3,          // rounded to e4m3
};

/// What groups are scaled with, each in f32.
struct Scale {
  Tile factor;   // of dequantisation
  Tile inverse;  // what elements are multiplied with
};

/// Of groups with these largest magnitudes, in f32 (NaN where a group has nothing but NaN), which
/// count as at least `least`, for codes of which `largest` is the largest.
Scale scale_of(const Tile& amax, const Expr& least, float largest, ScaleKind kind);
/// The same for codes of `format`: e4m3 or e2m1.
Scale scale_of(const Tile& amax, const Expr& least, DType format, ScaleKind kind);
/// Of groups with these factors, which are given.
Tile inverse_of(const Tile& factor);

/// The type to which products of elements and what they are multiplied with are rounded before they
/// are codes, where that gives the same ones and conversions take two at once: bf16 where powers of
/// two leave products of bf16 exact; f16 of bf16 with factors in e4m3; else f32.
DType product_type(DType x, DType format, ScaleKind kind);
/// What elements are multiplied with for such products: of bf16 in bf16, else in f32.
Tile multiplier(const Scale& scale, DType product);
/// The code of x * by, rounded to such a product.
Expr code_of(const Expr& x, const Expr& by, DType format, DType product);

}  // namespace tw::kernels
