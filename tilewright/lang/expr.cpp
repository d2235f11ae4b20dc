#include "tilewright/lang/expr.h"

#include <algorithm>
#include <cmath>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/fold.h"

namespace tw {
inline namespace lang {

using ir::OpClass;
using ir::OpCode;

Expr Expr::from_bool(bool value, SourceLoc where) {
  return Expr(ir::int_const(bool_, value, where), true);
}
Expr Expr::from_float(double value, SourceLoc where) {
  return Expr(ir::float_const(f64, value, where), true);
}
Expr Expr::from_int(int64_t value, SourceLoc where) {
  return Expr(ir::int_const(i64, value, where), true);
}
Expr Expr::from_unsigned(uint64_t value, SourceLoc where) {
  const bool fits = value <= static_cast<uint64_t>(INT64_MAX);
  return Expr(ir::int_const(fits ? i64 : u64, static_cast<int64_t>(value), where), true);
}

bool Expr::is_const() const { return ir::as_int(value_).has_value(); }

int64_t Expr::as_int() const {
  const auto value = ir::as_int(value_);
  if (!value) throw Error({}, value_.loc(), "as_int: the value is not known while tracing");
  return *value;
}

ir::Expr Expr::typed() const {
  if (!number_) return value_;
  if (dtype() == f64) return ir::float_const(f32, value_.as<ir::Const>().f, value_.loc());
  if (dtype() == i64 && can_hold(i32, value_.as<ir::Const>().i)) return ir::cast(i32, value_);
  return value_;
}

Extents extents(const std::vector<int64_t>& shape) { return {shape.begin(), shape.end()}; }

namespace {

std::string number_text(const ir::Const& number) {
  if (number.dtype.is_float()) return format("{}", number.f);
  if (number.dtype == u64) return format("{}", static_cast<uint64_t>(number.i));
  return format("{}", number.i);
}

bool fits(DType dtype, const ir::Const& number) {
  if (number.dtype.is_float()) return can_hold(dtype, number.f);
  if (number.dtype == u64) return dtype == u64 || can_hold(dtype, std::ldexp(1., 63));
  return can_hold(dtype, number.i);
}

/// A number in a type that it fits, rounded as a cast rounds.
ir::Expr number_as(DType dtype, const ir::Const& number, SourceLoc where) {
  if (!dtype.is_float()) {
    const bool from_float = number.dtype.is_float();
    return ir::int_const(dtype, from_float ? static_cast<int64_t>(number.f) : number.i, where);
  }
  const uint64_t bits = number.dtype.is_float() ? encode(number.f, dtype)
                        : number.dtype == u64   ? encode(static_cast<uint64_t>(number.i), dtype)
                                                : encode(number.i, dtype);
  return ir::float_const(dtype, decode(bits, dtype), where);
}

}  // namespace

ir::Expr with_type(const Site& site, const Expr& value, DType dtype) {
  if (value.dtype() == dtype && !value.is_number()) return value.ir();
  if (!value.is_number()) {
    throw Error(codes::type_02, site.where, "{}: a value of {} where {} is needed", site.name,
                value.dtype(), dtype)
        .help("write cast(..., {})", dtype);
  }
  const auto& number = value.ir().as<ir::Const>();
  if (fits(dtype, number)) return number_as(dtype, number, value.ir().loc());
  Error error(codes::type_03, site.where, "{}: the number {} does not fit {}", site.name,
              number_text(number), dtype);
  if (dtype.is_int() && number.dtype.is_float() && std::trunc(number.f) != number.f) {
    error.help("cast the other operand to a float type first");
  } else {
    error.help("cast the other operand to a wider type first");
  }
  throw error;
}

std::vector<ir::Expr> promoted(const Site& site, const std::vector<Expr>& values) {
  std::optional<DType> type;
  for (const Expr& v : values) {
    if (v.is_number()) continue;
    const auto next = type ? promote(*type, v.dtype()) : promote(v.dtype(), v.dtype());
    if (!next) {
      throw Error(codes::type_02, site.where, "{}: operands are {} and {}, neither holds the other",
                  site.name, *type, v.dtype())
          .help("cast one of them, or both to f32");
    }
    type = next;
  }
  if (!type) {  // numbers alone: as wide as they are, so that folding loses nothing
    for (const Expr& v : values) {
      const DType own = v.dtype() == f64 ? f32 : v.dtype();
      type = type ? promote(*type, own) : own;
    }
  }
  std::vector<ir::Expr> result;
  for (const Expr& v : values) {
    result.push_back(v.is_number() ? with_type(site, v, *type) : ir::cast(*type, v.ir()));
  }
  return result;
}

ir::Expr as_index(const Site& site, const Expr& value) {
  if (value.is_number()) return with_type(site, value, i64);
  if (!value.dtype().is_int() || value.dtype().lanes != 1) {
    throw Error(codes::type_06, site.where, "{}: an index is {}, it must be an integer", site.name,
                value.dtype())
        .help("write cast(..., i64)");
  }
  return ir::cast(i64, value.ir());
}

ir::Expr as_stored(const Site& site, const Expr& value, DType dtype) {
  if (value.is_number()) return with_type(site, value, dtype);
  if (cast_error(value.dtype(), dtype).text[0] != 0) {
    throw Error(codes::copy_03, site.where, "{}: no conversion from {} to {}", site.name,
                value.dtype(), dtype)
        .help("cast to f32 first");
  }
  return ir::cast(dtype, value.ir());
}

ir::Expr as_condition(const Site& site, const Expr& value) {
  const DType dtype = value.dtype();
  if (dtype.is_bool()) return value.ir();
  if (!dtype.is_int()) {
    throw Error(codes::flow_04, site.where,
                "{}: the condition is {}, it must be bool or an integer", site.name, dtype)
        .help("compare it, as in x != 0");
  }
  if (const auto known = ir::as_int(value.ir())) return ir::bool_const(*known != 0);
  return ir::op(OpCode::ne, bool_, {value.ir(), ir::zero(dtype)}, site.where);
}

namespace {

[[noreturn]] void not_available(const Site& site, DType dtype, const std::string& remedy) {
  throw Error(codes::type_06, site.where, "{}: not available on {}", site.name, dtype)
      .help("{}", remedy);
}

/// Checks that the operation exists on the type in which it would compute.
void check_class(const Site& site, OpClass op_class, DType dtype) {
  switch (op_class) {
    case OpClass::arithmetic:
      if (dtype.is_bool()) not_available(site, dtype, "cast to an integer first, or use && and ||");
      break;
    case OpClass::float_math:
    case OpClass::test:
      if (!dtype.is_float()) not_available(site, dtype, "cast to a float type first");
      break;
    case OpClass::integer:
      if (dtype.is_float()) not_available(site, dtype, "reinterpret the bits with bitcast first");
      break;
    case OpClass::logic:
      if (!dtype.is_bool()) not_available(site, dtype, "compare it first, as in x != 0");
      break;
    case OpClass::compare:
    case OpClass::choice:
    case OpClass::reinterpret:
    case OpClass::dot:  // of the compiler's own
      break;
  }
}

bool divides(OpCode code) {
  return code == OpCode::truncdiv || code == OpCode::truncmod || code == OpCode::floordiv ||
         code == OpCode::floormod;
}

/// What stands for an operation on integers: a constant, or the operand that a neutral element
/// leaves. Null otherwise. Index arithmetic stays readable this way; the rest is for `simplify`.
ir::Expr folded(const ir::Expr& expr) {
  const auto& op = expr.as<ir::Op>();
  if (op.args.size() > 2 || op.args[0].dtype().is_float()) return {};
  if (const ir::Expr value = ir::fold(expr)) return value;
  const ir::Expr &left = op.args[0], &right = op.args.back();
  const auto a = ir::as_int(left), b = ir::as_int(right);
  switch (op.code) {
    case OpCode::add:
      return b == 0 ? left : a == 0 ? right : ir::Expr();
    case OpCode::sub:
      return b == 0 ? left : ir::Expr();
    case OpCode::mul:
      return b == 1 ? left : a == 1 ? right : ir::Expr();
    case OpCode::truncdiv:
    case OpCode::floordiv:
      return b == 1 ? left : ir::Expr();
    case OpCode::land:
      return a == 1 ? right : a == 0 || b == 1 ? left : ir::Expr();
    case OpCode::lor:
      return a == 0 ? right : a == 1 || b == 0 ? left : ir::Expr();
    default:
      return {};
  }
}

}  // namespace

Expr element_op(const Site& site, OpCode code, const std::vector<Expr>& args,
                ir::Exactness exactness, Rounding rounding) {
  const OpClass op_class = ir::op_row(code).op_class;
  const bool chooses = op_class == OpClass::choice;
  std::vector<ir::Expr> operands;
  if (chooses) {
    operands = promoted(site, {args.begin() + 1, args.end()});
    operands.insert(operands.begin(), as_condition(site, args[0]));
  } else if (op_class == OpClass::logic) {
    for (const Expr& a : args) operands.push_back(as_condition(site, a));
  } else if (op_class == OpClass::integer) {
    for (const Expr& a : args) {
      if (!a.is_number()) check_class(site, op_class, a.dtype());
    }
    operands = promoted(site, args);
  } else {
    operands = promoted(site, args);
  }
  const DType type = operands.back().dtype();
  check_class(site, op_class, type);
  if (code == OpCode::byte_permute && type.bits() != 32) {
    not_available(site, type, "cast to u32 first");
  }
  if (divides(code) && ir::is_int(operands[1], 0)) {
    throw Error(codes::type_04, site.where, "{}: division by the constant 0", site.name);
  }
  const bool gives_bool =
      op_class == OpClass::compare || op_class == OpClass::test || op_class == OpClass::logic;
  const DType result = gives_bool ? DType(Scalar::boolean, type.lanes) : type;
  const bool numbers = std::ranges::all_of(args, &Expr::is_number);
  const ir::Expr made = ir::make<ir::Op>(site.where, [&](ir::Op& n) {
    n.code = code;
    n.dtype = result;
    n.args = operands;
    n.exactness = exactness;
    n.rounding = rounding;
  });
  const ir::Expr known = folded(made);
  if (!known) return Expr(made);
  return Expr(known, numbers && known.is<ir::Const>());
}

}  // namespace lang
}  // namespace tw
