// Part of the device prelude (../prelude.h): the element types as generated code writes them. What
// C++ has no type for is carried as its bits.

//# i8
typedef signed char i8;
//# i16
typedef short i16;
//# i32
typedef int i32;
//# i64
typedef long long i64;
//# u8
typedef unsigned char u8;
//# u16
typedef unsigned short u16;
//# u32
typedef unsigned int u32;
//# u64
typedef unsigned long long u64;
//# f32
typedef float f32;
//# f64
typedef double f64;
//# tf32
typedef float tf32;
//# f16
typedef unsigned short f16;
//# bf16
typedef unsigned short bf16;
//# e4m3
typedef unsigned char e4m3;
//# e5m2
typedef unsigned char e5m2;
//# e8m0
typedef unsigned char e8m0;
//# e2m1
typedef unsigned char e2m1;
//# e2m1x2
typedef unsigned char e2m1x2;  // two in a byte, the first in the low half

//# bits_of
__device__ __forceinline__ u32 bits_of(f32 x) { return __float_as_uint(x); }
//# f32_of
__device__ __forceinline__ f32 f32_of(u32 bits) { return __uint_as_float(bits); }
