// Element types: names, widths, classes and the promotion rules of the language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// The scalar formats. The order is stable: it is stored in caches and artefacts.
enum class Scalar : uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  tf32,  // stored as f32, 10 mantissa bits used by tensor cores
  e4m3,  // f8_e4m3 (fn): bias 7, no infinity, NaN 0x7F / 0xFF
  e5m2,  // f8_e5m2: bias 15, IEEE-like
  e8m0,  // f8_e8m0 (fnu): 2^(x-127), NaN 0xFF, no zero
  e2m1,  // f4_e2m1: 0 .5 1 1.5 2 3 4 6, packed two to a byte, element 0 in the low nibble
};
inline constexpr int kScalarCount = 18;

/// An element type: a scalar format, and how many lanes a vector of them has.
struct DType {
  Scalar scalar = Scalar::f32;
  uint8_t lanes = 1;

  constexpr DType() = default;
  constexpr DType(Scalar s, int n = 1) : scalar(s), lanes(static_cast<uint8_t>(n)) {}
  friend constexpr bool operator==(DType a, DType b) = default;

  /// Storage bits of one element (all lanes): 8 for bool, 4 for e2m1.
  int bits() const;
  bool is_bool() const { return scalar == Scalar::boolean; }
  bool is_signed_int() const { return scalar >= Scalar::i8 && scalar <= Scalar::i64; }
  bool is_unsigned_int() const { return scalar >= Scalar::u8 && scalar <= Scalar::u64; }
  bool is_int() const { return scalar >= Scalar::i8 && scalar <= Scalar::u64; }
  bool is_float() const { return scalar >= Scalar::f16; }
  /// Floats that have arithmetic of their own: f16, bf16, f32, f64 and tf32 (as f32).
  bool has_float_arithmetic() const { return scalar >= Scalar::f16 && scalar <= Scalar::tf32; }
  /// fp8, fp4 and scale formats: an expression on them is promoted to f32.
  bool is_narrow_float() const { return scalar >= Scalar::e4m3; }
  bool is_sub_byte() const { return scalar == Scalar::e2m1; }
};

inline constexpr DType bool_{Scalar::boolean};
inline constexpr DType i8{Scalar::i8}, i16{Scalar::i16}, i32{Scalar::i32}, i64{Scalar::i64};
inline constexpr DType u8{Scalar::u8}, u16{Scalar::u16}, u32{Scalar::u32}, u64{Scalar::u64};
inline constexpr DType f16{Scalar::f16}, bf16{Scalar::bf16}, f32{Scalar::f32}, f64{Scalar::f64};
inline constexpr DType tf32{Scalar::tf32}, f8_e4m3{Scalar::e4m3}, f8_e5m2{Scalar::e5m2};
inline constexpr DType f8_e8m0{Scalar::e8m0}, f4_e2m1{Scalar::e2m1};

/// The language's name: "f32", "bf16", "e4m3", "bool", "f32x4".
std::string to_text(DType dtype);

/// Reads a name: the language's own, numpy's and torch's ("float32", "float8_e4m3fn", "half", ...).
/// Empty when unknown.
std::optional<DType> parse_dtype(std::string_view name);

/// As `parse_dtype`, but an unknown name is E-TYPE-01.
DType dtype_named(std::string_view name);

/// All scalar types, in the order of `Scalar`.
const std::vector<DType>& all_dtypes();

/// The type in which an operator on `a` and `b` computes (language 2.2). Empty where an explicit
/// cast is needed (bf16 with f16). Narrow floats promote to f32, bool to the other operand's type.
std::optional<DType> promote(DType a, DType b);

/// Largest and lowest finite value of a type, as a double (exact for all but 64-bit integers).
double max_finite(DType dtype);
double lowest_finite(DType dtype);

/// Whether the value can be written as a literal of the type without leaving its range; for integer
/// types it must also be whole.
bool can_hold(DType dtype, double value);
bool can_hold(DType dtype, int64_t value);

/// DLPack's (code, bits) of a scalar type, and back (lanes from the tensor). See dlpack.h of
/// DLPack 1.3.
struct DLPackType {
  uint8_t code, bits;
};
DLPackType to_dlpack(DType dtype);
std::optional<DType> from_dlpack(DLPackType type);

}  // namespace tw
