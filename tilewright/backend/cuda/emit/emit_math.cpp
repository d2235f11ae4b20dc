// Operations on floats.
#include <cmath>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/backend/cuda/emit/pairs.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

using ir::Exactness;
using ir::OpCode;

/// A function on f32, its fast form where there is one, and the function on f64.
struct Function {
  OpCode code;
  const char *f32, *fast, *f64;
};
constexpr Function kFunctions[] = {
    {OpCode::fma, "fmaf", nullptr, "fma"},
    {OpCode::fmod, "fmodf", nullptr, "fmod"},
    {OpCode::floor, "floorf", nullptr, "floor"},
    {OpCode::ceil, "ceilf", nullptr, "ceil"},
    {OpCode::trunc, "truncf", nullptr, "trunc"},
    {OpCode::round, "roundf", nullptr, "round"},
    {OpCode::rint, "rintf", nullptr, "rint"},
    {OpCode::exp, "expf", "__expf", "exp"},
    {OpCode::exp2, "exp2f", "exp2_fast", "exp2"},
    {OpCode::exp10, "exp10f", "__exp10f", "exp10"},
    {OpCode::expm1, "expm1f", nullptr, "expm1"},
    {OpCode::log, "logf", "__logf", "log"},
    {OpCode::log2, "log2f", "__log2f", "log2"},
    {OpCode::log10, "log10f", "__log10f", "log10"},
    {OpCode::log1p, "log1pf", nullptr, "log1p"},
    {OpCode::pow, "powf", "__powf", "pow"},
    {OpCode::sqrt, "sqrtf", "sqrt_fast", "sqrt"},
    {OpCode::rsqrt, "rsqrtf", "rsqrt_fast", "rsqrt"},
    {OpCode::rcp, "reciprocal", "rcp_fast", "__drcp_rn"},
    {OpCode::cbrt, "cbrtf", nullptr, "cbrt"},
    {OpCode::hypot, "hypotf", nullptr, "hypot"},
    {OpCode::sin, "sinf", "__sinf", "sin"},
    {OpCode::cos, "cosf", "__cosf", "cos"},
    {OpCode::tan, "tanf", "__tanf", "tan"},
    {OpCode::asin, "asinf", nullptr, "asin"},
    {OpCode::acos, "acosf", nullptr, "acos"},
    {OpCode::atan, "atanf", nullptr, "atan"},
    {OpCode::atan2, "atan2f", nullptr, "atan2"},
    {OpCode::sinh, "sinhf", nullptr, "sinh"},
    {OpCode::cosh, "coshf", nullptr, "cosh"},
    {OpCode::tanh, "tanhf", "tanh_fast", "tanh"},
    {OpCode::asinh, "asinhf", nullptr, "asinh"},
    {OpCode::acosh, "acoshf", nullptr, "acosh"},
    {OpCode::atanh, "atanhf", nullptr, "atanh"},
    {OpCode::erf, "erff", nullptr, "erf"},
    {OpCode::erfc, "erfcf", nullptr, "erfc"},
};

/// The intrinsic of an ieee operation: "__fadd_rn", "__dsqrt_ru"; empty where there is none.
std::string ieee_function(OpCode code, DType dtype, Rounding rounding) {
  const char* stem = code == OpCode::add     ? "add"
                     : code == OpCode::sub   ? "sub"
                     : code == OpCode::mul   ? "mul"
                     : code == OpCode::fdiv  ? "div"
                     : code == OpCode::rcp   ? "rcp"
                     : code == OpCode::sqrt  ? "sqrt"
                     : code == OpCode::fma   ? "ma"
                     : code == OpCode::rsqrt ? "rsqrt"
                                             : nullptr;
  if (stem == nullptr || (code == OpCode::rsqrt && (rounding != Rounding::rn || dtype == f64))) {
    return "";
  }
  const char* mode = rounding == Rounding::rz   ? "_rz"
                     : rounding == Rounding::rp ? "_ru"
                     : rounding == Rounding::rm ? "_rd"
                                                : "_rn";
  const char* head =
      code == OpCode::fma ? (dtype == f64 ? "__f" : "__fmaf") : (dtype == f64 ? "__d" : "__f");
  if (code == OpCode::fma) return std::string(head) + (dtype == f64 ? "ma" : "") + mode;
  return std::string(head) + stem + mode;
}

bool in_f32(DType dtype) { return dtype == f16 || dtype == bf16 || dtype.scalar == Scalar::tf32; }

/// Rounds an f32 to the type that it was computed for.
Text rounded(DType dtype, const Text& v) {
  return in_f32(dtype) ? call("to_" + to_text(dtype), {v}) : v;
}

/// Whether the value is a number >= 2^-123, +infinity or NaN, so that an eighth of it is normal.
bool is_never_negative(const ir::Expr& e) {
  const auto* op = e.try_as<ir::Op>();
  return op != nullptr && (op->code == OpCode::exp || op->code == OpCode::exp2 ||
                           op->code == OpCode::exp10 || op->code == OpCode::abs);
}
bool is_well_above_zero(const ir::Expr& e) {
  if (const auto* c = e.try_as<ir::Const>()) return c->f >= 0x1p-123;
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr || op->code != OpCode::add) return false;
  const auto sum = [&](size_t a, size_t b) {
    return is_well_above_zero(op->args[a]) && is_never_negative(op->args[b]);
  };
  return sum(0, 1) || sum(1, 0);
}

