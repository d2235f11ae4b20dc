// Conversions between scalar types, bit for bit: the oracle with which every backend agrees.
//
// A value travels as `bits`: its storage in the low bits of a word, zero above (a bool is 0 or 1,
// e2m1 is a nibble). Whatever lies above a source's width is ignored. Each conversion rounds once,
// from the exact value: f64 to bf16 doesn't pass through f32, nor i64 to f16 through f64.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tilewright/base/dtype.h"
#include "tilewright/base/error.h"
#include "tilewright/base/rounding.h"

namespace tw {

/// Converts a scalar of type `from` to type `to` (language 11.4). By kind of pair:
///
///   same type         the bits as they are
///   any -> bool       x != 0; a NaN is true
///   bool -> number    0 or 1
///   int -> int        sign or zero extension, or the low bits
///   float -> int      toward zero; out of range to the nearest end of the range, NaN to 0
///   number -> f64, f32, tf32, f16, bf16
///                     nearest even; overflow is infinite
///   float -> e4m3, e5m2
///                     nearest even; overflow and infinity give the largest finite value. Without
///                     `saturate` overflow gives infinity in e5m2 and NaN in e4m3
///   float -> e2m1     nearest even; overflow and infinity give 6 with the sign, NaN gives +6
///   float -> e8m0     the next power of two upward ("up"), clamped to 2^-127 .. 2^127; zero and
///                     negative values give 2^-127, infinity 2^127
///
/// These are the rules of `Rounding::rn`, which means "as the table says" for int and e8m0 too. The
/// other modes, where `cast_error` allows them:
///   rz, rp, rm   as IEEE 754 directs: a finite overflow is infinite only in the direction of
///                rounding. To e8m0 rp is "up", rm and rz are "down".
///   rs           stochastic, on the magnitude, always saturating (infinity too). With f = the
///                first 16 bits of the fraction that is discarded and r = the low 16 bits of
///                `random`, the magnitude is rounded up iff f + r >= 2^16; so with the probability
///                f / 2^16.
///
/// A NaN becomes the positive NaN with all bits set below its sign (0x7FFF in f16, as on NVIDIA;
/// 0xFF in e8m0). Backends may give another NaN: compare results with `same_value`. Subnormals are
/// values like others. A tf32 is read with all its 32 bits and written with 10 bits of mantissa.
/// Pairs that `cast_error` refuses are computed by the same rules, from the exact value.
uint64_t convert_bits(uint64_t bits, DType from, DType to, Rounding rounding = Rounding::rn,
                      bool saturate = true, uint32_t random = 0);

/// `convert_bits` from a C++ value.
uint64_t encode(double value, DType to, Rounding rounding = Rounding::rn, bool saturate = true,
                uint32_t random = 0);
uint64_t encode(float value, DType to, Rounding rounding = Rounding::rn, bool saturate = true,
                uint32_t random = 0);
template <std::integral Int>
uint64_t encode(Int value, DType to) {
  return convert_bits(static_cast<uint64_t>(value), std::is_signed_v<Int> ? i64 : u64, to);
}

/// The value of `bits`: exact, but for 64-bit integers of more than 53 bits (nearest even).
double decode(uint64_t bits, DType dtype);

/// The value of an integer or bool type, sign extended; a u64 keeps its bit pattern.
int64_t decode_int(uint64_t bits, DType dtype);

bool is_nan(uint64_t bits, DType dtype);

/// Equal bits, or both NaN.
bool same_value(uint64_t a, uint64_t b, DType dtype);

/// Whether every value of `from` is a value of `to`, so that a conversion loses nothing. False
/// where one of two different types is a vector, e8m0 (no zero) or tf32 (read with more bits than
/// written).
bool holds_every(DType from, DType to);

/// Why a cast is refused, or an empty code:
///   E-COPY-03  no conversion between the types: there is none between integers and fp8, fp4, e8m0,
///              and among these only e2m1 -> e4m3; bool has no e8m0
///   E-CAST-01  rz, rp, rm other than from f32 to f16 or bf16, or from a float to e8m0; rs other
///              than from f32 to f16, bf16, e4m3, e5m2, e2m1
///   E-CAST-02  no `saturate` other than from a float to e4m3 or e5m2 with rn
///   E-CAST-03  rs without a random word, or a word without rs
/// Vectors convert lane by lane: lanes are not looked at.
Code cast_error(DType from, DType to, Rounding rounding = Rounding::rn, bool saturate = true,
                bool has_random_word = false);

/// The 16 random bits that a lane of a vector conversion to `to` takes from the conversion's 32-bit
/// word, so that lanes use different bits (laid out as the operands of PTX's cvt.rs; quant 13.2):
///   f16, bf16   2 lanes a word: its low half, its high half
///   e4m3, e5m2  4 lanes a word: low half, the same with its bits reversed, high half, that
///   reversed e2m1        4 lanes a word: bytes 2 and 0 (2 on top), reversed, bytes 3 and 1,
///   reversed
/// Longer vectors continue with the word `mix(word + j * 0x9E3779B9)` for their j-th group of
/// lanes, where mix is x ^= x >> 16, x *= 0x7FEB352D, x ^= x >> 15, x *= 0x846CA68B, x ^= x >> 16.
uint32_t lane_random_bits(DType to, uint32_t word, int lane);

}  // namespace tw
