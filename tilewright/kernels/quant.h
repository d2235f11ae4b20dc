// Casts: of single elements, and to e4m3 with scale factors.
//
// Tensors are on one device, matrices with contiguous rows at any row stride. Arguments of a wrong
// shape, dtype or stride are an Error, and nothing is written.
//
// A scale factor sf is the one of dequantisation: value = code * sf. With the largest code c (448
// of e4m3, 6 of e2m1) let, for the elements of a group, a = max(their largest magnitude, least), at
// most the largest f32; NaN doesn't count. Then, each operation rounded to f32 by itself,
//   sf = a / c, code = x * (c / a);
//   sf = 2^ceil(log2(a / c)), code = x / sf                 with `round_sf`;
//   sf = a / c rounded to e4m3, code = x * (1 / sf)          where sf is a tensor of e4m3.
// Codes are rounded to the nearest even and saturate. Results are the same bits on every device.
//
// Factors of a grid of m x n blocks lie in a tensor that says how: f32 or e4m3 [m, n], or i32
// [m, ceil(n / 4)], four exponents in a word: byte j of word [i, c] is that of block [i, 4 c + j],
// biased by 127, and 0 behind n. Strides are any: kernels that load columns of factors in bulk want
// them transposed, with rows that begin at multiples of 16 bytes. Of blocks of one column, words
// are [ceil(m / 4), n], byte j of word [r, i] that of block [4 r + j, i], 0 behind m; and neighbors
// in a row are neighbors in memory.
#pragma once

#include "tilewright/runtime/tensor.h"

namespace tw::kernels {

/// The least amax that counts by default, of codes of `format` with factors of dtype `sf`: 1e-4 for
/// e4m3, else the one of the least factor, 2^-126, or 2^-9 where factors are e4m3.
float least_amax(DType format, DType sf);

struct TokenCastArgs {
  int64_t group = 128;      // columns of a group: 16, 32, 64, 128, or k, all of them
  bool round_sf = false;    // scale factors are powers of two
  float least = 0;          // 0: that of least_amax()
  bool stochastic = false;  // codes are rounded as by stochastic_cast; k is a multiple of 4
  /// Where x is codes, their factors, one for each block of 1, 32 or 128 rows and 16, 32, 64 or 128
  /// columns. A value is code * factor, rounded to f32; the new code is that of code * (factor *
  /// inverse), and that of 0 for 0.
  const Tensor* x_sf = nullptr;
  int64_t x_rows = 1, x_columns = 128;
};

/// q, sf = x in groups of columns of each row; the last group of a row may be shorter.
/// x: [m, k] f32 or bf16, or e4m3 or e2m1 with factors; q: [m, k] e4m3 or e2m1; sf: factors of
/// [m, ceil(k / group)] blocks.
void per_token_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                    const TokenCastArgs& args = {}, Stream stream = {});

/// The factors alone, for codes of that format. x: [m, k] f32 or bf16.
void per_token_cast_with_sf_only(const Tensor& x, DType format, const Tensor& sf,
                                 const TokenCastArgs& args = {}, Stream stream = {});

/// The codes alone, by factors that are given, finite and above 0: code = x * (1 / sf).
/// x: [m, k] f32 or bf16; q: [m, k] e4m3 or e2m1.
void per_token_cast_with_precomputed_sf(const Tensor& x, const Tensor& sf, const Tensor& q,
                                        const TokenCastArgs& args = {}, Stream stream = {});

/// q, sf = x as codes of 12 bits, a factor for each row: a sign, 5 bits of exponent, 6 of mantissa,
/// the upper bits of an f16, of which c = 65024 is the largest. The least amax that counts is 1e-4.
/// x * (c / a) is cut to an f16 and to 12 bits; that number goes up by one where the low 17 bits of
/// the f32, with one more if it is odd, are above 2^16: to the nearest even, but for magnitudes
/// below 2^-14, where those are not the bits that were cut. NaN becomes 0x7FF. Eight codes
/// are three words, the first code on top.
/// x: [m, k] f32 or bf16, k a multiple of 8 above 0; q: [m, 3 k / 2] u8, rows at multiples of 4
/// bytes; sf: factors, f32 or exponents, of [m, 1] blocks.
void per_token_cast_to_e5m6(const Tensor& x, const Tensor& q, const Tensor& sf,
                            bool round_sf = false, Stream stream = {});

struct BlockCastArgs {
  int64_t rows = 128, columns = 128;  // of a block: each 32 or 128
  bool round_sf = false;              // scale factors are powers of two
  float least = 0;                    // 0: that of least_amax()
};

/// q, sf = x in blocks; those at the end of a dimension may be smaller.
/// x: [m, k] f32 or bf16; q: [m, k] e4m3 or e2m1; sf: factors of its blocks.
void per_block_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                    const BlockCastArgs& args = {}, Stream stream = {});

/// The factors alone, for codes of that format.
void per_block_cast_with_sf_only(const Tensor& x, DType format, const Tensor& sf,
                                 const BlockCastArgs& args = {}, Stream stream = {});

