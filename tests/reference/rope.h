// Rotary embedding in plain loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace tw::reference {

struct Rotary {
  int64_t heads, d;
  bool interleaved = false, conjugate = false;
};

/// Rows of heads * d values, of which row t has the factors of row positions[t] of cos_sin. Not
/// rounded to a dtype.
inline std::vector<float> apply_rotary(const std::vector<double>& x,
                                       const std::vector<double>& cos_sin,
                                       const std::vector<int64_t>& positions, const Rotary& r) {
  std::vector<float> out(x.size());
  const auto half = static_cast<size_t>(r.d / 2), row = static_cast<size_t>(r.heads * r.d);
  for (size_t t = 0; t < positions.size(); ++t) {
    const double* factors = &cos_sin[static_cast<size_t>(positions[t] * r.d)];
    for (size_t head = t * row; head < (t + 1) * row; head += 2 * half) {
      for (size_t i = 0; i < half; ++i) {
        const size_t a = head + (r.interleaved ? 2 * i : i), b = a + (r.interleaved ? 1 : half);
        const auto u = static_cast<float>(x[a]), v = static_cast<float>(x[b]);
        const auto c = static_cast<float>(factors[i]), s = static_cast<float>(factors[half + i]);
        const float vs = v * s, vc = v * c;
        out[a] = std::fma(u, c, r.conjugate ? vs : -vs);
        out[b] = std::fma(u, r.conjugate ? -s : s, vc);
      }
    }
  }
  return out;
}

}  // namespace tw::reference
