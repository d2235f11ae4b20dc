#include "tilewright/backend/cpu/rules/convert.h"

#include <algorithm>

#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

/// A float narrower than f32: sign, exponent, mantissa.
struct Narrow {
  int bits;      // in a register
  int mantissa;  // bits of it
  int bias;
  int64_t most, overflow, nan;  // largest finite magnitude; what is beyond it; a NaN

  int sign_at() const { return mantissa + (bias == 127 ? 8 : bias == 7 ? 4 : bias == 1 ? 2 : 5); }
  /// Exponent field in f32 of the smallest normal value.
  int64_t min_field() const { return 128 - bias; }
};

Narrow narrow_of(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::f16:
      return {16, 10, 15, 0x7BFF, 0x7C00, 0x7FFF};
    case Scalar::bf16:
      return {16, 7, 127, 0x7F7F, 0x7F80, 0x7FFF};
    case Scalar::e4m3:
      return {8, 3, 7, 0x7E, 0x7F, 0x7F};
    case Scalar::e5m2:
      return {8, 2, 15, 0x7B, 0x7C, 0x7F};
    case Scalar::e2m1:
      return {8, 1, 1, 7, 7, 7};
    default:
      throw InternalError("conversion: not a narrow float");
  }
}

Val bits_of(Val f32_value) { return bitcast(f32_value, kI32); }
Val float_of(Val i32_value) { return bitcast(i32_value, kF32); }
Val f32_const(Val like, double value) { return like.builder().constant(kF32, value, like.lanes()); }

constexpr int64_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000;

// ---- narrow to f32: exact ----

/// The fence keeps LLVM from doing what follows in `half`, for which x86 has calls instead of
/// instructions (fmaxf for a maximum).
Val from_half(Val bits) {
  return bits.builder().intrinsic("llvm.arithmetic.fence", fpext(bitcast(bits, kHalf), kF32));
}

Val widen(const Target& target, Val value, DType from) {
  if (from.scalar == Scalar::e8m0) {
    const Val x = zext(value, kI32);
    const Val power =
        select(eq(x, 0), x.builder().constant(kI32, int64_t{0x00400000}, x.lanes()), shl(x, 23));
    return float_of(
        select(eq(x, 255), x.builder().constant(kI32, int64_t{0x7FC00000}, x.lanes()), power));
  }
  if (from.scalar == Scalar::bf16) return float_of(shl(zext(value, kI32), 16));
  if (target.f16c && from.scalar == Scalar::f16) return from_half(value);
  if (target.f16c && from.scalar == Scalar::e5m2) {
    return from_half(shl(zext(value, kI16), 8));
  }
  if (target.f16c && from.scalar == Scalar::e4m3) {
    // As an f16 with the wrong bias, which scaling by 2^8 mends.
    const Val x = zext(value, kI16);
    const Val half = shl(x & 0x80, 8) | shl(x & 0x7F, 7);
    const Val scaled = fmul(from_half(half), f32_const(value, 256));
    return select(eq(x & 0x7F, 0x7F),
                  float_of(value.builder().constant(kI32, int64_t{0x7FC00000}, value.lanes())),
                  scaled);
  }
  const Narrow format = narrow_of(from);
  const Val x = zext(value, kI32);
  const Val magnitude = x & ((int64_t{1} << format.sign_at()) - 1);
  Val wide = shl(magnitude, 23 - format.mantissa) + (int64_t{127 - format.bias} << 23);
  // A subnormal is an integer times the smallest one.
  const Val smallest = float_of(value.builder().constant(
      kI32, int64_t{127 + 1 - format.bias - format.mantissa} << 23, value.lanes()));
  const Val subnormal = fmul(sitofp(magnitude, kF32), smallest);
  wide = select(ult(magnitude, int64_t{1} << format.mantissa), bits_of(subnormal), wide);
  if (from.scalar != Scalar::e2m1) {
    wide = select(ugt(magnitude, format.most), wide | kInfinity, wide);
    if (from.scalar == Scalar::e4m3) {
      wide = select(ugt(magnitude, format.most), wide | 0x400000, wide);
    }
  }
  const Val sign = shl(lshr(x, format.sign_at()) & 1, 31);
  return float_of(wide | sign);
}

// ---- f32 to narrow ----

/// Puts NaN, overflow and the sign to a rounded magnitude.
Val finish(const Narrow& format, DType to, Val x, Val magnitude, bool saturate) {
  const Val a = x & kMagnitude;
  const bool is_e2m1 = to.scalar == Scalar::e2m1;
  Val r = umin(magnitude, saturate ? format.most : format.overflow);
  r = select(ugt(a, kInfinity), x.builder().constant(kI32, format.nan, x.lanes()), r);
  Val sign = lshr(x, 31 - format.sign_at()) & (int64_t{1} << format.sign_at());
  if (is_e2m1) sign = select(ugt(a, kInfinity), x.builder().zero(kI32, x.lanes()), sign);
  return trunc(r | sign, Elem{format.bits});
}

