// Casts, for C: of single elements, and to codes of 12, 8 and 4 bits with scale factors.
//
// Matrices have contiguous rows at any row stride. A scale factor sf is the one of dequantisation:
// value = code * sf. tilewright/kernels/quant.h has the formulas. Factors of a grid of m x n blocks
// lie in a tensor that says how: f32 or e4m3 [m, n], or i32 [m, ceil(n / 4)], four exponents in a
// word; of blocks of one column the words are [ceil(m / 4), n]. Strides of factors are any.
#pragma once

#include "tilewright/capi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// *least = the least amax that counts by default, of codes of `format`, TW_E4M3 or TW_E2M1, with
/// factors of dtype `sf`: 1e-4 for e4m3, else the one of the least factor, 2^-126, or 2^-9 where
/// factors are e4m3.
tw_status tw_least_amax(tw_dtype format, tw_dtype sf, float* least);

typedef struct tw_token_cast_args {
  int64_t group;    // columns of a group: 16, 32, 64, 128, or k, all of them; 0: 128
  bool round_sf;    // scale factors are powers of two
  float least;      // 0: that of tw_least_amax
  bool stochastic;  // codes are rounded as by tw_stochastic_cast; k is a multiple of 4
  /// Where x is codes, their factors, one for each block of 1, 32 or 128 rows and 16, 32, 64 or 128
  /// columns; 0: 1 and 128.
  const tw_tensor* x_sf;
  int64_t x_rows, x_columns;
} tw_token_cast_args;

/// q, sf = x in groups of columns of each row; the last group of a row may be shorter.
/// x: [m, k] f32 or bf16, or e4m3 or e2m1 with factors; q: [m, k] e4m3 or e2m1; sf: factors of
/// [m, ceil(k / group)] blocks.
tw_status tw_per_token_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                            const tw_token_cast_args* args, tw_stream stream);

/// The factors alone, for codes of that format. x: [m, k] f32 or bf16.
tw_status tw_per_token_cast_with_sf_only(const tw_tensor* x, tw_dtype format, const tw_tensor* sf,
                                         const tw_token_cast_args* args, tw_stream stream);

/// The codes alone, by factors that are given, finite and above 0: code = x * (1 / sf).
/// x: [m, k] f32 or bf16; q: [m, k] e4m3 or e2m1.
tw_status tw_per_token_cast_with_precomputed_sf(const tw_tensor* x, const tw_tensor* sf,
                                                const tw_tensor* q, const tw_token_cast_args* args,
                                                tw_stream stream);

/// q, sf = x as codes of 12 bits, eight in three words, a factor for each row: a sign, 5 bits of
/// exponent, 6 of mantissa. x: [m, k] f32 or bf16, k a multiple of 8 above 0; q: [m, 3 k / 2] u8,
/// rows at multiples of 4 bytes; sf: factors, f32 or exponents, of [m, 1] blocks.
tw_status tw_per_token_cast_to_e5m6(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                                    bool round_sf, tw_stream stream);

typedef struct tw_block_cast_args {
  int64_t rows, columns;  // of a block: each 32 or 128; 0: 128
  bool round_sf;          // scale factors are powers of two
  float least;            // 0: that of tw_least_amax
} tw_block_cast_args;

/// q, sf = x in blocks; those at the end of a dimension may be smaller.
/// x: [m, k] f32 or bf16; q: [m, k] e4m3 or e2m1; sf: factors of [ceil(m / rows),
/// ceil(k / columns)] blocks.
tw_status tw_per_block_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                            const tw_block_cast_args* args, tw_stream stream);

/// The factors alone, for codes of that format.
tw_status tw_per_block_cast_with_sf_only(const tw_tensor* x, tw_dtype format, const tw_tensor* sf,
                                         const tw_block_cast_args* args, tw_stream stream);

/// The codes alone, by factors that are given, finite and above 0: code = x * (1 / sf).
tw_status tw_per_block_cast_with_precomputed_sf(const tw_tensor* x, const tw_tensor* sf,
                                                const tw_tensor* q, const tw_block_cast_args* args,
                                                tw_stream stream);

typedef struct tw_channel_cast_args {
  int64_t group;  // rows of a group: 32 or 128; 0: 128
  bool round_sf;  // scale factors are powers of two
  float least;    // 0: that of tw_least_amax
  /// Where x is codes of e4m3, their factors, one for each 32 or 128 columns of a row; 0: 128.
  const tw_tensor* x_sf;
  int64_t x_columns;
  /// Row i of what is cast is row index[i] of x, zeros where that is none of x: i32 [m].
  const tw_tensor* index;
} tw_channel_cast_args;

