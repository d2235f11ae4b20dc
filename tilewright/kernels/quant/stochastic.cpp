#include "tilewright/kernels/quant/stochastic.h"

namespace tw::kernels {
namespace {

Expr number(uint32_t n) { return cast(Expr(static_cast<int64_t>(n)), u32); }

Expr word(const Expr& hash, uint32_t factor) {
  const Expr product = let(hash * number(factor));
  return let(product ^ (product >> 11));
}

/// The low 16 bits in the opposite order.
Expr turned(const Expr& half) { return bit_reverse(half << 16); }

}  // namespace

Expr random_part(const Expr& value, const Expr& place) {
  const Expr low = select(place == 0, number(0x5671D42B), number(0x9995E499));
  const Expr high = select(place == 2, number(0xACE1B8A5), number(0xE153538D));
  return bitcast(value, u32) * select(place < 2, low, high);
}

Expr random_hash(const Expr& sum, const Expr& index) {
  const Expr h = let(sum + cast(index, u32));
  const Expr mixed = let((h ^ (h >> 23)) * number(0x7FEB352D));
  return let(mixed ^ (mixed >> 16));
}

Expr random_bits(DType format, const Expr& hash, const Expr& place) {
  const Expr first = word(hash, 0x846CA68B), odd = place % 2 == 1, behind = place >= 2;
  if (format == bf16) {
    const Expr w = let(select(behind, word(hash, 0xD35A2D97), first));
    return select(odd, w >> 16, w);
  }
  if (format == f8_e4m3) {
    const Expr half = let(select(behind, first >> 16, first));
    return select(odd, turned(half), half);
  }
  const Expr w = let(select(behind, first >> 8, first));
  const Expr half = let((w & 0xFF) | ((w >> 8) & 0xFF00));
  return select(odd, turned(half), half);
}

}  // namespace tw::kernels
