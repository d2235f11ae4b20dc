#include "tilewright/base/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewright/base/codes.h"

namespace tw {
namespace {

/// How a float is stored: sign, exponent, mantissa, then `padding` unused bits.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
  int padding = 0;

  int sign_shift() const { return exponent_bits + mantissa_bits; }
  uint64_t magnitude_mask() const { return (uint64_t{1} << sign_shift()) - 1; }
  int digits() const { return mantissa_bits + 1; }
  int min_exponent() const { return 1 - bias; }  // of normal values
  int max_exponent() const { return (1 << exponent_bits) - 1 - (has_infinity ? 1 : 0) - bias; }
  int unit_exponent() const { return min_exponent() - mantissa_bits; }  // of the smallest value
  /// Magnitude of infinity in the IEEE formats.
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
};

Format format_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16:
      return {5, 10, 15, true};
    case Scalar::bf16:
      return {8, 7, 127, true};
    case Scalar::f32:
      return {8, 23, 127, true};
    case Scalar::f64:
      return {11, 52, 1023, true};
    case Scalar::tf32:
      return {8, 10, 127, true, 13};
    case Scalar::e4m3:
      return {4, 3, 7, false};
    case Scalar::e5m2:
      return {5, 2, 15, true};
    case Scalar::e2m1:
      return {2, 1, 1, false};
    default:
      break;
  }
  throw InternalError("conversion: not a float with sign and mantissa");
}

uint64_t largest_finite(Scalar scalar, const Format& format) {
  if (format.has_infinity) return format.infinity() - 1;
  return scalar == Scalar::e4m3 ? 0x7E : format.magnitude_mask();
}

/// Any scalar as what it is: (-1)^negative * significand * 2^exponent, or no number.
struct Exact {
  enum Kind { finite, infinite, nan } kind = finite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;

  /// Exponent of the leading bit; the significand is not 0.
  int leading() const { return exponent + 63 - std::countl_zero(significand); }
};

