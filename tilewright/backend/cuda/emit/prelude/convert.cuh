// Part of the device prelude (../prelude.h): conversions whose results the language fixes bit by
// bit (base/convert.h). What has an instruction that agrees is in hardware.cuh.

//# odd
// x as an f32, toward zero, and with an odd last bit where that loses something: to round the result
// once more is to round x once.
__device__ __forceinline__ f32 odd(f32 toward_zero, bool inexact) {
  return f32_of(bits_of(toward_zero) | (inexact ? 1u : 0u));
}
//# odd_i32
__device__ __forceinline__ f32 odd_i32(i32 x) {
  const f32 y = __int2float_rz(x);
  return odd(y, static_cast<i64>(y) != x);
}
//# odd_u32
__device__ __forceinline__ f32 odd_u32(u32 x) {
  const f32 y = __uint2float_rz(x);
  return odd(y, static_cast<u64>(y) != x);
}
//# odd_i64
__device__ __forceinline__ f32 odd_i64(i64 x) {
  const f32 y = __ll2float_rz(x);
  return odd(y, static_cast<i64>(y) != x);
}
//# odd_u64
__device__ __forceinline__ f32 odd_u64(u64 x) {
  const f32 y = __ull2float_rz(x);
  return odd(y, static_cast<u64>(y) != x);
}
//# odd_f64
__device__ __forceinline__ f32 odd_f64(f64 x) {
  const f32 y = __double2float_rz(x);
  return odd(y, static_cast<f64>(y) != x && x == x);
}

