// Part of the device prelude (../prelude.h): operations on floats whose corner cases the language
// fixes, and the fast forms that CUDA has no function for.

//# min_first
// The smaller; of a NaN and a number the number, of equal zeros the first.
__device__ __forceinline__ f32 min_first(f32 a, f32 b) { return a == b ? a : fminf(a, b); }
__device__ __forceinline__ f64 min_first(f64 a, f64 b) { return a == b ? a : fmin(a, b); }
//# max_first
__device__ __forceinline__ f32 max_first(f32 a, f32 b) { return a == b ? a : fmaxf(a, b); }
__device__ __forceinline__ f64 max_first(f64 a, f64 b) { return a == b ? a : fmax(a, b); }
//# min_nan
// The smaller; NaN if there is one; of equal zeros the first.
__device__ __forceinline__ f32 min_nan(f32 a, f32 b) { return b != b || b < a ? b : a; }
__device__ __forceinline__ f64 min_nan(f64 a, f64 b) { return b != b || b < a ? b : a; }
//# max_nan
__device__ __forceinline__ f32 max_nan(f32 a, f32 b) { return b != b || b > a ? b : a; }
__device__ __forceinline__ f64 max_nan(f64 a, f64 b) { return b != b || b > a ? b : a; }
//# min_nan_fast
__device__ __forceinline__ f32 min_nan_fast(f32 a, f32 b) {
  f32 y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
//# max_nan_fast
__device__ __forceinline__ f32 max_nan_fast(f32 a, f32 b) {
  f32 y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

//# exp2_fast
__device__ __forceinline__ f32 exp2_fast(f32 x) {
  f32 y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
//# tanh_fast
__device__ __forceinline__ f32 tanh_fast(f32 x) {
  f32 y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
//# reciprocal
// 1 / x within 1 ulp, with subnormal numbers: seven instructions, where the rounded one takes ten
// and a branch.
__device__ __forceinline__ f32 reciprocal(f32 x) {
  f32 y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
//# reciprocal_of_large
// The same in three, of x >= 2^-123: the result of an eighth of x isn't subnormal.
__device__ __forceinline__ f32 reciprocal_of_large(f32 x) {
  f32 y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 0.125f));
  return y * 0.125f;
}
//# log_of_normal
// logf of a positive normal number, in 16 instructions instead of 25: what it does for others is
// left out.
__device__ __forceinline__ f32 log_of_normal(f32 x) {
  if (x < 1.17549435e-38f) __builtin_unreachable();
  if (x == 0.0f) __builtin_unreachable();
  if (bits_of(x) > 0x7F7FFFFFu) __builtin_unreachable();
  return logf(x);
}
//# rcp_fast
__device__ __forceinline__ f32 rcp_fast(f32 x) {
  f32 y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
//# rsqrt_fast
__device__ __forceinline__ f32 rsqrt_fast(f32 x) {
  f32 y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
//# sqrt_fast
__device__ __forceinline__ f32 sqrt_fast(f32 x) {
  f32 y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