/// To the nearest, ties to even.
Val round_nearest(const Target& target, Val value, DType to, bool saturate) {
  const Narrow format = narrow_of(to);
  const Val x = bits_of(value);
  if (to.scalar == Scalar::bf16) {
    const Val rounded = lshr(x + 0x7FFF + (lshr(x, 16) & 1), 16);
    const Val nan = lshr(x, 16) | 0x40;
    return trunc(select(ugt(x & kMagnitude, kInfinity), nan, rounded), kI16);
  }
  if (target.f16c && to.scalar == Scalar::f16) return bitcast(fptrunc(value, kHalf), kI16);
  const Val a = x & kMagnitude;
  const int cut = 23 - format.mantissa;
  const Val odd = lshr(a, cut) & 1;
  const Val normal = lshr(a + ((int64_t{1} << (cut - 1)) - 1) + odd, cut) -
                     ((format.min_field() - 1) << format.mantissa);
  // Adding 2^23 units of the smallest subnormal makes the processor round to a
  // whole number of them.
  const int64_t anchor = int64_t{127 + 1 - format.bias - format.mantissa + 23} << 23;
  const Val anchored = fadd(float_of(a), float_of(x.builder().constant(kI32, anchor, x.lanes())));
  const Val subnormal = bits_of(anchored) - anchor;
  const Val magnitude = select(ult(a, format.min_field() << 23), subnormal, normal);
  return finish(format, to, x, magnitude, saturate);
}

/// Any other rounding, in 64-bit integers: the kept part and 16 bits of fraction, exactly.
Val round_directed(Val value, DType to, Rounding rounding, Val random) {
  const Narrow format = narrow_of(to);
  Builder& b = value.builder();
  const Val x = bits_of(value);
  const Val a = x & kMagnitude;
  const Val field = lshr(a, 23);
  const Val implicit =
      select(eq(field, 0), b.zero(kI32, x.lanes()), b.constant(kI32, int64_t{1} << 23, x.lanes()));
  const Val significand = zext((a & 0x7FFFFF) | implicit, kI64);
  const Val exponent = umax(field, 1);
  const Val kept = umax(exponent, format.min_field());
  const Val shift = zext(umin(kept - exponent + (23 - format.mantissa), 40), kI64);
  const Val parts = lshr(shl(significand, 16), shift);
  const Val whole = trunc(lshr(parts, 16), kI32);
  const Val inexact = ne(shl(parts, shift), shl(significand, 16)) | ne(parts & 0xFFFF, 0);
  const Val negative = slt(x, 0);
  Val up;
  switch (rounding) {
    case Rounding::rp:
      up = inexact & ~negative;
      break;
    case Rounding::rm:
      up = inexact & negative;
      break;
    case Rounding::rs:
      up = ugt((trunc(parts, kI32) & 0xFFFF) + (random & 0xFFFF), 0xFFFF);
      break;
    default:
      up = b.zero(kI1, x.lanes());
  }
  Val magnitude = shl(kept - format.min_field(), format.mantissa) + whole + zext(up, kI32);
  const bool is_random = rounding == Rounding::rs;
  if (!is_random) {
    // A finite value stops at the largest one unless it is rounded away from zero.
    const Val stops = rounding == Rounding::rz   ? ult(a, kInfinity)
                      : rounding == Rounding::rp ? negative & ult(a, kInfinity)
                                                 : ~negative & ult(a, kInfinity);
    magnitude = select(stops, umin(magnitude, format.most), magnitude);
  }
  return finish(format, to, x, magnitude, is_random || to.is_narrow_float());
}

/// The power of two at or above the value, or at or below it.
Val to_e8m0(Val value, bool up) {
  const Val x = bits_of(value);
  Builder& b = value.builder();
  Val r = up ? lshr(x + 0x7FFFFF, 23) : lshr(x, 23);
  if (up) r = select(ult(x, 0x400001), b.zero(kI32, x.lanes()), r);
  r = select(slt(x, 0), b.zero(kI32, x.lanes()), umin(r, 254));
  r = select(ugt(x & kMagnitude, kInfinity), b.constant(kI32, int64_t{255}, x.lanes()), r);
  return trunc(r, kI8);
}

Val to_tf32(Val value) {
  const Val x = bits_of(value);
  const Val rounded = (x + 0xFFF + (lshr(x, 13) & 1)) & ~int64_t{0x1FFF};
  return select(ugt(x & kMagnitude, kInfinity), value, float_of(rounded));
}

