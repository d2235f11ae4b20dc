#include "tilewright/kernels/quant/scale.h"

namespace tw::kernels {
namespace {

constexpr float kLargestCode = 448, kSmallestAmax = 1e-4F;

/// A function of one element of each of some tiles.
template <class F>
Tile elementwise(std::string_view name, std::vector<Tile> tiles, F f) {
  return map({name, SourceLoc::here()}, std::move(tiles), f);
}

}  // namespace

Scale e4m3_scale(const Tile& amax, bool round_sf) {
  const Tile a = min(max(amax, kSmallestAmax), max_value(f32));
  const Tile ratio = elementwise("e4m3_scale", {a}, [](const std::vector<Operand>& x) {
    return ieee::div(x[0], kLargestCode);
  });
  if (!round_sf) {
    return {ratio, elementwise("e4m3_scale", {a}, [](const std::vector<Operand>& x) {
              return ieee::div(kLargestCode, x[0]);
            })};
  }
  // The exponent of the next power of two: adding 1 to it wherever there is a mantissa.
  const Tile e = ((bitcast(ratio, i32) - 1) >> 23) + 1;
  return {bitcast(e << 23, f32), bitcast((254 - e) << 23, f32)};
}

Tile e4m3_codes(const Tile& x, const Tile& inverse) {
  return elementwise("e4m3_codes", {x, inverse}, [](const std::vector<Operand>& v) {
    return cast(ieee::mul(v[0], v[1]), f8_e4m3);
  });
}

}  // namespace tw::kernels
