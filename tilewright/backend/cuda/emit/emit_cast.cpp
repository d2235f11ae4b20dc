// Conversions (language 11.4): each is a cast of C++, or a function of the prelude on an f32 that
// keeps what the last rounding must know.
#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

bool is_short_int(DType dtype) { return dtype.is_bool() || (dtype.is_int() && dtype.bits() < 32); }

/// x != 0, where NaN is true.
Text to_bool(DType from, const Text& v) {
  const auto differs = [&](const char* mask) {
    return infix(infix(v, " & ", {mask}, kBitAnd), " != ", {"0"}, kEqual);
  };
  switch (from.scalar) {
    case Scalar::f16:
    case Scalar::bf16:
      return differs("0x7fff");
    case Scalar::e4m3:
    case Scalar::e5m2:
      return differs("0x7f");
    case Scalar::e2m1:
      return differs("7");
    case Scalar::e8m0:
      return {"true"};  // it has no zero
    case Scalar::f32:
    case Scalar::tf32:
      return infix(v, " != ", {"0.0f"}, kEqual);
    case Scalar::f64:
      return infix(v, " != ", {"0.0"}, kEqual);
    default:
      return infix(v, " != ", {"0"}, kEqual);
  }
}

/// An f32 that rounds to `to` as an f64 or a whole number does: the number where f32 has it, else
/// rounded to odd. (An f32 has more than two bits more than the types that this is for.)
Text sufficient(DType from, DType to, Rounding rounding, const Text& v) {
  if (from == f64) return call("odd_f64", {v});
  // Integers that an f32 rounds are beyond all of f16.
  if (is_short_int(from) || (to == f16 && rounding == Rounding::rn)) return as_type(f32, v);
  return call("odd_" + to_text(from), {v});
}

/// The function of the prelude that rounds an f32; empty where there is none.
std::string rounding_function(DType to, Rounding rounding, bool saturate) {
  const std::string name = "to_" + to_text(to);
  const std::string mode = "_" + to_text(rounding);
  if (to == f8_e8m0) {
    if (rounding == Rounding::rs) return "";
    return name + (rounding == Rounding::rn || rounding == Rounding::rp ? "_up" : "_down");
  }
  const bool fp8 = to == f8_e4m3 || to == f8_e5m2;
  if (rounding == Rounding::rn) return fp8 && !saturate ? name + "_nonsat" : name;
  if (rounding == Rounding::rs) return to == tf32 ? "" : name + mode;
  return to == f16 || to == bf16 ? name + mode : "";
}

}  // namespace

Text Emitter::unrounded(const ir::Cast& cast) {
  const DType from = cast.value.dtype();
  if (from.is_float() && from != f64) return real(cast.value);
  return sufficient(from, cast.dtype, cast.rounding, value(cast.value));
}

Text Emitter::conversion(const ir::Cast& cast) {
  const DType from = cast.value.dtype(), to = cast.dtype;
  if (from == to) return value(cast.value);
  if (to.is_bool()) return to_bool(from, value(cast.value));
  if (to.is_int()) {
    if (!from.is_float()) return as_type(to, value(cast.value));
    if (from == f64) return call(to_text(to) + "_of_f64", {value(cast.value)});
    return call("to_" + to_text(to), {real(cast.value)});
  }
  if (to == f64) {
    const bool direct = !from.is_float() || from == f32 || from == tf32;
    return as_type(f64, direct ? value(cast.value) : real(cast.value));
  }
  if (to == f32) {
    if (!from.is_float() || from == f64) return as_type(f32, value(cast.value));
    return real(cast.value);
  }
  const Text x = unrounded(cast);
  const std::string function = rounding_function(to, cast.rounding, cast.saturate);
  TW_CHECK(!function.empty(), "cast from {} to {} with rounding {}", from, to, cast.rounding);
  if (cast.rounding == Rounding::rs) return call(function, {x, value(cast.rbits)});
  return call(function, {x});
}

}  // namespace tw::cuda
