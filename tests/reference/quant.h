// Casts to e4m3 with scale factors, step by step as spec/quant.md 1.5 writes them, in f32.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tilewright/base/convert.h"

namespace tw::reference {

struct Scale {
  float sf, inv;
};

inline Scale e4m3_scale(float amax, bool round_sf) {
  const float a = std::max(std::min(amax, FLT_MAX), 1e-4F);
  const float ratio = a / 448.0F;
  if (!round_sf) return {ratio, 448.0F / a};
  const uint32_t e = ((std::bit_cast<uint32_t>(ratio) - 1) >> 23) + 1;
  return {std::bit_cast<float>(e << 23), std::bit_cast<float>((254 - e) << 23)};
}

struct Quantized {
  std::vector<uint8_t> q;
  std::vector<float> sf;
};

/// x: [m, k] in blocks of bm x bk, row-major.
inline Quantized cast_in_blocks(const std::vector<double>& x, size_t m, size_t k, size_t bm,
                                size_t bk, bool round_sf) {
  Quantized out{std::vector<uint8_t>(m * k), {}};
  for (size_t row = 0; row < m; row += bm) {
    for (size_t column = 0; column < k; column += bk) {
      float amax = 0;
      const auto each = [&](auto f) {
        for (size_t i = row; i < std::min(row + bm, m); ++i)
          for (size_t j = column; j < std::min(column + bk, k); ++j)
            f(static_cast<float>(x[i * k + j]), out.q[i * k + j]);
      };
      each([&](float v, uint8_t&) {
        if (!std::isnan(v)) amax = std::max(amax, std::fabs(v));
      });
      const Scale scale = e4m3_scale(amax, round_sf);
      each([&](float v, uint8_t& code) {
        code = static_cast<uint8_t>(encode(v * scale.inv, f8_e4m3));
      });
      out.sf.push_back(scale.sf);
    }
  }
  return out;
}

}  // namespace tw::reference
