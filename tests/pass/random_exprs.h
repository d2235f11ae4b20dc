// Random integer expressions and their values, for tests of what passes conclude about them.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/sim/element.h"

namespace tw::testing {

using Values = std::map<ir::Var, uint64_t, ir::ById>;  // bits

/// The value of an expression without loads, as the interpreter computes it.
inline uint64_t evaluate(const ir::Expr& e, const Values& values) {
  if (const auto* c = e.try_as<ir::Const>()) {
    return c->dtype.is_float() ? encode(c->f, c->dtype) : encode(c->i, c->dtype);
  }
  if (e.is<ir::VarNode>()) return values.at(ir::Var::of(e));
  if (const auto* cast = e.try_as<ir::Cast>()) {
    return convert_bits(evaluate(cast->value, values), cast->value.dtype(), cast->dtype,
                        cast->rounding, cast->saturate);
  }
  const auto& op = e.as<ir::Op>();
  std::vector<uint64_t> args(3, 0);
  for (size_t i = 0; i < op.args.size(); ++i) args[i] = evaluate(op.args[i], values);
  return sim::element_function(op.code, op.args[0].dtype(), op.exactness, op.rounding)(
      args[0], args[1], args[2]);
}

/// Makes expressions of one integer type over given variables.
class RandomExprs {
 public:
  RandomExprs(uint64_t seed, DType dtype, std::vector<ir::Expr> leaves)
      : random_(seed), dtype_(dtype), leaves_(std::move(leaves)) {}

  int64_t number(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random_);
  }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(number(0, static_cast<int64_t>(list.size()) - 1))];
  }
  ir::Expr constant() {
    static const std::vector<int64_t> kUsual{0, 1, 2, 3, 4, 6, 8, 12, 16};
    const int64_t c = one_of(kUsual);
    return ir::int_const(dtype_, number(0, 9) == 0 ? -c : c);
  }
  ir::Expr integer(int depth) {
    using ir::OpCode;
    if (depth == 0) return number(0, 3) == 0 ? constant() : one_of(leaves_);
    const auto binary = [&](OpCode code, const ir::Expr& right) {
      return ir::op(code, dtype_, {integer(depth - 1), right});
    };
    static const std::vector<OpCode> kSums{OpCode::add, OpCode::sub};
    static const std::vector<OpCode> kDivisions{OpCode::floordiv, OpCode::floormod,
                                                OpCode::truncdiv, OpCode::truncmod};
    static const std::vector<OpCode> kBits{OpCode::min, OpCode::max, OpCode::bit_and,
                                           OpCode::bit_or, OpCode::bit_xor};
    switch (number(0, 9)) {
      case 0:
        return integer(0);
      case 1:
      case 2:
      case 3:
        return binary(one_of(kSums), integer(depth - 1));
      case 4:
        return binary(OpCode::mul, constant());
      case 5:
      case 6:
        return binary(one_of(kDivisions), constant());
      case 7:
        return binary(number(0, 1) == 0 ? OpCode::mul : one_of(kDivisions), integer(depth - 1));
      case 8:
        return ir::op(OpCode::select, dtype_,
                      {condition(depth - 1), integer(depth - 1), integer(depth - 1)});
      default:
        return binary(one_of(kBits), integer(depth - 1));
    }
  }
  ir::Expr condition(int depth) {
    using ir::OpCode;
    static const std::vector<OpCode> kCompares{OpCode::lt, OpCode::le, OpCode::gt,
                                               OpCode::ge, OpCode::eq, OpCode::ne};
    static const std::vector<OpCode> kLogic{OpCode::land, OpCode::lor};
    const int64_t kind = depth == 0 ? 0 : number(0, 5);
    if (kind == 5) {
      return ir::op(one_of(kLogic), bool_, {condition(depth - 1), condition(depth - 1)});
    }
    if (kind == 4) return ir::op(OpCode::lnot, bool_, {condition(depth - 1)});
    return ir::op(one_of(kCompares), bool_,
                  {integer(depth), integer(static_cast<int>(number(0, depth)))});
  }

 private:
  std::mt19937_64 random_;
  DType dtype_;
  std::vector<ir::Expr> leaves_;
};

}  // namespace tw::testing