uint64_t low_bits(uint64_t bits, int count) {
  return count == 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

Exact read(uint64_t bits, DType dtype) {
  if (dtype.is_bool()) return {Exact::finite, false, bits & 0xFF ? 1u : 0u, 0};
  if (dtype.is_int()) {
    const auto value = static_cast<uint64_t>(decode_int(bits, dtype));
    const bool negative = dtype.is_signed_int() && static_cast<int64_t>(value) < 0;
    return {Exact::finite, negative, negative ? 0 - value : value, 0};
  }
  bits = low_bits(bits, DType(dtype.scalar).bits());
  if (dtype.scalar == Scalar::e8m0) {
    if (bits == 0xFF) return {Exact::nan};
    return {Exact::finite, false, 1, static_cast<int>(bits) - 127};
  }
  // As stored: a tf32 is read as an f32.
  const Scalar scalar = dtype.scalar == Scalar::tf32 ? Scalar::f32 : dtype.scalar;
  const Format format = format_of(scalar);
  const bool negative = (bits >> format.sign_shift()) != 0;
  const uint64_t magnitude = bits & format.magnitude_mask();
  if (magnitude > largest_finite(scalar, format)) {
    const bool infinite = format.has_infinity && magnitude == format.infinity();
    return {infinite ? Exact::infinite : Exact::nan, negative};
  }
  const auto biased = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint64_t mantissa = low_bits(magnitude, format.mantissa_bits);
  const uint64_t implicit = biased == 0 ? 0 : uint64_t{1} << format.mantissa_bits;
  const int exponent = std::max(biased, 1) - format.bias - format.mantissa_bits;
  return {Exact::finite, negative, implicit | mantissa, exponent};
}

/// A magnitude in units of 2^unit: the whole part, and the first 64 bits of the fraction, the last
/// of which is set if any bit after it is.
struct Split {
  uint64_t whole, fraction;
};

Split split(const Exact& value, int unit) {
  const int shift = unit - value.exponent;
  const uint64_t s = value.significand;
  if (shift <= 0) return {s << -shift, 0};
  if (shift < 64) return {s >> shift, s << (64 - shift)};
  const int beyond = std::min(shift - 64, 63);
  return {0, (s >> beyond) | (low_bits(s, beyond) != 0 ? 1 : 0)};
}

bool rounds_up(const Split& parts, bool negative, Rounding rounding, uint32_t random) {
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  switch (rounding) {
    case Rounding::rn:
      return parts.fraction > kHalf || (parts.fraction == kHalf && (parts.whole & 1) != 0);
    case Rounding::rz:
      return false;
    case Rounding::rp:
      return !negative && parts.fraction != 0;
    case Rounding::rm:
      return negative && parts.fraction != 0;
    case Rounding::rs:
      return (parts.fraction >> 48) + (random & 0xFFFF) >= 0x10000;
  }
  throw InternalError("conversion: unknown rounding");
}

uint64_t write_int(const Exact& value, DType to) {
  if (value.kind == Exact::nan) return 0;
  const int bits = DType(to.scalar).bits();
  const bool is_signed = to.is_signed_int();
  // Magnitude of the end of the range on the value's side.
  const uint64_t most = value.negative ? (is_signed ? uint64_t{1} << (bits - 1) : 0)
                                       : low_bits(~uint64_t{0}, is_signed ? bits - 1 : bits);
  const bool beyond =
      value.kind == Exact::infinite || (value.significand != 0 && value.leading() >= 64);
  const uint64_t magnitude = beyond ? most : std::min(most, split(value, 0).whole);
  return low_bits(value.negative ? 0 - magnitude : magnitude, bits);
}

uint64_t write_e8m0(const Exact& value, Rounding rounding) {
  if (value.kind == Exact::nan) return 0xFF;
  if (value.negative || (value.kind == Exact::finite && value.significand == 0)) return 0;
  if (value.kind == Exact::infinite) return 0xFE;
  const bool up = rounding == Rounding::rn || rounding == Rounding::rp;
  const int exponent = value.leading() + (up && !std::has_single_bit(value.significand) ? 1 : 0);
  return static_cast<uint64_t>(std::clamp(exponent, -127, 127) + 127);
}

uint64_t write_float(const Exact& value, Scalar to, Rounding rounding, bool saturate,
                     uint32_t random) {
  const Format format = format_of(to);
  const uint64_t most = largest_finite(to, format);
  const auto store = [&](bool negative, uint64_t magnitude) {
    return (uint64_t{negative} << format.sign_shift() | magnitude) << format.padding;
  };
  if (value.kind == Exact::nan) {
    const uint64_t all_ones = uint64_t{1} << format.padding;
    return to == Scalar::e2m1 ? most : (store(false, format.magnitude_mask()) | (all_ones - 1));
  }
  const uint64_t infinity = format.has_infinity ? format.infinity() : format.magnitude_mask();
  saturate =
      rounding == Rounding::rs || to == Scalar::e2m1 || (saturate && DType(to).is_narrow_float());
  if (value.kind == Exact::infinite) return store(value.negative, saturate ? most : infinity);
  if (value.significand == 0) return store(value.negative, 0);

  // Directed rounding stops at the largest finite value, unless it is directed away from zero.
  const bool stops =
      rounding != Rounding::rn && rounding != (value.negative ? Rounding::rm : Rounding::rp);
  const uint64_t overflow = saturate || stops ? most : infinity;
  const int exponent = std::max(value.leading(), format.min_exponent());
  const Split parts = split(value, exponent - format.mantissa_bits);
  const bool up = rounds_up(parts, value.negative, rounding, random);
  // The leading bit of a normal value adds one to the exponent field, and so does a carry.
  const auto field = static_cast<uint64_t>(exponent - format.min_exponent());
  const uint64_t magnitude = (field << format.mantissa_bits) + parts.whole + (up ? 1 : 0);
  return store(value.negative, magnitude <= most ? magnitude : overflow);
}

uint32_t reverse16(uint32_t x) {
  x = (x & 0x5555) << 1 | (x >> 1 & 0x5555);
  x = (x & 0x3333) << 2 | (x >> 2 & 0x3333);
  x = (x & 0x0F0F) << 4 | (x >> 4 & 0x0F0F);
  return (x & 0x00FF) << 8 | x >> 8;
}

bool has_conversion(DType from, DType to) {
  if (from.scalar == to.scalar || to.is_bool()) return true;
  if (from.is_bool()) return to.scalar != Scalar::e8m0;
  if (from.scalar == Scalar::e2m1 && to.scalar == Scalar::e4m3) return true;
  if (from.is_narrow_float()) return to.has_float_arithmetic();
  return !to.is_narrow_float() || from.has_float_arithmetic();
}

bool has_rounding(DType from, DType to, Rounding rounding) {
  if (rounding == Rounding::rn || from.scalar == to.scalar) return rounding == Rounding::rn;
  const bool half = to.scalar == Scalar::f16 || to.scalar == Scalar::bf16;
  if (rounding != Rounding::rs) {
    return to.scalar == Scalar::e8m0 ? from.is_float() : from.scalar == Scalar::f32 && half;
  }
  return from.scalar == Scalar::f32 &&
         (half || (to.is_narrow_float() && to.scalar != Scalar::e8m0));
}

}  // namespace

