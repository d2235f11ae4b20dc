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

/// Of codes of which `largest` is the largest.
inline Scale scale_of(float amax, float largest, Kind kind, float least) {
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

/// Of codes of `format`, e4m3 or e2m1.
inline Scale scale_of(float amax, DType format, Kind kind, float least) {
  return scale_of(amax, format == f8_e4m3 ? 448.0F : 6.0F, kind, least);
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

// ---- codes of 12 bits: spec/quant.md 11 ----

constexpr float kLargestE5m6 = 65024.0F;

inline uint32_t e5m6_code(float y) {
  if (std::isnan(y)) return 0x7FF;
  y = std::clamp(y, -kLargestE5m6, kLargestE5m6);
  const auto half = static_cast<uint32_t>(encode(y, f16, Rounding::rz));
  const uint32_t code = half >> 4, low = std::bit_cast<uint32_t>(y) & 0x1FFFF;
  return (code & 1) + low > 0x10000 ? code + 1 : code;
}

inline float e5m6_value(uint32_t code) { return static_cast<float>(decode(code << 4, f16)); }

/// Where bit `bit` of code i of a row is: bits of codes follow each other, the highest first, as do
/// those of little-endian words.
struct BitPlace {
  size_t byte;
  uint32_t bit;
  BitPlace(size_t i, uint32_t of_code) {
    const size_t at = 12 * i + 11 - of_code;
    const auto of_word = static_cast<uint32_t>(31 - at % 32);
    byte = at / 32 * 4 + of_word / 8;
    bit = of_word % 8;
  }
};

/// q has the bytes of codes of x, [m, k], row by row.
inline Quantized cast_to_e5m6(const std::vector<double>& x, size_t m, size_t k, Kind kind) {
  Quantized out{std::vector<uint8_t>(m * k / 2 * 3), {}};
  for (size_t row = 0; row < m; ++row) {
    float amax = 0;
    for (size_t j = 0; j < k; ++j) {
      const auto v = static_cast<float>(x[row * k + j]);
      if (!std::isnan(v)) amax = std::max(amax, std::fabs(v));
    }
    const Scale scale = scale_of(amax, kLargestE5m6, kind, 1e-4F);
    for (size_t j = 0; j < k; ++j) {
      const uint32_t code = e5m6_code(static_cast<float>(x[row * k + j]) * scale.inv);
      for (uint32_t b = 0; b < 12; ++b) {
        const BitPlace at(j, b);
        out.q[row * (k / 2 * 3) + at.byte] |= static_cast<uint8_t>((code >> b & 1) << at.bit);
      }
    }
    out.sf.push_back(scale.sf);
  }
  return out;
}

/// The values of codes in those bytes, before they are scaled.
inline std::vector<double> e5m6_values(const std::vector<uint8_t>& q, size_t m, size_t k) {
  std::vector<double> list;
  for (size_t row = 0; row < m; ++row) {
    for (size_t j = 0; j < k; ++j) {
      uint32_t code = 0;
      for (uint32_t b = 0; b < 12; ++b) {
        const BitPlace at(j, b);
        code |= (q[row * (k / 2 * 3) + at.byte] >> at.bit & 1U) << b;
      }
      list.push_back(e5m6_value(code));
    }
  }
  return list;
}

}  // namespace tw::reference