//# to_tf32
// Ten bits of mantissa, to the nearest even.
__device__ __forceinline__ tf32 to_tf32(f32 x) {
  const u32 bits = bits_of(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return f32_of(0x7FFFFFFFu);
  return f32_of((bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu);
}
//# to_tf32_rz
__device__ __forceinline__ tf32 to_tf32_rz(f32 x) { return f32_of(bits_of(x) & ~0x1FFFu); }

//# from_bf16
__device__ __forceinline__ f32 from_bf16(bf16 x) { return f32_of(static_cast<u32>(x) << 16); }
//# bf16_toward
// The bf16 on the given side of x, or x.
__device__ __forceinline__ bf16 bf16_toward(f32 x, bool away_from_zero) {
  const u32 bits = bits_of(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<bf16>((bits >> 16) + (away_from_zero && (bits & 0xFFFFu) != 0 ? 1u : 0u));
}
//# to_bf16_rz
__device__ __forceinline__ bf16 to_bf16_rz(f32 x) { return bf16_toward(x, false); }
//# to_bf16_rp
__device__ __forceinline__ bf16 to_bf16_rp(f32 x) {
  return bf16_toward(x, bits_of(x) < 0x80000000u);
}
//# to_bf16_rm
__device__ __forceinline__ bf16 to_bf16_rm(f32 x) {
  return bf16_toward(x, bits_of(x) >= 0x80000000u);
}

//# from_e8m0
__device__ __forceinline__ f32 from_e8m0(e8m0 x) {
  if (x == 0) return f32_of(0x00400000u);
  return f32_of(x == 0xFF ? 0x7FFFFFFFu : static_cast<u32>(x) << 23);
}
//# to_e8m0_up
// The next power of two upward. 0 and negative values give 2^-127.
__device__ __forceinline__ e8m0 to_e8m0_up(f32 x) {
  const u32 bits = bits_of(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0xFF;
  if (bits <= 0x00400000u || bits >= 0x80000000u) return 0;
  const u32 up = (bits + 0x7FFFFFu) >> 23;
  return static_cast<e8m0>(up < 0xFEu ? up : 0xFEu);
}
//# to_e8m0_down
__device__ __forceinline__ e8m0 to_e8m0_down(f32 x) {
  const u32 bits = bits_of(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0xFF;
  if (bits >= 0x80000000u) return 0;
  const u32 down = bits >> 23;
  return static_cast<e8m0>(down < 0xFEu ? down : 0xFEu);
}

//# e2m1_code
// The code of |x|, no NaN, in the low byte: to the nearest even of 0 .5 1 1.5 2 3 4 6, which grows
// by 4 up to 2, by 2 up to 4, by 1 up to 6. Each part, saturated, is added to a sum whose last bit
// is worth 1, which rounds it. All of that are multiplies and adds, of which there are twice as many
// units as for bits, minima and comparisons.
__device__ __forceinline__ u32 e2m1_code(f32 x) {
  const f32 a = fabsf(x);
  const f32 first = __fmaf_rn(__saturatef(a * 0.5f), 4.0f, 8388608.0f);
  const f32 second = __fmaf_rn(__saturatef(__fmaf_rn(a, 0.5f, -1.0f)), 2.0f, first);
  return bits_of(__fadd_rn(second, __saturatef(__fmaf_rn(a, 0.5f, -2.0f))));
}
//# to_e2m1
// At most 6 in magnitude; NaN gives 6.
__device__ __forceinline__ e2m1 to_e2m1(f32 x) {
  const f32 y = fminf(x, 6.0f);
  return static_cast<e2m1>((e2m1_code(y) & 7u) | (bits_of(y) >> 28 & 8u));
}
//# nearest_e2m1
// The value of to_e2m1(x). With 2^e the power of two at or below |x|, but at least 1, values are
// apart by 2^e / 2, and so are the numbers of f32 from 2^(e + 22) on.
__device__ __forceinline__ f32 nearest_e2m1(f32 x) {
  const f32 y = fmaxf(fminf(x, 6.0f), -6.0f);
  const f32 power = fmaxf(__uint_as_float(bits_of(y) & 0x7F800000u), 1.0f);
  const f32 sum = __fmaf_rn(power, 6291456.0f, fabsf(y));
  return copysignf(__fmaf_rn(power, -6291456.0f, sum), y);
}
//# to_e2m1x2
__device__ __forceinline__ e2m1x2 to_e2m1x2(f32 low, f32 high) {
  const f32 x = fminf(low, 6.0f), y = fminf(high, 6.0f);
  const u32 codes = e2m1_code(x) + e2m1_code(y) * 16u;
  return static_cast<e2m1x2>(codes + (bits_of(x) >> 31) * 8u + (bits_of(y) >> 31) * 128u);
}

//# to_e2m1x2_of_bf16x2
// With 2^e the power of two at or below |x|, but at least 1, codes are apart by 2^e / 2, and so are
// the numbers of bf16 from 2^(e + 6) on: the sum 65 * 2^e + |x| rounds as is wanted. The code is 2 e
// and what its mantissa has beyond the 2 of 65; 2 (127 + e) + 2 is 2 e modulo 16.
__device__ __forceinline__ e2m1x2 to_e2m1x2_of_bf16x2(u32 x) {
  const u32 a = min_bf16x2(abs_bf16x2(x), 0x40C040C0u);  // up to 6, which NaN is, of its sign
  const u32 power = max_bf16x2(a & 0x7F807F80u, 0x3F803F80u);
  const u32 sum = fma_bf16x2(power, 0x42824282u, a) + (power >> 6);
  const u32 codes = (sum & 0x00070007u) | (x >> 12 & 0x00080008u);
  return static_cast<e2m1x2>(codes | codes >> 12);
}
//# to_e2m1x2_of_f16x2
// The same for f16: the sum is 513 * 2^e + |x|, and 2 (15 + e) + 2 is 2 e modulo 8.
__device__ __forceinline__ e2m1x2 to_e2m1x2_of_f16x2(u32 x) {
  const u32 a = min_f16x2(abs_f16x2(x), 0x46004600u);
  const u32 power = max_f16x2(a & 0x7C007C00u, 0x3C003C00u);
  const u32 sum = fma_f16x2(power, 0x60026002u, a) + (power >> 9);
  const u32 codes = (sum & 0x00070007u) | (x >> 12 & 0x00080008u);
  return static_cast<e2m1x2>(codes | codes >> 12);
}

//# round_random
// The magnitude of x in a format of E exponent and M mantissa bits with this bias, rounded up where
// the first 16 bits of what is discarded, plus 16 random bits, carry. At most `most`.
template <int E, int M, int kBias>
__device__ __forceinline__ u32 round_random(f32 x, u32 random, u32 most) {
  const u32 bits = bits_of(x) & 0x7FFFFFFFu;
  if (bits >= 0x7F800000u) return most;
  const int field = static_cast<int>(bits >> 23);
  const int biased = field > 1 ? field : 1;
  const u32 significand = (bits & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0u);
  // How far the exponent is below that of the smallest normal value.
  const int below = 128 - kBias - biased;
  int shift = 23 - M + (below > 0 ? below : 0);
  shift = shift < 40 ? shift : 40;
  const u64 sum = ((static_cast<u64>(significand) << 16) >> shift) + (random & 0xFFFFu);
  u32 whole = static_cast<u32>(sum >> 16);
  if (below < 0) whole += static_cast<u32>(-below) << M;
  return whole < most ? whole : most;
}
//# to_f16_rs
__device__ __forceinline__ f16 to_f16_rs(f32 x, u32 random) {
  if (x != x) return 0x7FFF;
  return static_cast<f16>(bits_of(x) >> 31 << 15 | round_random<5, 10, 15>(x, random, 0x7BFF));
}
//# round_random_few
// The same for formats of at most 6 mantissa bits. Their subnormal values, 2^16 times as large in
// units of the smallest, stay below 2^23: a sum with that, toward zero, cuts off what is no unit.
template <int M, int kBias>
__device__ __forceinline__ u32 round_random_few(f32 x, u32 random, u32 most) {
  constexpr int kDiscarded = 23 - M;
  const u32 r = random & 0xFFFFu;
  const f32 a = fabsf(x);
  const u32 normal = ((bits_of(a) + (r << (kDiscarded - 16))) >> kDiscarded) - ((127u - kBias) << M);
  const f32 scaled = __fmaf_rz(a, f32_of((142u + M + kBias) << 23), 8388608.0f);
  const u32 tiny = ((bits_of(scaled) & 0x7FFFFFu) + r) >> 16;
  const u32 whole = a < f32_of((128u - kBias) << 23) ? tiny : normal;
  return whole < most ? whole : most;
}
//# to_bf16_rs
__device__ __forceinline__ bf16 to_bf16_rs(f32 x, u32 random) {
  const u32 up = ((bits_of(x) & 0x7FFFFFFFu) + (random & 0xFFFFu)) >> 16;
  const u32 code = bits_of(x) >> 31 << 15 | (up < 0x7F7Fu ? up : 0x7F7Fu);
  return static_cast<bf16>(x == x ? code : 0x7FFFu);
}
//# to_e4m3_rs
__device__ __forceinline__ e4m3 to_e4m3_rs(f32 x, u32 random) {
  const u32 code = bits_of(x) >> 31 << 7 | round_random_few<3, 7>(x, random, 0x7E);
  return static_cast<e4m3>(x == x ? code : 0x7Fu);
}
//# to_e5m2_rs
__device__ __forceinline__ e5m2 to_e5m2_rs(f32 x, u32 random) {
  const u32 code = bits_of(x) >> 31 << 7 | round_random_few<2, 15>(x, random, 0x7B);
  return static_cast<e5m2>(x == x ? code : 0x7Fu);
}
//# to_e2m1_rs
__device__ __forceinline__ e2m1 to_e2m1_rs(f32 x, u32 random) {
  const u32 code = bits_of(x) >> 31 << 3 | round_random_few<1, 1>(x, random, 7);
  return static_cast<e2m1>(x == x ? code : 7u);
}

//# to_i8
// Toward zero; out of range to the nearest end, NaN to 0.
__device__ __forceinline__ i8 to_i8(f32 x) {
  const i32 y = __float2int_rz(x);
  return static_cast<i8>(y < -128 ? -128 : y > 127 ? 127 : y);
}
//# to_u8
__device__ __forceinline__ u8 to_u8(f32 x) {
  const u32 y = __float2uint_rz(x);
  return static_cast<u8>(y > 255u ? 255u : y);
}
//# to_i16
__device__ __forceinline__ i16 to_i16(f32 x) {
  const i32 y = __float2int_rz(x);
  return static_cast<i16>(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
}
//# to_u16
__device__ __forceinline__ u16 to_u16(f32 x) {
  const u32 y = __float2uint_rz(x);
  return static_cast<u16>(y > 65535u ? 65535u : y);
}
//# to_i32
__device__ __forceinline__ i32 to_i32(f32 x) { return __float2int_rz(x); }
//# to_u32
__device__ __forceinline__ u32 to_u32(f32 x) { return __float2uint_rz(x); }
//# to_i64
__device__ __forceinline__ i64 to_i64(f32 x) { return x == x ? __float2ll_rz(x) : 0; }
//# to_u64
__device__ __forceinline__ u64 to_u64(f32 x) { return x == x ? __float2ull_rz(x) : 0; }
//# i64_of_f64
__device__ __forceinline__ i64 i64_of_f64(f64 x) { return x == x ? __double2ll_rz(x) : 0; }
//# u64_of_f64
__device__ __forceinline__ u64 u64_of_f64(f64 x) { return x == x ? __double2ull_rz(x) : 0; }
//# i32_of_f64
__device__ __forceinline__ i32 i32_of_f64(f64 x) { return x == x ? __double2int_rz(x) : 0; }
//# u32_of_f64
__device__ __forceinline__ u32 u32_of_f64(f64 x) { return x == x ? __double2uint_rz(x) : 0; }
//# i16_of_f64
__device__ __forceinline__ i16 i16_of_f64(f64 x) {
  const i32 y = i32_of_f64(x);
  return static_cast<i16>(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
}
//# u16_of_f64
__device__ __forceinline__ u16 u16_of_f64(f64 x) {
  const u32 y = u32_of_f64(x);
  return static_cast<u16>(y > 65535u ? 65535u : y);
}
//# i8_of_f64
__device__ __forceinline__ i8 i8_of_f64(f64 x) {
  const i32 y = i32_of_f64(x);
  return static_cast<i8>(y < -128 ? -128 : y > 127 ? 127 : y);
}
//# u8_of_f64
__device__ __forceinline__ u8 u8_of_f64(f64 x) {
  const u32 y = u32_of_f64(x);
  return static_cast<u8>(y > 255u ? 255u : y);
}
