// Expressions: index arithmetic keeps track of what lanes have in common, everything else is done
// on one element when all lanes agree and on vectors otherwise.
#include <numeric>

#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/backend/cpu/rules/arith.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cpu {
namespace {

using ir::Expr;
using ir::OpCode;

Offsets map_offsets(const Offsets& offsets, auto f) {
  std::vector<int64_t> next;
  for (const int64_t o : *offsets) next.push_back(f(o));
  return std::make_shared<const std::vector<int64_t>>(std::move(next));
}

/// A pattern whose lanes agree is a uniform value.
Value normalized(Value v) {
  const std::vector<int64_t>& o = *v.offsets;
  for (const int64_t offset : o) {
    if (offset != o[0]) return v;
  }
  v.multiple = std::gcd(v.multiple, o[0]);
  v.val = v.val + o[0];
  v.offsets = nullptr;
  return v;
}

/// Whether evaluating it costs little and can do no harm, so that a branch around
/// it isn't worth it.
bool is_cheap(const Expr& expr) {
  int nodes = 0;
  return !ir::contains(expr, [&](const Expr& e) {
    const auto* op = e.try_as<ir::Op>();
    const bool costly =
        op != nullptr &&
        (ir::op_row(op->code).op_class == ir::OpClass::float_math || ir::is_lazy(op->code));
    return e.is<ir::Load>() || costly || ++nodes > 8;
  });
}

}  // namespace

Value Emitter::value(const Expr& expr) {
  if (expr.is<ir::VarNode>()) {
    const auto found = vars_.find(ir::Var::of(expr));
    TW_CHECK(found != vars_.end(), "variable {} is used where it isn't bound",
             expr.as<ir::VarNode>().name);
    return found->second;
  }
  if (const auto* c = expr.try_as<ir::Const>()) return constant(*c);
  // A shared subexpression is evaluated once in a statement.
  for (const auto& scope : memo_) {
    if (const auto known = scope.find(expr); known != scope.end()) return known->second;
  }
  Value v = compute(expr);
  memo_.back()[expr] = v;
  return v;
}

Value Emitter::compute(const Expr& expr) {
  if (const auto* load = expr.try_as<ir::Load>()) return this->load(*load);
  if (const auto* cast = expr.try_as<ir::Cast>()) return conversion(*cast);
  return operation(expr.as<ir::Op>());
}

Value Emitter::condition(const Expr& cond) {
  if (cond.dtype().is_bool()) return value(cond);
  return value(ir::op(OpCode::ne, bool_, {cond, ir::zero(cond.dtype())}));
}

Val Emitter::scalar(const Value& v) const {
  TW_CHECK(v.uniform(), "a value that differs between lanes where one for all is needed");
  return v.val;
}

Val Emitter::uniform(const Expr& expr) { return scalar(value(expr)); }

Val Emitter::lanes(const Value& v, DType dtype) {
  if (v.varying || lanes_ == 1) return v.val;
  if (v.offsets) return splat(v.val, lanes_) + b_.constants(v.val.elem(), *v.offsets);
  if (dtype.lanes == 1) return splat(v.val, lanes_);
  std::vector<int> mask;  // a vector element is repeated whole
  for (int i = 0; i < element_lanes(dtype); ++i) mask.push_back(i % dtype.lanes);
  return pick_lanes(v.val, mask);
}

Value Emitter::constant(const ir::Const& c) {
  const DType dtype = c.dtype;
  const Elem elem = register_elem(dtype);
  if (!dtype.is_float()) return {.val = b_.constant(elem, c.i, dtype.lanes), .multiple = c.i};
  if (elem.kind == Elem::floating) {
    const double value = dtype.scalar == Scalar::tf32 ? decode(encode(c.f, tf32), tf32) : c.f;
    return {.val = b_.constant(elem, value, dtype.lanes)};
  }
  return {.val = b_.constant(elem, static_cast<int64_t>(encode(c.f, dtype)), dtype.lanes)};
}

