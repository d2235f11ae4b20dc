#include "tilewright/base/dtype.h"

#include <array>
#include <cmath>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw {
namespace {

struct Row {
  Scalar scalar;
  const char* name;
  int bits;
  double lowest, highest;
  DLPackType dlpack;
  std::array<const char*, 5> aliases;  // other spellings; unused entries are null
};

// DLPack codes: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 8.. float8 and narrower (DLPack 1.3).
// clang-format off: one row a dtype
const std::array<Row, kScalarCount> kRows = {{
    {Scalar::boolean, "bool", 8, 0, 1, {6, 8}, {"bool_", "boolean"}},
    {Scalar::i8, "i8", 8, -128, 127, {0, 8}, {"int8"}},
    {Scalar::i16, "i16", 16, -32768, 32767, {0, 16}, {"int16", "short"}},
    {Scalar::i32, "i32", 32, -0x1p31, 0x1p31 - 1, {0, 32}, {"int32", "int"}},
    {Scalar::i64, "i64", 64, -0x1p63, 0x1p63, {0, 64}, {"int64", "long"}},
    {Scalar::u8, "u8", 8, 0, 255, {1, 8}, {"uint8"}},
    {Scalar::u16, "u16", 16, 0, 65535, {1, 16}, {"uint16"}},
    {Scalar::u32, "u32", 32, 0, 0x1p32 - 1, {1, 32}, {"uint32"}},
    {Scalar::u64, "u64", 64, 0, 0x1p64, {1, 64}, {"uint64"}},
    {Scalar::f16, "f16", 16, -65504, 65504, {2, 16}, {"float16", "half", "fp16"}},
    {Scalar::bf16, "bf16", 16, -0x1.fep127, 0x1.fep127, {4, 16}, {"bfloat16"}},
    {Scalar::f32,
     "f32",
     32,
     -0x1.fffffep127,
     0x1.fffffep127,
     {2, 32},
     {"float32", "float", "fp32"}},
    {Scalar::f64,
     "f64",
     64,
     -0x1.fffffffffffffp1023,
     0x1.fffffffffffffp1023,
     {2, 64},
     {"float64", "double", "fp64"}},
    {Scalar::tf32, "tf32", 32, -0x1.ffcp127, 0x1.ffcp127, {2, 32}, {"tfloat32"}},
    {Scalar::e4m3,
     "e4m3",
     8,
     -448,
     448,
     {10, 8},
     {"f8_e4m3", "float8_e4m3fn", "float8_e4m3", "e4m3fn", "f8_e4m3fn"}},
    {Scalar::e5m2, "e5m2", 8, -57344, 57344, {12, 8}, {"f8_e5m2", "float8_e5m2"}},
    {Scalar::e8m0,
     "e8m0",
     8,
     0x1p-127,
     0x1p127,
     {14, 8},
     {"f8_e8m0", "float8_e8m0fnu", "e8m0fnu", "ue8m0", "f8_e8m0fnu"}},
    {Scalar::e2m1,
     "e2m1",
     4,
     -6,
     6,
     {17, 4},
     {"f4_e2m1", "float4_e2m1fn", "e2m1fn", "f4_e2m1fn", "float4_e2m1fn_x2"}},
}};
// clang-format on

const Row& row(Scalar scalar) { return kRows[static_cast<size_t>(scalar)]; }

}  // namespace

int DType::bits() const { return row(scalar).bits * lanes; }

std::string to_text(DType dtype) {
  std::string text = row(dtype.scalar).name;
  if (dtype.lanes != 1) text += "x" + std::to_string(dtype.lanes);
  return text;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const char* prefix : {"torch.", "numpy.", "np.", "tw."}) {
    if (name.starts_with(prefix)) name.remove_prefix(std::string_view(prefix).size());
  }
  for (const Row& r : kRows) {
    if (name == r.name) return DType(r.scalar);
    for (const char* alias : r.aliases) {
      if (alias != nullptr && name == alias) return DType(r.scalar);
    }
  }
  // A vector: a scalar's name, "x", a lane count.
  const size_t x = name.rfind('x');
  if (x == name.npos || x + 1 == name.size() || x + 3 < name.size()) return std::nullopt;
  int lanes = 0;
  for (const char digit : name.substr(x + 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    lanes = lanes * 10 + (digit - '0');
  }
  const auto scalar = parse_dtype(name.substr(0, x));
  const bool legal =
      lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32 || lanes == 64;
  if (!scalar || scalar->lanes != 1 || !legal) return std::nullopt;
  return DType(scalar->scalar, lanes);
}

DType dtype_named(std::string_view name) {
  if (const auto dtype = parse_dtype(name)) return *dtype;
  std::vector<std::string> names;
  for (const Row& r : kRows) names.push_back(r.name);
  throw Error(codes::type_01, {}, "dtype: unknown name '{}'", name)
      .help("known names are {}", join(names, ", "));
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> all = [] {
    std::vector<DType> list;
    for (const Row& r : kRows) list.push_back(r.scalar);
    return list;
  }();
  return all;
}

std::optional<DType> promote(DType a, DType b) {
  if (a.lanes != b.lanes && a.lanes != 1 && b.lanes != 1) return std::nullopt;
  const int lanes = std::max(a.lanes, b.lanes);
  a.lanes = b.lanes = 1;
  if (a.is_narrow_float()) a = f32;
  if (b.is_narrow_float()) b = f32;
  if (a == b) return DType(a.scalar, lanes);
  if (a.is_bool() || b.is_bool()) return DType(a.is_bool() ? b.scalar : a.scalar, lanes);
  if (a.is_float() != b.is_float()) return DType(a.is_float() ? a.scalar : b.scalar, lanes);
  if (a.bits() != b.bits()) return DType(a.bits() > b.bits() ? a.scalar : b.scalar, lanes);
  if (a.is_int()) return DType(a.is_unsigned_int() ? a.scalar : b.scalar, lanes);
  if (a.bits() == 32) return DType(Scalar::f32, lanes);  // f32 with tf32
  return std::nullopt;                                   // bf16 with f16
}

double max_finite(DType dtype) { return row(dtype.scalar).highest; }
double lowest_finite(DType dtype) { return row(dtype.scalar).lowest; }

bool can_hold(DType dtype, double value) {
  if (dtype.is_bool()) return value == 0 || value == 1;
  if (dtype.is_int()) {
    if (!(std::trunc(value) == value)) return false;
    if (dtype == i64) return value >= -0x1p63 && value < 0x1p63;
    if (dtype == u64) return value >= 0 && value < 0x1p64;
    return value >= lowest_finite(dtype) && value <= max_finite(dtype);
  }
  if (std::isnan(value)) return dtype.scalar != Scalar::e2m1;
  if (std::isinf(value)) {
    return dtype.has_float_arithmetic() || dtype.scalar == Scalar::e5m2;
  }
  if (dtype.scalar == Scalar::e8m0) return value > 0 && value <= max_finite(dtype);
  return value >= lowest_finite(dtype) && value <= max_finite(dtype);
}

bool can_hold(DType dtype, int64_t value) {
  if (dtype == i64) return true;
  if (dtype == u64) return value >= 0;
  return can_hold(dtype, static_cast<double>(value));
}

DLPackType to_dlpack(DType dtype) { return row(dtype.scalar).dlpack; }

std::optional<DType> from_dlpack(DLPackType type) {
  for (const Row& r : kRows) {
    if (r.scalar == Scalar::tf32) continue;  // arrives as f32
    if (r.dlpack.code == type.code && r.dlpack.bits == type.bits) return DType(r.scalar);
  }
  return std::nullopt;
}

}  // namespace tw