/// q, sf = x in groups of rows of each column; the last of a column may be shorter.
/// x: [m, k] f32 or bf16, or e4m3 with factors; q: [m, k] e4m3; sf: factors of [ceil(m / group), k]
/// blocks of one column.
tw_status tw_per_channel_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                              const tw_channel_cast_args* args, tw_stream stream);

/// The same with codes in q [k, m], the factors as there.
tw_status tw_per_channel_cast_and_transpose(const tw_tensor* x, const tw_tensor* q,
                                            const tw_tensor* sf, const tw_channel_cast_args* args,
                                            tw_stream stream);

typedef struct tw_lossless_cast_args {
  int64_t x_rows, x_columns;  // of a block of x; 0: 1 and 32
  /// Of a block of the result: multiples of those; columns are powers of two from 2 on. 0: 128.
  int64_t rows, columns;
} tw_lossless_cast_args;

/// q * sf = x * x_sf, the same values. Factors are powers of two, of which only exponents are
/// looked at. x: [m, k] e2m1; x_sf, sf: factors of their blocks, f32 or exponents; q: [m, k] e4m3.
tw_status tw_per_block_cast_lossless(const tw_tensor* x, const tw_tensor* x_sf, const tw_tensor* q,
                                     const tw_tensor* sf, const tw_lossless_cast_args* args,
                                     tw_stream stream);

/// Exponents of the factors of weights in blocks of `block` x `block`, 32 or 128, for multiplies
/// with the weights and with the transposed. A factor that is neither a power of two nor 0 nor
/// infinite stops the kernel. sf: [g, n, k] f32; sf0: [g, ceil(k / 4), n * block] i32; sf1:
/// [g, ceil(n / 4), k * block] i32; all without gaps.
tw_status tw_transpose_weight_sf(const tw_tensor* sf, const tw_tensor* sf0, const tw_tensor* sf1,
                                 int64_t block, tw_stream stream);

typedef struct tw_cast_back_args {
  int64_t rows, columns;  // of a block that shares a factor; 0: 1 and 128
} tw_cast_back_args;

/// y = q * sf, rounded to f32 and from there to y's dtype; exponents of 0 count as a factor of 0.
/// q: [m, k] e4m3 or e2m1; sf: its factors; y: [m, k] f32 or bf16.
tw_status tw_cast_back(const tw_tensor* q, const tw_tensor* sf, const tw_tensor* y,
                       const tw_cast_back_args* args, tw_stream stream);

/// The same of codes of tw_per_token_cast_to_e5m6. q: [m, 3 k / 2] u8, rows at multiples of 4
/// bytes.
tw_status tw_cast_back_e5m6(const tw_tensor* q, const tw_tensor* sf, const tw_tensor* y,
                            const tw_cast_back_args* args, tw_stream stream);

typedef struct tw_fake_cast_args {
  int64_t group;  // columns of a group: 16, 32, 64 or 128; 0: 128
  bool round_sf;  // scale factors are powers of two,
  bool e4m3_sf;   // or of e4m3
  float least;    // 0: that of tw_least_amax
} tw_fake_cast_args;

/// x = what tw_per_token_cast to codes of that format and tw_cast_back make of it. x: [m, k] f32 or
/// bf16.
tw_status tw_per_token_cast_and_cast_back(const tw_tensor* x, tw_dtype format,
                                          const tw_fake_cast_args* args, tw_stream stream);

/// y = x, each element rounded to the nearest even; e4m3 and e5m2 saturate, f16 and bf16 overflow
/// to infinity, e8m0 is the next power of two. x, y: any one shape at any strides, each f64, f32,
/// tf32, f16, bf16, e4m3, e5m2 or e8m0; y may be x where both are one dtype.
tw_status tw_cast(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

/// y = x, each element rounded up or down with the probability of what the other would lose, by
/// bits that are a hash of four elements and of where they are: the same for the same x. What is
/// representable stays; all else saturates, infinity too. x, y: any one shape without gaps, of a
/// multiple of 4 elements; f32 to bf16 or e4m3, or bf16 to e4m3.
tw_status tw_stochastic_cast(const tw_tensor* x, const tw_tensor* y, tw_stream stream);

#ifdef __cplusplus
}
#endif
