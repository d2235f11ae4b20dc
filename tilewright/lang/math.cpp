#include "tilewright/lang/math.h"

#include <cmath>
#include <limits>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"

namespace tw {
inline namespace lang {

using ir::Exactness;
using ir::OpCode;

// ---- functions that are one operation ----

#define TW_DEFINE(name) \
  Expr name(const Operand& x) { return element_op({#name, x.where()}, OpCode::name, {x.value()}); }
TW_FLOAT_FUNCTIONS(TW_DEFINE)
TW_INTEGER_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE

#define TW_DEFINE(name)                                                          \
  Expr name(const Operand& a, const Operand& b) {                                \
    return element_op({#name, a.where()}, OpCode::name, {a.value(), b.value()}); \
  }
TW_DEFINE(min)
TW_DEFINE(max)
TW_DEFINE(min_nan)
TW_DEFINE(max_nan)
TW_DEFINE(fmod)
TW_DEFINE(pow)
TW_DEFINE(hypot)
TW_DEFINE(atan2)
TW_DEFINE(copysign)
TW_DEFINE(floordiv)
TW_DEFINE(floormod)
TW_DEFINE(truncdiv)
TW_DEFINE(truncmod)
TW_DEFINE(mul_high)
TW_DEFINE(add_sat)
TW_DEFINE(sub_sat)
TW_DEFINE(nth_set)
#undef TW_DEFINE

Expr cdiv(const Operand& a, const Operand& b) {
  return element_op({"cdiv", a.where()}, OpCode::floordiv, {a + (b - 1), b.value()});
}

#define TW_DEFINE(name)                                                                     \
  Expr name(const Operand& a, const Operand& b, const Operand& c) {                         \
    return element_op({#name, a.where()}, OpCode::name, {a.value(), b.value(), c.value()}); \
  }
TW_DEFINE(fma)
TW_DEFINE(select)
TW_DEFINE(if_else)
TW_DEFINE(byte_permute)
TW_DEFINE(funnel_shl)
TW_DEFINE(funnel_shr)
#undef TW_DEFINE

Expr clamp(const Operand& x, const Operand& lo, const Operand& hi) {
  // Comparisons are false for a NaN, so it stays; the upper bound is taken last, so it wins.
  const Operand raised = x.beside(select(x < lo, lo, x));
  return select(raised > hi, hi, raised);
}

// ---- functions made of others ----
//
// An operation has the line of its left operand, so a left operand that is made here is put
// `beside` x.

namespace {

/// f on a float type of 32 bits or more: 16-bit floats are rounded once, at the end.
Expr in_f32(const Operand& x, Expr (*f)(const Operand&)) {
  const DType dtype = x.value().dtype();
  if (x.value().is_number() || !dtype.is_float() || dtype.bits() > 16) return f(x);
  const Expr result = f(x.beside(cast(x, f32)));
  return dtype.is_narrow_float() ? result : cast(x.beside(result), dtype);
}

Expr sigmoid_f32(const Operand& x) { return rcp(x.beside(x.beside(1) + exp(x.beside(-x)))); }
Expr silu_f32(const Operand& x) { return x * sigmoid_f32(x); }
Expr softplus_f32(const Operand& x) {  // in a form that does not overflow
  const Operand magnitude = x.beside(abs(x));
  return x.beside(max(x, 0)) + log1p(x.beside(exp(x.beside(-magnitude))));
}
Expr gelu_f32(const Operand& x) {
  return x.beside(x * 0.5) * (x.beside(1) + erf(x.beside(x * M_SQRT1_2)));
}
Expr gelu_tanh_f32(const Operand& x) {
  const Operand cube = x.beside(x * (x * x));
  const Operand inner = x.beside(x + cube * 0.044715);
  return x.beside(x * 0.5) * (x.beside(1) + tanh(x.beside(inner * (M_2_SQRTPI * M_SQRT1_2))));
}

}  // namespace

#define TW_DEFINE(name) \
  Expr name(const Operand& x) { return in_f32(x, name##_f32); }
TW_LIBRARY_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE

// ---- casts ----

Expr cast(const Operand& x, DType dtype, const CastOptions& options) {
  const Site site{"cast", x.where()};
  const ir::Expr value = x.value().typed();
  const bool has_word = bool(options.rbits.ir());
  const Code code = cast_error(value.dtype(), dtype, options.round, options.saturate, has_word);
  if (code.text[0] != 0) {
    Error error(code, site.where, "cast: no {}{} conversion from {} to {}",
                options.saturate ? "" : "unsaturated ", to_text(options.round), value.dtype(),
                dtype);
    if (code == codes::cast_03) {
      error.help("{}", has_word ? "drop rbits, or round with rs" : "give a random word in rbits");
    }
    if (code == codes::copy_03) error.help("go through f32");
    throw error;
  }
  const bool is_default = options.round == Rounding::rn && options.saturate;
  if (is_default && value.dtype() == dtype) return x.value().is_number() ? Expr(value) : x.value();
  if (is_default && x.value().is_number() && value.dtype().is_int() && !dtype.is_float())
    return Expr(ir::cast(dtype, value));
  return Expr(ir::make<ir::Cast>(site.where, [&](ir::Cast& n) {
    n.dtype = dtype;
    n.value = value;
    n.rounding = options.round;
    n.saturate = options.saturate;
    if (has_word) n.rbits = with_type(site, options.rbits, u32);
  }));
}

Expr bitcast(const Operand& x, DType dtype) {
  const ir::Expr value = x.value().typed();
  if (value.dtype().bits() != dtype.bits()) {
    throw Error(codes::type_05, x.where(), "bitcast: {} has {} bits, {} has {}", value.dtype(),
                value.dtype().bits(), dtype, dtype.bits());
  }
  if (value.dtype() == dtype) return Expr(value);
  return Expr(ir::op(OpCode::bitcast, dtype, {value}, x.where()));
}

// ---- constants ----

namespace {

Expr integer_limit(DType dtype, bool highest, SourceLoc where) {
  const int bits = dtype.bits();
  if (dtype.is_bool()) return Expr(ir::int_const(dtype, highest, where));
  if (dtype.is_unsigned_int()) return Expr(ir::int_const(dtype, highest ? -1 : 0, where));
  const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return Expr(ir::int_const(dtype, highest ? high : -high - 1, where));
}

[[noreturn]] void no_such_value(std::string_view name, DType dtype, SourceLoc where) {
  throw Error(codes::type_06, where, "{}: {} has no such value", name, dtype);
}

}  // namespace

Expr max_value(DType dtype, SourceLoc where) {
  if (!dtype.is_float()) return integer_limit(dtype, true, where);
  return Expr(ir::float_const(dtype, max_finite(dtype), where));
}
Expr min_value(DType dtype, SourceLoc where) {
  if (!dtype.is_float()) return integer_limit(dtype, false, where);
  return Expr(ir::float_const(dtype, lowest_finite(dtype), where));
}
Expr inf(DType dtype, SourceLoc where) {
  const double value = std::numeric_limits<double>::infinity();
  if (!dtype.is_float() || !can_hold(dtype, value)) no_such_value("inf", dtype, where);
  return Expr(ir::float_const(dtype, value, where));
}
Expr nan(DType dtype, SourceLoc where) {
  const double value = std::numeric_limits<double>::quiet_NaN();
  if (!dtype.is_float() || !can_hold(dtype, value)) no_such_value("nan", dtype, where);
  return Expr(ir::float_const(dtype, value, where));
}
Expr eps(DType dtype, SourceLoc where) {
  if (!dtype.is_float() || dtype == f8_e8m0) no_such_value("eps", dtype, where);
  const double one = 1;
  const uint64_t next = encode(one, dtype) + (dtype == tf32 ? uint64_t{1} << 13 : 1);
  return Expr(ir::float_const(dtype, decode(next, dtype) - one, where));
}

// ---- exactness ----

namespace fast {
#define TW_DEFINE(name)                                                                         \
  Expr name(const Operand& x) {                                                                 \
    return element_op({"fast::" #name, x.where()}, OpCode::name, {x.value()}, Exactness::fast); \
  }
TW_FAST_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE
Expr div(const Operand& a, const Operand& b) {
  return element_op({"fast::div", a.where()}, OpCode::fdiv, {a.value(), b.value()},
                    Exactness::fast);
}
Expr sigmoid(const Operand& x) {
  return fast::div(x.beside(1), x.beside(1) + fast::exp(x.beside(-x)));
}
}  // namespace fast

namespace ieee {
namespace {
Expr exact(std::string_view name, OpCode code, const std::vector<Operand>& args,
           Rounding rounding) {
  const Site site{name, args[0].where()};
  std::vector<Expr> values;
  for (const Operand& a : args) values.push_back(a.value());
  const DType dtype = promoted(site, values)[0].dtype();
  if ((dtype != f32 && dtype != f64) || rounding == Rounding::rs) {
    throw Error(codes::type_07, site.where, "{}: not available on {} with {}", name, dtype,
                to_text(rounding))
        .help("use f32 or f64 with rn, rz, rp or rm");
  }
  return element_op(site, code, values, Exactness::ieee, rounding);
}
}  // namespace

Expr add(const Operand& a, const Operand& b, Rounding rounding) {
  return exact("ieee::add", OpCode::add, {a, b}, rounding);
}
Expr sub(const Operand& a, const Operand& b, Rounding rounding) {
  return exact("ieee::sub", OpCode::sub, {a, b}, rounding);
}
Expr mul(const Operand& a, const Operand& b, Rounding rounding) {
  return exact("ieee::mul", OpCode::mul, {a, b}, rounding);
}
Expr div(const Operand& a, const Operand& b, Rounding rounding) {
  return exact("ieee::div", OpCode::fdiv, {a, b}, rounding);
}
Expr fma(const Operand& a, const Operand& b, const Operand& c, Rounding rounding) {
  return exact("ieee::fma", OpCode::fma, {a, b, c}, rounding);
}
Expr rcp(const Operand& x, Rounding rounding) {
  return exact("ieee::rcp", OpCode::rcp, {x}, rounding);
}
Expr sqrt(const Operand& x, Rounding rounding) {
  return exact("ieee::sqrt", OpCode::sqrt, {x}, rounding);
}
Expr rsqrt(const Operand& x) { return exact("ieee::rsqrt", OpCode::rsqrt, {x}, Rounding::rn); }
}  // namespace ieee

}  // namespace lang
}  // namespace tw