// ---- wider types to f32 without a second rounding ----

/// f64 to f32, to the odd neighbor when it lies between two: what is narrower than f32 by two bits
/// and more then rounds as from the f64 itself.
Val to_odd_f32(Val value) {
  const Val near = fptrunc(value, kF32);
  const Val back = fpext(near, kF64);
  const Val bits = bits_of(near);
  const auto magnitude = [](Val v) { return bitcast(v, kI64) & INT64_MAX; };
  const Val toward_zero = bits - zext(ugt(magnitude(back), magnitude(value)), kI32);
  return float_of(select(fcmp(FPred::une, back, value), toward_zero | 1, bits));
}

Val int_to_f64(Val value, bool is_signed) {
  return is_signed ? sitofp(value, kF64) : uitofp(value, kF64);
}

/// A 64-bit integer as an f64 whose last bits say whether anything was cut off: enough to round it
/// to a narrower float.
Val int64_to_odd_f64(Val value, bool is_signed) {
  const Val negative = is_signed ? slt(value, 0) : value.builder().zero(kI1, value.lanes());
  const Val magnitude = select(negative, -value, value);
  const Val cut = magnitude & 0x7FF;
  const Val sticky =
      (magnitude & ~int64_t{0x7FF}) |
      select(ne(cut, 0), value.builder().constant(kI64, int64_t{0x800}, value.lanes()),
             value.builder().zero(kI64, value.lanes()));
  const Val exact = select(ult(magnitude, int64_t{1} << 53), magnitude, sticky);
  const Val result = uitofp(exact, kF64);
  return select(negative, fneg(result), result);
}

Val from_int(Val value, DType from, const Target& target, DType to) {
  const bool is_signed = from.is_signed_int();
  if (to.scalar == Scalar::f32) return is_signed ? sitofp(value, kF32) : uitofp(value, kF32);
  if (to.scalar == Scalar::f64) return int_to_f64(value, is_signed);
  Val f;
  if (from.bits() <= 16) {
    f = is_signed ? sitofp(value, kF32) : uitofp(value, kF32);
  } else if (from.bits() == 32) {
    f = to_odd_f32(int_to_f64(value, is_signed));
  } else {
    f = to_odd_f32(int64_to_odd_f64(value, is_signed));
  }
  return to.scalar == Scalar::tf32 ? to_tf32(f) : round_nearest(target, f, to, false);
}

}  // namespace

Elem register_elem(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::boolean:
      return kI1;
    case Scalar::f32:
    case Scalar::tf32:
      return kF32;
    case Scalar::f64:
      return kF64;
    default:
      return {std::max(8, DType(dtype.scalar).bits())};
  }
}

Val convert(const Target& target, Val value, const Conversion& how) {
  const DType from(how.from.scalar), to(how.to.scalar);
  Builder& b = value.builder();
  const auto is_f32 = [](DType d) { return d.scalar == Scalar::f32 || d.scalar == Scalar::tf32; };
  if (from == to) return value;
  if (from.is_bool()) {
    if (to.is_int()) return zext(value, register_elem(to));
    const Elem elem = register_elem(to);
    const Val one = elem.kind == Elem::floating
                        ? b.constant(elem, 1.0, value.lanes())
                        : b.constant(elem, static_cast<int64_t>(encode(1.0, to)), value.lanes());
    return select(value, one, b.zero(elem, value.lanes()));
  }
  if (from.is_int()) {
    if (to.is_bool()) return ne(value, 0);
    if (to.is_int()) return int_resize(value, register_elem(to), from.is_signed_int());
    return from_int(value, from, target, to);
  }

  const bool is_f64 = from.scalar == Scalar::f64;
  if (!is_f64 && !is_f32(from)) value = widen(target, value, from);
  if (to.is_bool()) return fcmp(FPred::une, value, b.zero(value.elem(), value.lanes()));
  if (to.is_int()) {
    const Elem elem = register_elem(to);
    return to.is_signed_int() ? fptosi_sat(value, elem) : fptoui_sat(value, elem);
  }
  if (to.scalar == Scalar::f64) return fpext(value, kF64);
  if (to.scalar == Scalar::f32) return is_f64 ? fptrunc(value, kF32) : value;
  if (is_f64) value = to_odd_f32(value);
  if (to.scalar == Scalar::tf32) return to_tf32(value);
  if (to.scalar == Scalar::e8m0) {
    return to_e8m0(value, how.rounding == Rounding::rn || how.rounding == Rounding::rp);
  }
  if (how.rounding == Rounding::rn) {
    return round_nearest(target, value, to, how.saturate && to.is_narrow_float());
  }
  return round_directed(value, to, how.rounding, how.random);
}

}  // namespace tw::cpu
