// Integer arithmetic that C++ lacks: division that rounds down, and up.
#pragma once

#include <cstdint>

namespace tw {

/// a / b rounded down; b is not 0, and a / b is no overflow.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
/// What floor_div leaves: in [0, b) for a positive b.
constexpr int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

/// a / b rounded up, for a >= 0 and b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace tw
