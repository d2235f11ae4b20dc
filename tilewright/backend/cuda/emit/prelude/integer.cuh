// Part of the device prelude (../prelude.h): integer operations that C++ lacks or leaves undefined.
// ir/element.h says what they give.

//# floordiv
__device__ __forceinline__ i32 floordiv(i32 a, i32 b) {
  if (b == 0) return 0;
  const i32 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
__device__ __forceinline__ i64 floordiv(i64 a, i64 b) {
  if (b == 0) return 0;
  const i64 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
//# floormod
__device__ __forceinline__ i32 floormod(i32 a, i32 b) {
  if (b == 0) return 0;
  const i32 r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ __forceinline__ i64 floormod(i64 a, i64 b) {
  if (b == 0) return 0;
  const i64 r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//# truncdiv
// Division by 0 gives 0.
template <class T>
__device__ __forceinline__ T truncdiv(T a, T b) {
  return b == 0 ? T(0) : static_cast<T>(a / b);
}
//# divide_index
// truncdiv of a number of 32 bits, without the long division of 64 bits by 64.
__device__ __forceinline__ i64 divide_index(u32 a, i64 b) {
  const u64 magnitude = b < 0 ? 0 - static_cast<u64>(b) : static_cast<u64>(b);
  const bool is_zero = magnitude == 0 || magnitude >> 32 != 0;
  const i64 quotient = is_zero ? 0 : static_cast<i64>(a / static_cast<u32>(magnitude));
  return b < 0 ? -quotient : quotient;
}
//# floordiv_index
// floordiv of a number of 32 bits, the same way.
__device__ __forceinline__ i64 floordiv_index(u32 a, i64 b) {
  if (b > 0) return b >> 32 != 0 ? 0 : static_cast<i64>(a / static_cast<u32>(b));
  return floordiv(static_cast<i64>(a), b);
}
//# truncmod
template <class T>
__device__ __forceinline__ T truncmod(T a, T b) {
  return b == 0 ? T(0) : static_cast<T>(a % b);
}

//# clamped
// x in the range of i8, u8, i16 or u16.
__device__ __forceinline__ i32 clamped(i32 x, i32 low, i32 high) {
  return x < low ? low : x > high ? high : x;
}
//# add_sat_i32
__device__ __forceinline__ i32 add_sat_i32(i32 a, i32 b) {
  const i64 sum = static_cast<i64>(a) + b;
  return static_cast<i32>(sum < -2147483648ll ? -2147483648ll
                          : sum > 2147483647ll ? 2147483647ll
                                               : sum);
}
//# sub_sat_i32
__device__ __forceinline__ i32 sub_sat_i32(i32 a, i32 b) {
  const i64 difference = static_cast<i64>(a) - b;
  return static_cast<i32>(difference < -2147483648ll ? -2147483648ll
                          : difference > 2147483647ll ? 2147483647ll
                                                      : difference);
}
//# add_sat_i64
__device__ __forceinline__ i64 add_sat_i64(i64 a, i64 b) {
  const u64 sum = static_cast<u64>(a) + static_cast<u64>(b);
  const u64 overflow = (sum ^ static_cast<u64>(a)) & (sum ^ static_cast<u64>(b));
  return overflow >> 63 != 0 ? static_cast<i64>((static_cast<u64>(a) >> 63) + 0x7FFFFFFFFFFFFFFFull)
                             : static_cast<i64>(sum);
}
//# sub_sat_i64
__device__ __forceinline__ i64 sub_sat_i64(i64 a, i64 b) {
  const u64 difference = static_cast<u64>(a) - static_cast<u64>(b);
  const u64 overflow =
      (static_cast<u64>(a) ^ static_cast<u64>(b)) & (static_cast<u64>(a) ^ difference);
  return overflow >> 63 != 0 ? static_cast<i64>((static_cast<u64>(a) >> 63) + 0x7FFFFFFFFFFFFFFFull)
                             : static_cast<i64>(difference);
}
//# add_sat_unsigned
template <class T>
__device__ __forceinline__ T add_sat_unsigned(T a, T b) {
  const T sum = static_cast<T>(a + b);
  return sum < a ? static_cast<T>(~T(0)) : sum;
}
//# sub_sat_unsigned
template <class T>
__device__ __forceinline__ T sub_sat_unsigned(T a, T b) {
  return a > b ? static_cast<T>(a - b) : T(0);
}

//# nth_set
// The position of the bit that has n set bits below it, by bisection; -1 where there is none.
__device__ __forceinline__ i32 nth_set(u64 x, u64 n) {
  if (n >= 64u) return -1;
  u32 rest = static_cast<u32>(n), at = 0;
  for (u32 width = 32; width != 0; width /= 2) {
    const u32 below = __popcll(x & ((1ull << width) - 1));
    if (rest >= below) {
      rest -= below;
      x >>= width;
      at += width;
    }
  }
  return at < 64u && rest == 0 && (x & 1u) != 0 ? static_cast<i32>(at) : -1;
}
//# funnel_shl
// The upper half of (b:a) << n, for n below the width.
template <class T>
__device__ __forceinline__ T funnel_shl(T a, T b, u32 n) {
  return n == 0 ? b : static_cast<T>(b << n | a >> (8 * sizeof(T) - n));
}
//# funnel_shr
template <class T>
__device__ __forceinline__ T funnel_shr(T a, T b, u32 n) {
  return n == 0 ? a : static_cast<T>(a >> n | b << (8 * sizeof(T) - n));
}
//# dot2_bf16
__device__ __forceinline__ f32 dot2_bf16(f32 sum, u32 a, u32 b) {
  sum = fmaf(f32_of(a << 16), f32_of(b << 16), sum);
  return fmaf(f32_of(a & 0xFFFF0000u), f32_of(b & 0xFFFF0000u), sum);
}
//# dot2_i16
__device__ __forceinline__ i32 dot2_i16(i32 sum, u32 a, u32 b) {
  const i32 low = static_cast<i16>(a) * static_cast<i16>(b);
  const i32 high = static_cast<i16>(a >> 16) * static_cast<i16>(b >> 16);
  return static_cast<i32>(static_cast<u32>(sum) + static_cast<u32>(low) + static_cast<u32>(high));
}
