#include "tests/fuzz/expressions.h"

#include <limits>

#include "tests/fuzz/values.h"
#include "tilewright/base/convert.h"

namespace tw::fuzz {
namespace {

using ir::Expr;
using ir::OpCode;

const std::vector<DType> kInts = {i8, i16, i32, i64, u8, u16, u32, u64};
const std::vector<DType> kFloats = {f16, bf16, f32, f64};

DType unsigned_of(DType dtype) {
  switch (dtype.bits()) {
    case 8:
      return u8;
    case 16:
      return u16;
    case 32:
      return u32;
    default:
      return u64;
  }
}

Expr literal_of(DType dtype, uint64_t bits) {
  if (dtype.is_float()) return ir::float_const(dtype, decode(bits, dtype));
  return ir::int_const(dtype, decode_int(bits, dtype));
}

Expr with_rounding(OpCode code, DType dtype, std::vector<Expr> args, Rounding rounding) {
  return ir::make<ir::Op>({}, [&](ir::Op& n) {
    n.code = code;
    n.dtype = dtype;
    n.args = std::move(args);
    n.exactness = ir::Exactness::ieee;
    n.rounding = rounding;
  });
}

}  // namespace

DType Expressions::any_dtype() {
  const DType dtype = random_.pick(all_dtypes());
  return dtype == tf32 ? f32 : dtype;
}

Expr Expressions::constant(DType dtype) { return literal_of(dtype, any_value(random_, dtype)); }

Expr Expressions::leaf(DType dtype) {
  if (leaves.empty() || random_.chance(15)) return constant(dtype);
  std::vector<const Leaf*> same;
  for (const Leaf& leaf : leaves) {
    if (leaf.dtype == dtype) same.push_back(&leaf);
  }
  if (!same.empty() && random_.chance(70)) return random_.pick(same)->make();
  return convert(random_.pick(leaves).make(), dtype);
}

Expr Expressions::convert(const Expr& value, DType dtype) {
  const DType from = value.dtype();
  if (from == dtype) return value;
  if (cast_error(from, dtype) != Code{}) return convert(convert(value, f32), dtype);
  return ir::make<ir::Cast>({}, [&](ir::Cast& n) {
    n.dtype = dtype;
    n.value = value;
    n.rounding = random_.pick(
        {Rounding::rn, Rounding::rn, Rounding::rz, Rounding::rp, Rounding::rm, Rounding::rs});
    n.saturate = random_.chance(70);
    if (n.rounding == Rounding::rs) n.rbits = constant(u32);
    if (cast_error(from, dtype, n.rounding, n.saturate, static_cast<bool>(n.rbits)) == Code{})
      return;
    n.rounding = Rounding::rn;
    n.saturate = true;
    n.rbits = {};
  });
}

Expr Expressions::no_nan(const Expr& value) {
  return ir::op(OpCode::select, value.dtype(),
                {ir::op(OpCode::isnan, bool_, {value}), ir::literal(value.dtype(), 1), value});
}

Expr Expressions::positive_zero(const Expr& value) {
  return ir::op(OpCode::add, value.dtype(), {value, ir::literal(value.dtype(), 0)});
}

Expr Expressions::index(int depth) {
  if (depth <= 0 || random_.chance(30)) {
    if (indices.empty() || random_.chance(30)) return ir::index(random_.range(-2, 9));
    return random_.pick(indices);
  }
  const Expr a = index(depth - 1);
  const Expr c = ir::index(random_.range(1, 5));
  switch (random_.range(0, 6)) {
    case 0:
      return ir::add(a, index(depth - 1));
    case 1:
      return ir::sub(a, index(depth - 1));
    case 2:
      return ir::mul(a, c);
    case 3:
      return ir::floordiv(a, c);
    case 4:
      return ir::floormod(a, c);
    case 5:
      return ir::min(a, index(depth - 1));
    default:
      return ir::max(a, c);
  }
}

Expr Expressions::index_within(int64_t extent, int depth) {
  return ir::floormod(index(depth), ir::index(extent));
}

Expr Expressions::small_number(DType dtype, int depth, bool tiny) {
  const double limit = tiny ? 1 : 4;
  if (dtype.is_bool()) return value(bool_, depth);
  if (dtype.is_int()) {
    const Expr wide = value(dtype, depth);
    return ir::op(OpCode::truncmod, dtype, {wide, ir::literal(dtype, limit + 1)});
  }
  const DType compute = dtype.has_float_arithmetic() && dtype != tf32 ? dtype : f32;
  const Expr x = no_nan(value(compute, depth));
  const Expr low = ir::op(OpCode::max, compute, {x, ir::literal(compute, -limit)});
  const Expr both = ir::op(OpCode::min, compute, {low, ir::literal(compute, limit)});
  return convert(positive_zero(ir::op(OpCode::trunc, compute, {both})), dtype);
}

Expr Expressions::moderate_number(DType dtype, int depth) {
  const DType compute = dtype.has_float_arithmetic() && dtype != tf32 ? dtype : f32;
  const Expr x = no_nan(value(compute, depth));
  const Expr low = ir::op(OpCode::max, compute, {x, ir::literal(compute, -4)});
  return convert(positive_zero(ir::op(OpCode::min, compute, {low, ir::literal(compute, 4)})),
                 dtype);
}

Expr Expressions::value(DType dtype, int depth) {
  if (depth <= 0 || random_.chance(20)) return leaf(dtype);
  const int64_t kind = random_.range(0, 19);
  if (kind == 0) {  // both values are evaluated
    return ir::op(OpCode::select, dtype,
                  {condition(depth - 1), value(dtype, depth - 1), value(dtype, depth - 1)});
  }
  if (kind == 1) {  // only one is
    return ir::op(OpCode::if_else, dtype,
                  {condition(depth - 1), value(dtype, depth - 1), value(dtype, depth - 1)});
  }
  if (kind < 5) return convert(value(any_dtype(), depth - 1), dtype);
  if (dtype.is_bool()) return bool_value(depth);
  if (dtype.is_int()) return int_value(dtype, depth);
  if (dtype.is_narrow_float() || dtype == tf32) return convert(value(f32, depth - 1), dtype);
  return float_value(dtype, depth);
}

Expr Expressions::bool_value(int depth) {
  switch (random_.range(0, 5)) {
    case 0:
      return ir::op(random_.pick({OpCode::land, OpCode::lor}), bool_,
                    {condition(depth - 1), condition(depth - 1)});
    case 1:
      return ir::op(OpCode::lnot, bool_, {condition(depth - 1)});
    case 2:
      return ir::op(random_.pick({OpCode::bit_and, OpCode::bit_or, OpCode::bit_xor}), bool_,
                    {condition(depth - 1), condition(depth - 1)});
    case 3: {
      const Expr x = value(random_.pick(kFloats), depth - 1);
      const OpCode code =
          random_.pick({OpCode::isnan, OpCode::isinf, OpCode::isfinite, OpCode::signbit});
      return ir::op(code, bool_, {code == OpCode::signbit ? no_nan(x) : x});
    }
    default: {
      const DType operand = random_.chance(50) ? random_.pick(kInts) : random_.pick(kFloats);
      return ir::op(
          random_.pick({OpCode::eq, OpCode::ne, OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge}),
          bool_, {value(operand, depth - 1), value(operand, depth - 1)});
    }
  }
}

Expr Expressions::signed_arithmetic(DType dtype, int depth) {
  const OpCode code = random_.pick({OpCode::add, OpCode::sub, OpCode::mul});
  const Expr a = value(dtype, depth - 1), b = value(dtype, depth - 1);
  if (random_.chance(50)) {  // in unsigned arithmetic, which wraps
    const DType wrapping = unsigned_of(dtype);
    return ir::cast(dtype, ir::op(code, wrapping, {ir::cast(wrapping, a), ir::cast(wrapping, b)}));
  }
  const int half = dtype.bits() / 2;
  const int64_t limit =
      code == OpCode::mul ? (int64_t{1} << (half - 1)) : INT64_MAX >> (65 - dtype.bits());
  const auto small = [&](const Expr& e) {
    return ir::op(OpCode::truncmod, dtype, {e, ir::int_const(dtype, limit)});
  };
  return ir::op(code, dtype, {small(a), small(b)});
}

Expr Expressions::division(DType dtype, int depth) {
  const Expr a = value(dtype, depth - 1);
  const OpCode code =
      random_.pick({OpCode::floordiv, OpCode::floormod, OpCode::truncdiv, OpCode::truncmod});
  if (dtype.is_signed_int() && random_.chance(30)) {
    return ir::op(code, dtype, {a, ir::int_const(dtype, -random_.range(2, 9))});
  }
  if (random_.chance(50))
    return ir::op(code, dtype, {a, ir::int_const(dtype, random_.range(1, 20))});
  const Expr divisor =
      ir::op(OpCode::bit_and, dtype, {value(dtype, depth - 1), ir::int_const(dtype, 15)});
  return ir::op(code, dtype,
                {a, ir::op(OpCode::bit_or, dtype, {divisor, ir::int_const(dtype, 1)})});
}

Expr Expressions::bit_operation(DType dtype, int depth) {
  const Expr a = value(dtype, depth - 1);
  const auto count = [&] {
    return ir::op(OpCode::bit_and, dtype,
                  {value(dtype, depth - 1), ir::int_const(dtype, dtype.bits() - 1)});
  };
  switch (random_.range(0, 7)) {
    case 0:
    case 1:
      return ir::op(random_.pick({OpCode::bit_and, OpCode::bit_or, OpCode::bit_xor}), dtype,
                    {a, value(dtype, depth - 1)});
    case 2:
    case 3:
      return ir::op(random_.pick({OpCode::shl, OpCode::shr}), dtype, {a, count()});
    case 4:
      return ir::op(random_.pick({OpCode::popcount, OpCode::clz, OpCode::ctz, OpCode::ffs,
                                  OpCode::bit_reverse, OpCode::bit_not}),
                    dtype, {a});
    case 5:
      return ir::op(OpCode::nth_set, dtype, {a, count()});
    case 6:
      return ir::op(random_.pick({OpCode::funnel_shl, OpCode::funnel_shr}), dtype,
                    {a, value(dtype, depth - 1), count()});
    default:
      if (dtype != u32) return ir::op(OpCode::bit_not, dtype, {a});
      return ir::op(OpCode::byte_permute, dtype, {a, value(u32, depth - 1), value(u32, depth - 1)});
  }
}

Expr Expressions::int_value(DType dtype, int depth) {
  switch (random_.range(0, 7)) {
    case 0:
    case 1:
      if (dtype.is_signed_int()) return signed_arithmetic(dtype, depth);
      return ir::op(random_.pick({OpCode::add, OpCode::sub, OpCode::mul, OpCode::mul}), dtype,
                    {value(dtype, depth - 1), value(dtype, depth - 1)});
    case 2:
      return ir::op(random_.pick({OpCode::min, OpCode::max, OpCode::mul_high, OpCode::add_sat,
                                  OpCode::sub_sat}),
                    dtype, {value(dtype, depth - 1), value(dtype, depth - 1)});
    case 3:
      return division(dtype, depth);
    case 4: {  // reinterpreted floats
      if (dtype.bits() == 8) return bit_operation(dtype, depth);
      const DType from = dtype.bits() == 16   ? random_.pick({f16, bf16})
                         : dtype.bits() == 32 ? f32
                                              : f64;
      return ir::op(OpCode::bitcast, dtype, {no_nan(value(from, depth - 1))});
    }
    case 5:
      if (dtype.is_signed_int()) {
        const Expr small =
            ir::op(OpCode::shr, dtype, {value(dtype, depth - 1), ir::int_const(dtype, 1)});
        return ir::op(random_.pick({OpCode::neg, OpCode::abs}), dtype, {small});
      }
      return bit_operation(dtype, depth);
    default:
      return bit_operation(dtype, depth);
  }
}

Expr Expressions::exact_function(DType dtype, int depth) {
  const Expr a = value(dtype, depth - 1);
  switch (random_.range(0, 2)) {
    case 0:
      return ir::op(random_.pick({OpCode::floor, OpCode::ceil, OpCode::trunc, OpCode::round,
                                  OpCode::rint, OpCode::sqrt}),
                    dtype, {a});
    case 1:
      return ir::op(OpCode::fmod, dtype, {a, value(dtype, depth - 1)});
    default:
      return ir::op(OpCode::fma, dtype, {a, value(dtype, depth - 1), value(dtype, depth - 1)});
  }
}

Expr Expressions::float_function(DType dtype, int depth) {
  if (functions_ == Functions::exact) return exact_function(dtype, depth);
  const Expr a = value(dtype, depth - 1);
  switch (random_.range(0, 5)) {
    case 0:
      return ir::op(random_.pick({OpCode::floor, OpCode::ceil, OpCode::trunc, OpCode::round,
                                  OpCode::rint, OpCode::sqrt, OpCode::rsqrt, OpCode::rcp}),
                    dtype, {a});
    case 1:
      return ir::op(random_.pick({OpCode::pow, OpCode::hypot, OpCode::atan2, OpCode::fmod}), dtype,
                    {a, value(dtype, depth - 1)});
    case 2:
      return ir::op(
          random_.pick({OpCode::exp, OpCode::exp2, OpCode::exp10, OpCode::expm1, OpCode::log,
                        OpCode::log2, OpCode::log10, OpCode::log1p, OpCode::cbrt}),
          dtype, {a});
    case 3:
      return ir::op(random_.pick({OpCode::sin, OpCode::cos, OpCode::tan, OpCode::asin, OpCode::acos,
                                  OpCode::atan, OpCode::sinh, OpCode::cosh, OpCode::tanh,
                                  OpCode::asinh, OpCode::acosh, OpCode::atanh}),
                    dtype, {a});
    case 4:
      return ir::op(random_.pick({OpCode::erf, OpCode::erfc, OpCode::exp, OpCode::tanh}), dtype,
                    {a});
    default:
      return ir::op(OpCode::fma, dtype, {a, value(dtype, depth - 1), value(dtype, depth - 1)});
  }
}

Expr Expressions::float_value(DType dtype, int depth) {
  switch (random_.range(0, 9)) {
    case 0:
    case 1:
    case 2:
      return ir::op(random_.pick({OpCode::add, OpCode::sub, OpCode::mul, OpCode::fdiv}), dtype,
                    {value(dtype, depth - 1), value(dtype, depth - 1)});
    case 3:
      return positive_zero(
          ir::op(random_.pick({OpCode::min, OpCode::max, OpCode::min_nan, OpCode::max_nan}), dtype,
                 {value(dtype, depth - 1), value(dtype, depth - 1)}));
    case 4:
      return ir::op(random_.pick({OpCode::neg, OpCode::abs}), dtype, {value(dtype, depth - 1)});
    case 5:
      return ir::op(OpCode::copysign, dtype,
                    {value(dtype, depth - 1), no_nan(value(dtype, depth - 1))});
    case 6:
      if (dtype == f32 || dtype == f64) {
        const Rounding rounding =
            random_.pick({Rounding::rn, Rounding::rz, Rounding::rp, Rounding::rm});
        const Expr a = value(dtype, depth - 1), b = value(dtype, depth - 1);
        switch (random_.range(0, 2)) {
          case 0:
            return with_rounding(
                random_.pick({OpCode::add, OpCode::sub, OpCode::mul, OpCode::fdiv}), dtype, {a, b},
                rounding);
          case 1:
            return with_rounding(random_.pick({OpCode::rcp, OpCode::sqrt}), dtype, {a}, rounding);
          default:
            return with_rounding(OpCode::fma, dtype, {a, b, value(dtype, depth - 1)}, rounding);
        }
      }
      return float_function(dtype, depth);
    case 7: {  // reinterpreted integers: any pattern
      const DType from = dtype.bits() == 16   ? random_.pick({u16, i16})
                         : dtype.bits() == 32 ? random_.pick({u32, i32})
                                              : random_.pick({u64, i64});
      return ir::op(OpCode::bitcast, dtype, {value(from, depth - 1)});
    }
    default:
      return float_function(dtype, depth);
  }
}

}  // namespace tw::fuzz