uint64_t convert_bits(uint64_t bits, DType from, DType to, Rounding rounding, bool saturate,
                      uint32_t random) {
  if (from.scalar == to.scalar) return low_bits(bits, DType(to.scalar).bits());
  if (from.is_int() && to.is_int()) {
    return low_bits(static_cast<uint64_t>(decode_int(bits, from)), DType(to.scalar).bits());
  }
  const Exact value = read(bits, from);
  if (to.is_bool()) return value.kind != Exact::finite || value.significand != 0;
  if (to.is_int()) return write_int(value, to);
  if (to.scalar == Scalar::e8m0) return write_e8m0(value, rounding);
  return write_float(value, to.scalar, rounding, saturate, random);
}

uint64_t encode(double value, DType to, Rounding rounding, bool saturate, uint32_t random) {
  return convert_bits(std::bit_cast<uint64_t>(value), f64, to, rounding, saturate, random);
}

uint64_t encode(float value, DType to, Rounding rounding, bool saturate, uint32_t random) {
  return convert_bits(std::bit_cast<uint32_t>(value), f32, to, rounding, saturate, random);
}

double decode(uint64_t bits, DType dtype) {
  return std::bit_cast<double>(convert_bits(bits, dtype, f64));
}

int64_t decode_int(uint64_t bits, DType dtype) {
  if (dtype.is_bool()) return (bits & 0xFF) != 0;
  const int unused = 64 - DType(dtype.scalar).bits();
  if (dtype.is_signed_int()) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<int64_t>(low_bits(bits, 64 - unused));
}

bool is_nan(uint64_t bits, DType dtype) {
  return dtype.is_float() && read(bits, dtype).kind == Exact::nan;
}

bool same_value(uint64_t a, uint64_t b, DType dtype) {
  return a == b || (is_nan(a, dtype) && is_nan(b, dtype));
}

bool holds_every(DType from, DType to) {
  if (from == to) return true;
  const auto has_fixed_bits = [](DType t) {
    return t.lanes == 1 && t.scalar != Scalar::e8m0 && t.scalar != Scalar::tf32;
  };
  if (to.is_bool() || !has_fixed_bits(from) || !has_fixed_bits(to)) return false;
  const int value_bits = from.is_bool() ? 1 : from.bits() - (from.is_signed_int() ? 1 : 0);
  if (to.is_int()) {
    return !from.is_float() && value_bits <= to.bits() - (to.is_signed_int() ? 1 : 0) &&
           (to.is_signed_int() || !from.is_signed_int());
  }
  const Format b = format_of(to.scalar);
  if (!from.is_float()) return value_bits <= b.digits() && value_bits <= b.max_exponent();
  const Format a = format_of(from.scalar);
  return a.digits() <= b.digits() && a.max_exponent() <= b.max_exponent() &&
         a.unit_exponent() >= b.unit_exponent();
}

Code cast_error(DType from, DType to, Rounding rounding, bool saturate, bool has_random_word) {
  if (!has_conversion(from, to)) return codes::copy_03;
  if (!has_rounding(from, to, rounding)) return codes::cast_01;
  const bool fp8 = to.scalar == Scalar::e4m3 || to.scalar == Scalar::e5m2;
  const bool can_overflow = fp8 && from.has_float_arithmetic() && rounding == Rounding::rn;
  if (!saturate && !can_overflow) return codes::cast_02;
  if ((rounding == Rounding::rs) != has_random_word) return codes::cast_03;
  return {};
}

uint32_t lane_random_bits(DType to, uint32_t word, int lane) {
  const bool half = to.scalar == Scalar::f16 || to.scalar == Scalar::bf16;
  const int lanes = half ? 2 : 4;
  if (lane >= lanes) {
    word += static_cast<uint32_t>(lane / lanes) * 0x9E3779B9u;
    word = (word ^ word >> 16) * 0x7FEB352Du;
    word = (word ^ word >> 15) * 0x846CA68Bu;
    word ^= word >> 16;
  }
  lane %= lanes;
  if (half) return lane == 0 ? word & 0xFFFF : word >> 16;
  uint32_t bits = lane < 2 ? word & 0xFFFF : word >> 16;
  if (to.scalar == Scalar::e2m1) {
    const uint32_t bytes = lane < 2 ? word : word >> 8;
    bits = (bytes >> 16 & 0xFF) << 8 | (bytes & 0xFF);
  }
  return lane % 2 == 0 ? bits : reverse16(bits);
}

}  // namespace tw