/// Whether the value is a positive normal number: a whole number times a constant, plus one.
bool is_positive_normal(const ir::Expr& e) {
  const auto constant = [](const ir::Expr& x) {
    const auto* c = x.try_as<ir::Const>();
    return c != nullptr && c->f >= 0x1p-126 && c->f <= 0x1p90 ? c->f : 0;
  };
  const auto is_scaled = [&](const ir::Expr& x) {
    const auto* op = x.try_as<ir::Op>();
    if (op == nullptr || op->code != OpCode::mul || constant(op->args[1]) == 0) return false;
    const auto* cast = op->args[0].try_as<ir::Cast>();
    return cast != nullptr && cast->value.dtype() == u32;
  };
  const auto* op = e.try_as<ir::Op>();
  return op != nullptr && e.dtype() == f32 && op->code == OpCode::add && is_scaled(op->args[0]) &&
         constant(op->args[1]) != 0;
}

}  // namespace

Text Emitter::float_operation(const ir::Op& op, Exactness exactness) {
  const DType dtype = op.args[0].dtype();
  if (!dtype.has_float_arithmetic()) no_form(op);
  const bool is_bits = in_f32(dtype) && dtype.scalar != Scalar::tf32;  // carried as 16 bits
  const auto arg = [&](size_t i) { return value(op.args[i]); };
  switch (op.code) {
    case OpCode::neg:
      return is_bits ? as_type(dtype, infix(arg(0), " ^ ", {"0x8000"}, kBitXor))
                     : prefix("-", arg(0));
    case OpCode::abs:
      if (is_bits) return as_type(dtype, infix(arg(0), " & ", {"0x7fff"}, kBitAnd));
      return call(dtype == f64 ? "fabs" : "fabsf", {arg(0)});
    case OpCode::copysign: {
      if (!is_bits) return call(dtype == f64 ? "copysign" : "copysignf", {arg(0), arg(1)});
      const Text magnitude = infix(arg(0), " & ", {"0x7fff"}, kBitAnd);
      return as_type(dtype,
                     infix(magnitude, " | ", infix(arg(1), " & ", {"0x8000"}, kBitAnd), kBitOr));
    }
    case OpCode::min:
    case OpCode::max:
    case OpCode::min_nan:
    case OpCode::max_nan:
      return min_max(op, exactness);
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::fdiv:
      return rounded(dtype, float_arithmetic(op, exactness));
    default:
      return rounded(dtype, float_function(op, exactness));
  }
}

Text Emitter::float_arithmetic(const ir::Op& op, Exactness exactness) {
  const DType dtype = op.dtype;
  const Text a = operand(op, 0), b = operand(op, 1);
  if (exactness == Exactness::ieee) return call(ieee_function(op.code, dtype, op.rounding), {a, b});
  switch (op.code) {
    case OpCode::add:
      return infix(a, " + ", b, kSum);
    case OpCode::sub:
      return infix(a, " - ", b, kSum);
    case OpCode::mul:
      return infix(a, " * ", b, kProduct);
    default:
      if (exactness == Exactness::fast && dtype != f64) return call("__fdividef", {a, b});
      return infix(a, " / ", b, kProduct);
  }
}

Text Emitter::min_max(const ir::Op& op, Exactness exactness) {
  const DType dtype = op.dtype;
  const bool is_min = op.code == OpCode::min || op.code == OpCode::min_nan;
  const bool keeps_nan = op.code == OpCode::min_nan || op.code == OpCode::max_nan;
  const bool any_zero = exactness == Exactness::fast || takes_any_zero(op);
  if (any_zero && !keeps_nan && (dtype == f16 || dtype == bf16)) {
    const std::string name(ir::op_row(op.code).name);
    return call(name + "_" + to_text(dtype), {value(op.args[0]), value(op.args[1])});
  }
  const Text a = operand(op, 0), b = operand(op, 1);
  const std::string stem = is_min ? "min" : "max";
  std::string name;
  if (keeps_nan) {
    name = stem + (any_zero && dtype != f64 ? "_nan_fast" : "_nan");
  } else {
    name = any_zero ? "f" + stem + (dtype == f64 ? "" : "f") : stem + "_first";
  }
  const Text v = call(name, {a, b});
  // One of the operands: nothing is rounded.
  return in_f32(dtype) && dtype.scalar != Scalar::tf32 ? rounded(dtype, v) : v;
}

Text Emitter::float_function(const ir::Op& op, Exactness exactness) {
  const DType dtype = op.dtype;
  std::vector<Text> args;
  for (size_t i = 0; i < op.args.size(); ++i) args.push_back(operand(op, i));
  if (exactness == Exactness::ieee) {
    if (const std::string name = ieee_function(op.code, dtype, op.rounding); !name.empty()) {
      return call(name, args);
    }
    if (op.rounding != Rounding::rn) no_form(op);
  }
  const bool is_standard = exactness == Exactness::standard && dtype != f64;
  if (op.code == OpCode::rcp && is_standard && is_well_above_zero(op.args[0])) {
    return call("reciprocal_of_large", args);
  }
  if (op.code == OpCode::log && is_standard && is_positive_normal(op.args[0])) {
    return call("log_of_normal", args);
  }
  for (const Function& row : kFunctions) {
    if (row.code != op.code) continue;
    if (dtype == f64) return call(row.f64, args);
    return call(exactness == Exactness::fast && row.fast != nullptr ? row.fast : row.f32, args);
  }
  no_form(op);
}

}  // namespace tw::cuda
