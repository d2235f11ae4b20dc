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

/// The type in which elements are scaled: bf16, two at once, where powers of two leave products of
/// bf16 exact and conversions take that; else f32.
DType scaling_type(DType x, DType format, ScaleKind kind);
/// The code of x * inverse, which has that type.
Expr code_of(const Expr& x, const Expr& inverse, DType format);

}  // namespace tw::kernels