/// The codes alone, by factors that are given, finite and above 0: code = x * (1 / sf).
void per_block_cast_with_precomputed_sf(const Tensor& x, const Tensor& sf, const Tensor& q,
                                        const BlockCastArgs& args = {}, Stream stream = {});

struct ChannelCastArgs {
  int64_t group = 128;    // rows of a group: 32 or 128
  bool round_sf = false;  // scale factors are powers of two
  float least = 0;        // 0: that of least_amax()
  /// Where x is codes of e4m3, their factors, one for each 32 or 128 columns of a row. A value is
  /// code * factor, rounded to f32.
  const Tensor* x_sf = nullptr;
  int64_t x_columns = 128;
  /// Row i of what is cast is row index[i] of x, zeros where that is none of x: i32 [m].
  const Tensor* index = nullptr;
};

/// q, sf = x in groups of rows of each column; the last of a column may be shorter.
/// x: [m, k] f32 or bf16, or e4m3 with factors; q: [m, k] e4m3; sf: factors of [ceil(m / group), k]
/// blocks of one column.
void per_channel_cast(const Tensor& x, const Tensor& q, const Tensor& sf,
                      const ChannelCastArgs& args = {}, Stream stream = {});

/// The same with codes in q [k, m], the factors as there.
void per_channel_cast_and_transpose(const Tensor& x, const Tensor& q, const Tensor& sf,
                                    const ChannelCastArgs& args = {}, Stream stream = {});

struct LosslessCastArgs {
  int64_t x_rows = 1, x_columns = 32;  // of a block of x
  /// Of a block of the result: multiples of those; columns are powers of two from 2 on.
  int64_t rows = 128, columns = 128;
};

/// q * sf = x * x_sf, the same values. Factors are powers of two, of which only exponents are
/// looked at; where E is the largest (biased) of a block of the result, its own is max(E - 6, 0).
/// One of x more than 11 below E stops the kernel. Values are kept where E is above 6.
/// x: [m, k] e2m1; x_sf, sf: factors, f32 or exponents; q: [m, k] e4m3.
void per_block_cast_lossless(const Tensor& x, const Tensor& x_sf, const Tensor& q, const Tensor& sf,
                             const LosslessCastArgs& args = {}, Stream stream = {});

/// Exponents of the factors of weights in blocks of `block` x `block`, 32 or 128, for multiplies
/// with the weights and with the transposed: byte t of word [g, c, r] of sf0 is that of block
/// [g, r / block, 4 c + t], of word [g, c, q] of sf1 that of block [g, 4 c + t, q / block]; 0 where
/// there is none. A factor that is neither a power of two nor 0 nor infinite stops the kernel.
/// sf: [g, n, k] f32; sf0: [g, ceil(k / 4), n * block] i32; sf1: [g, ceil(n / 4), k * block] i32;
/// all without gaps.
void transpose_weight_sf(const Tensor& sf, const Tensor& sf0, const Tensor& sf1, int64_t block,
                         Stream stream = {});

struct CastBackArgs {
  int64_t rows = 1, columns = 128;  // of a block that shares a factor
};

/// y = q * sf, rounded to f32 and from there to y's dtype; exponents of 0 count as a factor of 0.
/// q: [m, k] e4m3 or e2m1; sf: its factors; y: [m, k] f32 or bf16.
void cast_back(const Tensor& q, const Tensor& sf, const Tensor& y, const CastBackArgs& args = {},
               Stream stream = {});

/// The same of codes of per_token_cast_to_e5m6. q: [m, 3 k / 2] u8, rows at multiples of 4 bytes.
void cast_back_e5m6(const Tensor& q, const Tensor& sf, const Tensor& y,
                    const CastBackArgs& args = {}, Stream stream = {});

struct FakeCastArgs {
  int64_t group = 128;    // columns of a group: 16, 32, 64 or 128
  bool round_sf = false;  // scale factors are powers of two,
  bool e4m3_sf = false;   // or of e4m3
  float least = 0;        // 0: that of least_amax()
};

/// x = what per_token_cast to codes of that format and cast_back make of it. x: [m, k] f32 or bf16.
void per_token_cast_and_cast_back(const Tensor& x, DType format, const FakeCastArgs& args = {},
                                  Stream stream = {});

/// y = x, each element rounded to the nearest even; e4m3 and e5m2 saturate, f16 and bf16 overflow
/// to infinity, e8m0 is the next power of two. x, y: any one shape at any strides, each f64, f32,
/// tf32, f16, bf16, e4m3, e5m2 or e8m0; y may be x where both are one dtype.
void cast(const Tensor& x, const Tensor& y, Stream stream = {});

/// y = x, each element rounded up or down with the probability of what the other would lose, by
/// bits that are a hash of four elements and of where they are: the same for the same x. What is
/// representable stays; all else saturates, infinity too. x, y: any one shape without gaps, of a
/// multiple of 4 elements; f32 to bf16 or e4m3, or bf16 to e4m3.
void stochastic_cast(const Tensor& x, const Tensor& y, Stream stream = {});

}  // namespace tw::kernels
