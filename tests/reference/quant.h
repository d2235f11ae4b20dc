// Casts with scale factors, step by step as spec/quant.md 1.5 writes them, in f32.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tilewright/base/convert.h"

namespace tw::reference {

enum class Kind { exact, power_of_two, e4m3 };

struct Scale {
  float sf, inv;
};

/// Of codes of `format`, e4m3 or e2m1.
inline Scale scale_of(float amax, DType format, Kind kind, float least) {
  const float largest = format == f8_e4m3 ? 448.0F : 6.0F;
  const float a = std::max(std::min(amax, FLT_MAX), least);
  const float ratio = a / largest;
  if (kind == Kind::exact) return {ratio, largest / a};
  if (kind == Kind::e4m3) {
    const auto sf = static_cast<float>(decode(encode(ratio, f8_e4m3), f8_e4m3));
    return {sf, 1.0F / sf};
  }
  const uint32_t e = ((std::bit_cast<uint32_t>(ratio) - 1) >> 23) + 1;
  return {std::bit_cast<float>(e << 23), std::bit_cast<float>((254 - e) << 23)};
}

struct Quantized {
  std::vector<uint8_t> q;  // a code each
  std::vector<float> sf;
};

/// x: [m, k] in blocks of bm x bk, row-major. If x is codes, `x_sf` has a factor for each of them.
inline Quantized cast_in_blocks(const std::vector<double>& x, size_t m, size_t k, size_t bm,
                                size_t bk, DType format, Kind kind, float least,
                                const std::vector<float>& x_sf = {}) {
  Quantized out{std::vector<uint8_t>(m * k), {}};
  for (size_t row = 0; row < m; row += bm) {
    for (size_t column = 0; column < k; column += bk) {
      float amax = 0;
      const auto each = [&](auto f) {
        for (size_t i = row; i < std::min(row + bm, m); ++i)
          for (size_t j = column; j < std::min(column + bk, k); ++j) f(i * k + j);
      };
      each([&](size_t at) {
        const auto v = static_cast<float>(x[at]);
        const float t = x_sf.empty() ? v : v * x_sf[at];
        if (!std::isnan(t)) amax = std::max(amax, std::fabs(t));
      });
      const Scale scale = scale_of(amax, format, kind, least);
      each([&](size_t at) {
        const auto v = static_cast<float>(x[at]);
        const float by = x_sf.empty() ? scale.inv : x_sf[at] * scale.inv;
        const float y = v == 0 && !x_sf.empty() ? v : v * by;
        out.q[at] = static_cast<uint8_t>(encode(y, format));
      });
      out.sf.push_back(scale.sf);
    }
  }
  return out;
}

/// Codes by the inverses of factors that are given, one for each block of bm x bk, row-major.
inline std::vector<uint8_t> cast_by_factors(const std::vector<double>& x, size_t m, size_t k,
                                            size_t bm, size_t bk, DType format,
                                            const std::vector<float>& sf) {
  std::vector<uint8_t> q;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < k; ++j) {
      const float inverse = 1.0F / sf[i / bm * ((k + bk - 1) / bk) + j / bk];
      q.push_back(static_cast<uint8_t>(encode(static_cast<float>(x[i * k + j]) * inverse, format)));
    }
  }
  return q;
}

/// x: [m, k] with a factor for each block of bm x bk, row-major.
inline std::vector<double> cast_back(const std::vector<double>& x, size_t m, size_t k, size_t bm,
                                     size_t bk, const std::vector<float>& sf, DType dtype) {
  std::vector<double> y(m * k);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < k; ++j) {
      const float factor = sf[i / bm * ((k + bk - 1) / bk) + j / bk];
      const float product = static_cast<float>(x[i * k + j]) * factor;
      y[i * k + j] = decode(encode(product, dtype), dtype);
    }
  }
  return y;
}

}  // namespace tw::reference
