// Casts that round at random, as spec/quant.md 13 writes them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "tilewright/base/convert.h"

namespace tw::reference {

/// R0 and R1 of the values of a quad.
inline std::array<uint32_t, 2> random_words(const std::array<float, 4>& v, uint32_t quad) {
  constexpr std::array<uint32_t, 4> kFactors = {0x5671D42B, 0x9995E499, 0xACE1B8A5, 0xE153538D};
  uint32_t h = quad;
  for (size_t i = 0; i < 4; ++i) h += std::bit_cast<uint32_t>(v[i]) * kFactors[i];
  h ^= h >> 23;
  h *= 0x7FEB352D;
  h ^= h >> 16;
  std::array<uint32_t, 2> words = {h * 0x846CA68B, h * 0xD35A2D97};
  for (uint32_t& word : words) word ^= word >> 11;
  return words;
}

/// The codes of a quad.
inline std::array<uint64_t, 4> stochastic_cast(const std::array<float, 4>& v, uint32_t quad,
                                               DType to) {
  const auto words = random_words(v, quad);
  std::array<uint64_t, 4> codes = {};
  for (size_t i = 0; i < 4; ++i) {
    const uint32_t random = to == bf16 ? lane_random_bits(to, words[i / 2], static_cast<int>(i % 2))
                                       : lane_random_bits(to, words[0], static_cast<int>(i));
    codes[i] = encode(v[i], to, Rounding::rs, true, random);
  }
  return codes;
}

}  // namespace tw::reference