Value Emitter::conversion(const ir::Cast& cast) {
  Value v = value(cast.value);
  const DType from = cast.value.dtype(), to = cast.dtype;
  if (from == to) return v;
  // Indices keep their pattern when widened: their arithmetic doesn't overflow.
  if (from.is_signed_int() && to.is_signed_int() && to.bits() > from.bits() && !v.varying) {
    v.val = sext(v.val, register_elem(to));
    return v;
  }
  const bool is_random = cast.rounding == Rounding::rs;
  if (is_random && to.lanes > 1) {
    throw Error(codes::tgt_03, cast.loc, "cast: {} is rounded at random lane by lane on cpu", to)
        .help("cast its elements");
  }
  const Value word = is_random ? value(cast.rbits) : Value{};
  Value result;
  result.varying = !v.uniform() || (is_random && !word.uniform());
  const auto all = [&](const Value& x, DType dtype) {
    return result.varying ? lanes(x, dtype) : scalar(x);
  };
  Conversion how{from, to, cast.rounding, cast.saturate};
  if (is_random) how.random = all(word, u32);
  result.val = convert(target_, all(v, from), how);
  return result;
}

Value Emitter::operation(const ir::Op& op) {
  if (ir::is_lazy(op.code)) return lazy(op);
  std::vector<Value> args;
  bool is_uniform = true;
  for (const Expr& arg : op.args) {
    args.push_back(value(arg));
    is_uniform = is_uniform && args.back().uniform();
  }
  if (args.size() == 2 && op.args[0].dtype().is_int()) {
    if (auto v = index_operation(op, args[0], args[1])) return *v;
  }
  std::vector<Val> vals;
  for (size_t i = 0; i < args.size(); ++i) {
    vals.push_back(is_uniform ? args[i].val : lanes(args[i], op.args[i].dtype()));
  }
  ir::Op how = op;
  const bool is_ieee = op.exactness == ir::Exactness::ieee;
  if (options_.fast_math && !is_ieee) how.exactness = ir::Exactness::fast;
  b_.flags.contract = options_.contract && !is_ieee;
  Value result{.val = apply(target_, how, op.args.back().dtype(), vals), .varying = !is_uniform};
  b_.flags.contract = false;
  return result;
}

