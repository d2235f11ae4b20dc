// Constants: what operations on them give, with the element semantics of ir/element.h.
#include <array>

#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/element.h"
#include "tilewright/pass/simplify_expr.h"

namespace tw::pass {
namespace {

using ir::Expr;

ir::Bits bits_of(const ir::Const& c) {
  return c.dtype.is_float() ? encode(c.f, c.dtype) : encode(c.i, c.dtype);
}
/// The literal of a value, unless there is none: writing infinity in e5m2 saturates.
Expr constant_of(ir::Bits bits, DType dtype, SourceLoc where) {
  if (!dtype.is_float()) return ir::int_const(dtype, decode_int(bits, dtype), where);
  const double value = decode(bits, dtype);
  return same_value(encode(value, dtype), bits, dtype) ? ir::float_const(dtype, value, where)
                                                       : Expr();
}

/// Bits of the significand (with the leading one), and the exponents of the largest and of the
/// smallest value above 0.
struct FloatFormat {
  int digits, largest, smallest;
};
std::optional<FloatFormat> format_of(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::f16:
      return FloatFormat{11, 15, -24};
    case Scalar::bf16:
      return FloatFormat{8, 127, -133};
    case Scalar::f32:
      return FloatFormat{24, 127, -149};
    case Scalar::f64:
      return FloatFormat{53, 1023, -1074};
    case Scalar::e4m3:
      return FloatFormat{4, 8, -9};
    case Scalar::e5m2:
      return FloatFormat{3, 15, -16};
    case Scalar::e2m1:
      return FloatFormat{2, 2, -1};
    default:  // e8m0 has no zero, tf32 no bits of its own
      return std::nullopt;
  }
}

}  // namespace

Expr fold(const Expr& expr) {
  if (const auto* cast = expr.try_as<ir::Cast>()) {
    const auto* value = cast->value.try_as<ir::Const>();
    const auto* random = cast->rbits ? cast->rbits.try_as<ir::Const>() : nullptr;
    if (value == nullptr || (cast->rbits && random == nullptr) || cast->dtype.lanes != 1) return {};
    const auto word = random != nullptr ? static_cast<uint32_t>(random->i) : 0;
    return constant_of(convert_bits(bits_of(*value), value->dtype, cast->dtype, cast->rounding,
                                    cast->saturate, word),
                       cast->dtype, expr.loc());
  }
  const auto* op = expr.try_as<ir::Op>();
  if (op == nullptr || op->args.size() > 3 || op->dtype.lanes != 1) return {};
  std::array<ir::Bits, 3> args{};
  for (size_t i = 0; i < op->args.size(); ++i) {
    const auto* value = op->args[i].try_as<ir::Const>();
    if (value == nullptr || value->dtype.lanes != 1) return {};
    args[i] = bits_of(*value);
  }
  const ir::ElementFn function =
      ir::exact_function(op->code, op->args[0].dtype(), op->exactness, op->rounding);
  if (function == nullptr) return {};
  const ir::Bits bits = function(args[0], args[1], args[2]);
  // A literal doesn't say which NaN it is, but whoever writes a bit pattern may care.
  if (op->code == ir::OpCode::bitcast && op->dtype.is_float() && is_nan(bits, op->dtype)) return {};
  return constant_of(bits, op->dtype, expr.loc());
}

bool holds_every(DType from, DType to) {
  if (from == to) return true;
  if (from.lanes != 1 || to.lanes != 1 || to.is_bool()) return false;
  const auto a = format_of(from), b = format_of(to);
  if (from.is_bool()) return to.is_int() || b.has_value();
  if (from.is_int() && to.is_int()) {
    const int value_bits = from.bits() - (from.is_signed_int() ? 1 : 0);
    return value_bits <= to.bits() - (to.is_signed_int() ? 1 : 0) &&
           (to.is_signed_int() || from.is_unsigned_int());
  }
  if (!b) return false;
  if (from.is_int()) {
    return from.bits() - (from.is_signed_int() ? 1 : 0) <= b->digits && from.bits() <= b->largest;
  }
  return a && a->digits <= b->digits && a->largest <= b->largest && a->smallest >= b->smallest;
}

}  // namespace tw::pass
