// Part of the device prelude (../prelude.h): what one instruction does as the language wants it.
// PTX ISA 9.0, 9.7.9.21 (cvt) and 9.7.8 (prmt).

//# to_f16
__device__ __forceinline__ f16 to_f16(f32 x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
//# to_f16_rz
// Of single values this is an instruction of the unit for transcendental functions (sm_90a, NVRTC
// 13.0), of pairs one of the arithmetic units.
__device__ __forceinline__ f16 to_f16_rz(f32 x) {
  u32 pair;
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  return (f16)pair;
}
//# to_f16x2
__device__ __forceinline__ u32 to_f16x2(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
//# to_f16x2_rz
__device__ __forceinline__ u32 to_f16x2_rz(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
//# to_f16_rp
__device__ __forceinline__ f16 to_f16_rp(f32 x) {
  f16 y;
  asm("cvt.rp.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
//# to_f16_rm
__device__ __forceinline__ f16 to_f16_rm(f32 x) {
  f16 y;
  asm("cvt.rm.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
//# from_f16
__device__ __forceinline__ f32 from_f16(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
//# to_bf16
__device__ __forceinline__ bf16 to_bf16(f32 x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
//# to_e4m3
__device__ __forceinline__ e4m3 to_e4m3(f32 x) {
  u16 y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
  return static_cast<e4m3>(y);
}
//# to_e5m2
__device__ __forceinline__ e5m2 to_e5m2(f32 x) {
  u16 y;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
  return static_cast<e5m2>(y);
}
//# to_e4m3x2
// Two neighbors, the first in the low byte.
__device__ __forceinline__ u16 to_e4m3x2(f32 low, f32 high) {
  u16 y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(high), "f"(low));
  return y;
}
//# to_e5m2x2
__device__ __forceinline__ u16 to_e5m2x2(f32 low, f32 high) {
  u16 y;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(high), "f"(low));
  return y;
}
//# to_e4m3_nonsat
// Overflow is a NaN. 464 is half way to what would follow 448, and even there.
__device__ __forceinline__ e4m3 to_e4m3_nonsat(f32 x) {
  if (fabsf(x) > 464.0f) return static_cast<e4m3>(bits_of(x) >> 31 << 7 | 0x7F);
  return to_e4m3(x);
}
//# to_e5m2_nonsat
// Overflow is infinite. 61440 is half way to what would follow 57344, and goes up.
__device__ __forceinline__ e5m2 to_e5m2_nonsat(f32 x) {
  if (fabsf(x) >= 61440.0f) return static_cast<e5m2>(bits_of(x) >> 31 << 7 | 0x7C);
  return to_e5m2(x);
}
//# from_e4m3
__device__ __forceinline__ f32 from_e4m3(e4m3 x) {
  u32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<u16>(x)));
  return from_f16(static_cast<f16>(halves));
}
//# from_e5m2
// The upper half of an f16.
__device__ __forceinline__ f32 from_e5m2(e5m2 x) { return from_f16(static_cast<f16>(x << 8)); }
//# from_e4m3_at
// Element i of a local array. Its pair is converted: the work is shared with the neighbor's. Words
// are read, so that what a vector loaded stays in them, of which the instruction takes either half.
__device__ __forceinline__ f32 from_e4m3_at(const e4m3* row, i64 i) {
  u16 low, high;
  asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(*(const u32*)(row + (i & ~3ll))));
  u32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((i & 2) != 0 ? high : low));
  return from_f16(static_cast<f16>((i & 1) != 0 ? halves >> 16 : halves));
}
//# from_e5m2_at
__device__ __forceinline__ f32 from_e5m2_at(const e5m2* row, i64 i) {
  u16 low, high;
  asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(*(const u32*)(row + (i & ~3ll))));
  u32 halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"((i & 2) != 0 ? high : low));
  return from_f16(static_cast<f16>((i & 1) != 0 ? halves >> 16 : halves));
}
//# from_e2m1
// Its magnitude is that of an f16 whose exponent is 14 too small.
__device__ __forceinline__ f32 from_e2m1(e2m1 x) {
  return from_f16(static_cast<f16>((x & 7) << 9 | (x & 8) << 12)) * 16384.0f;
}
//# from_e2m1_at
// Element i of a local array. The work is shared with its neighbors': of four codes, three bits each
// choose the upper byte of an f16, whose lower one is 0, and the fourth is its sign.
__device__ __forceinline__ f32 from_e2m1_at(const e2m1x2* row, i64 i) {
  const u32 word = *(const u32*)(row + (i >> 1 & ~3ll)), low = word & 0x77777777u;
  const u32 shift = static_cast<u32>(i & 4) * 4;
  const u32 magnitudes = byte_permute(0x3E3C3800u, 0x46444240u, low >> shift);
  const u32 signs = byte_permute(0x80808080u, 0x80808080u, word >> shift) << 7;
  const u32 bytes = magnitudes | (signs & 0x80808080u);
  const u32 halves = byte_permute(bytes, 0u, (i & 2) != 0 ? 0x3424u : 0x1404u);
  return from_f16(static_cast<f16>((i & 1) != 0 ? halves >> 16 : halves));
}
//# byte_permute
__device__ __forceinline__ u32 byte_permute(u32 a, u32 b, u32 selector) {
  u32 y;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(selector));
  return y;
}
//# mul_wide
// All bits of the product, by one instruction; NVRTC multiplies halves where it sees 64 bits.
__device__ __forceinline__ u64 mul_wide(u32 a, u32 b) {
  u64 y;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(y) : "r"(a), "r"(b));
  return y;
}
//# halves
__device__ __forceinline__ u32 halves(u16 low, u16 high) {
  return static_cast<u32>(low) | static_cast<u32>(high) << 16;
}
//# abs_f16x2
__device__ __forceinline__ u32 abs_f16x2(u32 x) {
  u32 y;
  asm("abs.f16x2 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}
//# abs_bf16x2
__device__ __forceinline__ u32 abs_bf16x2(u32 x) {
  u32 y;
  asm("abs.bf16x2 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}
//# min_f16
// Of a number and a NaN the number, as in f32; -0 is less than 0.
__device__ __forceinline__ f16 min_f16(f16 a, f16 b) {
  f16 y;
  asm("min.f16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b));
  return y;
}
//# min_f16x2
__device__ __forceinline__ u32 min_f16x2(u32 a, u32 b) {
  u32 y;
  asm("min.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# max_f16
// Of a number and a NaN the number, as in f32; -0 is less than 0.
__device__ __forceinline__ f16 max_f16(f16 a, f16 b) {
  f16 y;
  asm("max.f16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b));
  return y;
}
//# max_f16x2
__device__ __forceinline__ u32 max_f16x2(u32 a, u32 b) {
  u32 y;
  asm("max.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# mul_f16x2
__device__ __forceinline__ u32 mul_f16x2(u32 a, u32 b) {
  u32 y;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# fma_f16x2
__device__ __forceinline__ u32 fma_f16x2(u32 a, u32 b, u32 c) {
  u32 y;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
  return y;
}
//# min_bf16
// Of a number and a NaN the number, as in f32; -0 is less than 0.
__device__ __forceinline__ bf16 min_bf16(bf16 a, bf16 b) {
  bf16 y;
  asm("min.bf16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b));
  return y;
}
//# min_bf16x2
__device__ __forceinline__ u32 min_bf16x2(u32 a, u32 b) {
  u32 y;
  asm("min.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# max_bf16
// Of a number and a NaN the number, as in f32; -0 is less than 0.
__device__ __forceinline__ bf16 max_bf16(bf16 a, bf16 b) {
  bf16 y;
  asm("max.bf16 %0, %1, %2;" : "=h"(y) : "h"(a), "h"(b));
  return y;
}
//# max_bf16x2
__device__ __forceinline__ u32 max_bf16x2(u32 a, u32 b) {
  u32 y;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# mul_bf16x2
__device__ __forceinline__ u32 mul_bf16x2(u32 a, u32 b) {
  u32 y;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
//# fma_bf16x2
__device__ __forceinline__ u32 fma_bf16x2(u32 a, u32 b, u32 c) {
  u32 y;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
  return y;
}
