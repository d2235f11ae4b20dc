#include "tests/fuzz/values.h"

#include <cmath>
#include <limits>

#include "tilewright/base/convert.h"

namespace tw::fuzz {
namespace {

uint64_t any_pattern(Random& random, DType dtype) {
  const uint64_t bits = random.bits();
  if (dtype.is_bool()) return bits & 1;
  return bits >> (64 - dtype.bits());
}

double special_float(Random& random, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const double largest = max_finite(dtype);
  const double smallest = dtype == f64 ? 5e-324 : dtype == f16 ? 0x1p-24 : 0x1p-149;
  return random.pick({0.0, -0.0, inf, -inf, std::nan(""), largest, -largest, smallest, -smallest,
                      0x1p-126, 0x1p-14, 1.0, -1.0});
}

uint64_t special_int(Random& random, DType dtype) {
  const uint64_t ones = ~uint64_t{0} >> (64 - dtype.bits());
  return random.pick({uint64_t{0}, uint64_t{1}, ones, ones >> 1, (ones >> 1) + 1, uint64_t{2}});
}

}  // namespace

uint64_t any_value(Random& random, DType dtype) {
  const int64_t kind = random.range(0, 9);
  if (dtype.is_bool() || kind < 2) return any_pattern(random, dtype);
  if (dtype.is_int()) {
    if (kind < 4) return special_int(random, dtype);
    return encode(random.range(kind < 7 ? -20 : -120, kind < 7 ? 20 : 120), dtype);
  }
  if (kind < 4) return encode(special_float(random, dtype), dtype);
  if (kind < 6) return encode(static_cast<double>(random.range(-8, 8)), dtype);
  const double mantissa = static_cast<double>(random.range(-1 << 20, 1 << 20)) / (1 << 18);
  return encode(mantissa, dtype);
}

uint64_t small_value(Random& random, DType dtype) {
  if (dtype.is_bool()) return random.bits() & 1;
  if (dtype.scalar == Scalar::e8m0)
    return encode(std::ldexp(1.0, static_cast<int>(random.range(-1, 2))), dtype);
  const int64_t value = random.range(dtype.is_unsigned_int() ? 0 : -4, 4);
  return dtype.is_float() ? encode(static_cast<double>(value), dtype) : encode(value, dtype);
}

}  // namespace tw::fuzz