/// Integer arithmetic that keeps a pattern, or knows a divisor of a uniform result.
std::optional<Value> Emitter::index_operation(const ir::Op& op, const Value& a, const Value& b) {
  if (a.varying || b.varying || op.dtype.lanes > 1) return std::nullopt;
  const bool patterns = a.offsets || b.offsets;
  switch (op.code) {
    case OpCode::add:
    case OpCode::sub: {
      const int64_t sign = op.code == OpCode::add ? 1 : -1;
      Value v{.val = sign > 0 ? a.val + b.val : a.val - b.val,
              .multiple = std::gcd(a.multiple, b.multiple)};
      if (!patterns) return v;
      if (!a.offsets) {
        v.offsets = map_offsets(b.offsets, [&](int64_t o) { return sign * o; });
      } else if (!b.offsets) {
        v.offsets = a.offsets;
      } else {
        size_t i = 0;
        v.offsets = map_offsets(a.offsets, [&](int64_t o) { return o + sign * (*b.offsets)[i++]; });
      }
      return normalized(v);
    }
    case OpCode::mul: {
      Value v{.val = a.val * b.val};
      if (__builtin_mul_overflow(a.multiple, b.multiple, &v.multiple)) v.multiple = 1;
      if (!patterns) return v;
      const auto factor = ir::as_int(op.args[a.offsets ? 1 : 0]);
      if (!factor) return std::nullopt;
      v.offsets =
          map_offsets(a.offsets ? a.offsets : b.offsets, [&](int64_t o) { return o * *factor; });
      return normalized(v);
    }
    case OpCode::floordiv:
    case OpCode::floormod: {
      const auto c = ir::as_int(op.args[1]);
      if (!c || *c <= 0 || !a.offsets || a.multiple % *c != 0) return std::nullopt;
      if (!op.dtype.is_signed_int()) return std::nullopt;
      const auto quotient = [&](int64_t o) { return floor_div(o, *c); };
      if (op.code == OpCode::floordiv) {
        return normalized({.val = sdiv(a.val, *c),
                           .offsets = map_offsets(a.offsets, quotient),
                           .multiple = a.multiple / *c});
      }
      return normalized(
          {.val = b_.zero(a.val.elem(), 1),
           .offsets = map_offsets(a.offsets, [&](int64_t o) { return o - quotient(o) * *c; }),
           .multiple = 0});
    }
    case OpCode::lt:
    case OpCode::le:
    case OpCode::gt:
    case OpCode::ge:
      return patterns ? compare_pattern(op, a, b) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// base + offset < bound as offset < bound - base on bytes, so that a mask costs one instruction.
std::optional<Value> Emitter::compare_pattern(const ir::Op& op, const Value& a, const Value& b) {
  constexpr int64_t kLimit = 100;
  const Value& pattern = a.offsets ? a : b;
  if ((a.offsets && b.offsets) || !op.args[0].dtype().is_signed_int()) return std::nullopt;
  for (const int64_t o : *pattern.offsets) {
    if (o < -kLimit || o > kLimit) return std::nullopt;
  }
  const Val room = (a.offsets ? b.val : a.val) - pattern.val;
  const Val clamped = smin(smax(room, -kLimit - 1), kLimit + 1);
  const Val offsets = b_.constants(kI8, *pattern.offsets);
  const Val bound = splat(trunc(clamped, kI8), lanes_);
  const bool turned = !a.offsets;  // bound op pattern
  const Val left = turned ? bound : offsets, right = turned ? offsets : bound;
  const Pred pred = op.code == OpCode::lt   ? Pred::slt
                    : op.code == OpCode::le ? Pred::sle
                    : op.code == OpCode::gt ? Pred::sgt
                                            : Pred::sge;
  return Value{.val = icmp(pred, left, right), .varying = true};
}

Value Emitter::lazy(const ir::Op& op) {
  const Value cond = value(op.args[0]);
  switch (op.code) {
    case OpCode::land:
      return choose(cond, op.args[1], ir::bool_const(false));
    case OpCode::lor:
      return choose(cond, ir::bool_const(true), op.args[1]);
    default:
      return choose(cond, op.args[1], op.args[2]);
  }
}

Value Emitter::choose(const Value& cond, const Expr& if_true, const Expr& if_false) {
  const DType dtype = if_true.dtype();
  if (!cond.uniform()) {
    const Val holds = lanes(cond, bool_);
    const auto side = [&](Val mask, const Expr& expr) {
      return under(mask, [&] { return lanes(value(expr), dtype); });
    };
    const Val a = side(holds, if_true), b = side(~holds, if_false);
    Val wide = holds;
    if (dtype.lanes > 1) {
      std::vector<int> mask;
      for (int i = 0; i < element_lanes(dtype); ++i) mask.push_back(i / dtype.lanes);
      wide = pick_lanes(holds, mask);
    }
    return {.val = select(wide, a, b), .varying = true};
  }
  if (is_cheap(if_true) && is_cheap(if_false)) {
    const Value a = value(if_true), b = value(if_false);
    if (a.uniform() && b.uniform()) return {.val = select(cond.val, a.val, b.val)};
    return {.val = select(cond.val, lanes(a, dtype), lanes(b, dtype)), .varying = true};
  }
  const Block true_block = b_.new_block("if_true"), false_block = b_.new_block("if_false");
  const Block exit = b_.new_block("chosen");
  b_.branch(cond.val, true_block, false_block);
  const auto side = [&](Block block, const Expr& expr) {
    b_.move_to(block);
    memo_.emplace_back();
    Value v = value(expr);
    memo_.pop_back();
    return std::pair(v, b_.here());
  };
  auto [a, a_end] = side(true_block, if_true);
  auto [b, b_end] = side(false_block, if_false);
  const bool varying = !a.uniform() || !b.uniform();
  const auto finish = [&](const Value& v, Block end) {
    b_.move_to(end);
    const Val val = varying ? lanes(v, dtype) : v.val;
    b_.branch(exit);
    return val;
  };
  const Val a_val = finish(a, a_end), b_val = finish(b, b_end);
  b_.move_to(exit);
  const Val phi = b_.phi(a_val.elem(), a_val.lanes());
  b_.add_incoming(phi, a_val, a_end);
  b_.add_incoming(phi, b_val, b_end);
  return {.val = phi, .varying = varying};
}

}  // namespace tw::cpu
