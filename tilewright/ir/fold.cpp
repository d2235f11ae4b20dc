#include "tilewright/ir/fold.h"

#include <array>

#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/element.h"

namespace tw::ir {
namespace {

Bits bits_of(const Const& c) {
  return c.dtype.is_float() ? encode(c.f, c.dtype) : encode(c.i, c.dtype);
}
/// The literal of a value, unless there is none: writing infinity in e5m2 saturates.
Expr constant_of(Bits bits, DType dtype, SourceLoc where) {
  if (!dtype.is_float()) return int_const(dtype, decode_int(bits, dtype), where);
  const double value = decode(bits, dtype);
  return same_value(encode(value, dtype), bits, dtype) ? float_const(dtype, value, where) : Expr();
}

}  // namespace

Expr fold(const Expr& expr) {
  if (const auto* cast = expr.try_as<Cast>()) {
    const auto* value = cast->value.try_as<Const>();
    const auto* random = cast->rbits ? cast->rbits.try_as<Const>() : nullptr;
    if (value == nullptr || (cast->rbits && random == nullptr) || cast->dtype.lanes != 1) return {};
    const auto word = random != nullptr ? static_cast<uint32_t>(random->i) : 0;
    return constant_of(convert_bits(bits_of(*value), value->dtype, cast->dtype, cast->rounding,
                                    cast->saturate, word),
                       cast->dtype, expr.loc());
  }
  const auto* op = expr.try_as<Op>();
  if (op == nullptr || op->args.size() > 3 || op->dtype.lanes != 1) return {};
  std::array<Bits, 3> args{};
  for (size_t i = 0; i < op->args.size(); ++i) {
    const auto* value = op->args[i].try_as<Const>();
    if (value == nullptr || value->dtype.lanes != 1) return {};
    args[i] = bits_of(*value);
  }
  const ElementFn function =
      exact_function(op->code, op->args[0].dtype(), op->exactness, op->rounding);
  if (function == nullptr) return {};
  const Bits bits = function(args[0], args[1], args[2]);
  // A literal doesn't say which NaN it is, but whoever writes a bit pattern may care.
  if (op->code == OpCode::bitcast && op->dtype.is_float() && is_nan(bits, op->dtype)) return {};
  return constant_of(bits, op->dtype, expr.loc());
}

}  // namespace tw::ir
