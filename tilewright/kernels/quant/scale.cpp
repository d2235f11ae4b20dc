#include "tilewright/kernels/quant/scale.h"

#include <bit>

namespace tw::kernels {
namespace {

/// A function of one element of each of some tiles.
template <class F>
Tile elementwise(std::vector<Tile> tiles, F f) {
  return map({"scale_of", SourceLoc::here()}, std::move(tiles), f);
}

}  // namespace

Scale scale_of(const Tile& amax, const Expr& least, DType format, ScaleKind kind) {
  return scale_of(amax, least, static_cast<float>(max_finite(format)), kind);
}

Scale scale_of(const Tile& amax, const Expr& least, float largest, ScaleKind kind) {
  const Tile a = min(max(amax, least), max_value(f32));
  const auto ratio = [&] {
    return elementwise({a},
                       [=](const std::vector<Operand>& x) { return ieee::div(x[0], largest); });
  };
  switch (kind) {
    case ScaleKind::exact:
      return {ratio(), elementwise({a}, [=](const std::vector<Operand>& x) {
                return ieee::div(largest, x[0]);
              })};
    case ScaleKind::e4m3: {
      // A product and its correction, which are the ratio from 2^-120 on; below, e4m3 rounds to 0.
      const float inverse = 1 / largest;
      const Tile corrected = elementwise({a}, [=](const std::vector<Operand>& x) {
        const Expr near = ieee::mul(x[0], inverse);
        return ieee::fma(ieee::fma(near, -largest, x[0]), inverse, near);
      });
      const Tile factor = cast(cast(corrected, f8_e4m3), f32);
      return {factor, inverse_of(factor)};
    }
    case ScaleKind::power_of_two:
      break;
  }
  // The exponent of the power of two that isn't below a / largest: a's, less that of `largest`, and
  // one more where a's mantissa is larger.
  const auto bits = std::bit_cast<int32_t>(largest);
  const int32_t exponent = (bits >> 23) - 127, mantissa = bits & 0x7FFFFF;
  const Tile e = ((bitcast(a, i32) + (0x7FFFFF - mantissa)) >> 23) - exponent;
  return {bitcast(e << 23, f32), bitcast((254 - e) << 23, f32)};
}

Tile inverse_of(const Tile& factor) {
  return elementwise({factor}, [](const std::vector<Operand>& x) { return ieee::div(1.0F, x[0]); });
}

DType product_type(DType x, DType format, ScaleKind kind) {
  if (x != bf16 || format != f4_e2m1) return f32;
  return kind == ScaleKind::power_of_two ? bf16 : kind == ScaleKind::e4m3 ? f16 : f32;
}

// The ratio of a number of 8 bits and a factor of 4 is a tie of e2m1, or further from each than
// 1 / 256 of it: f16 keeps it on its side, and ties, from an inverse that is only near. But in f32
// the inverse of 15 is so much too large that ties at 1.25, 2.5 and 5 become more, those at 0.25
// don't; so are these products in f16 if it is too large by 7 / 2^14. (All of both are tested.)
Tile multiplier(const Scale& scale, DType product) {
  if (product == bf16) return cast(scale.inverse, bf16);
  if (product == f32) return scale.inverse;
  const Tile inverse =
      elementwise({scale.factor}, [](const std::vector<Operand>& x) { return rcp(x[0]); });
  // Of the inverses of 8 to 15, that of 15 alone is from 17/16 to 18/16 of a power of two.
  const Tile is_of_15 = (bitcast(inverse, i32) >> 19 & 15) == 1;
  return select(is_of_15, inverse * (1 + 0x7p-14F), inverse);
}

Expr code_of(const Expr& x, const Expr& by, DType format, DType product) {
  if (product == bf16) return cast(cast(x, bf16) * by, format);
  const Expr exact = ieee::mul(cast(x, f32), by);
  return cast(product == f16 ? cast(exact, f16) : exact, format);
}

}  // namespace tw::kernels
