#include "tilewright/backend/cpu/rules/rounding.h"

#include <vector>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

using ir::OpCode;

const char* constrained_intrinsic(OpCode code) {
  switch (code) {
    case OpCode::add:
      return "llvm.experimental.constrained.fadd";
    case OpCode::sub:
      return "llvm.experimental.constrained.fsub";
    case OpCode::mul:
      return "llvm.experimental.constrained.fmul";
    case OpCode::fdiv:
    case OpCode::rcp:
      return "llvm.experimental.constrained.fdiv";
    case OpCode::fma:
      return "llvm.experimental.constrained.fma";
    case OpCode::sqrt:
      return "llvm.experimental.constrained.sqrt";
    default:
      throw Error(codes::type_07, {}, "ieee {}: only rn is available", ir::op_row(code).name);
  }
}

/// The number of a rounding mode in C's FLT_ROUNDS, which llvm.set.rounding takes.
int64_t mode_number(Rounding rounding) {
  return rounding == Rounding::rz ? 0 : rounding == Rounding::rp ? 2 : 3;
}
constexpr int64_t kNearest = 1;

}  // namespace

Val directed_op(OpCode code, Rounding rounding, std::span<const Val> args) {
  const Val like = args[0];
  const char* intrinsic = constrained_intrinsic(code);
  const std::string name =
      format("{}_{}_f{}x{}", ir::op_row(code).name, to_text(rounding), like.bits(), like.lanes());
  return like.builder().helper(name, args, [&](Builder& b, std::span<const Val> params) {
    std::vector<Val> operands(params.begin(), params.end());
    if (code == OpCode::rcp) {
      operands.insert(operands.begin(), b.constant(like.elem(), 1.0, like.lanes()));
    }
    b.set_rounding(mode_number(rounding));
    const Val result = b.constrained(intrinsic, operands);
    b.set_rounding(kNearest);
    return result;
  });
}

}  // namespace tw::cpu
