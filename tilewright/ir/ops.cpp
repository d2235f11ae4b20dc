#include "tilewright/ir/ops.h"

#include <array>

namespace tw::ir {
namespace {

constexpr std::array kRows = {
#define TW_DECLARE(name, operands, op_class) \
  OpRow{OpCode::name, #name, operands, OpClass::op_class},
    TW_OPS(TW_DECLARE)
#undef TW_DECLARE
};

}  // namespace

const OpRow& op_row(OpCode code) { return kRows[static_cast<size_t>(code)]; }

std::optional<OpCode> op_named(std::string_view name) {
  for (const OpRow& row : kRows) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

bool is_commutative(OpCode code) {
  switch (code) {
    case OpCode::add:
    case OpCode::mul:
    case OpCode::min:
    case OpCode::max:
    case OpCode::min_nan:
    case OpCode::max_nan:
    case OpCode::mul_high:
    case OpCode::add_sat:
    case OpCode::hypot:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor:
    case OpCode::eq:
    case OpCode::ne:
      return true;
    default:
      return false;
  }
}

std::optional<OpCode> element_op(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return OpCode::add;
    case AtomicOp::max:
      return OpCode::max;
    case AtomicOp::min:
      return OpCode::min;
    case AtomicOp::bit_and:
      return OpCode::bit_and;
    case AtomicOp::bit_or:
      return OpCode::bit_or;
    case AtomicOp::bit_xor:
      return OpCode::bit_xor;
    case AtomicOp::wait_eq:
      return OpCode::eq;
    case AtomicOp::wait_ne:
      return OpCode::ne;
    case AtomicOp::wait_lt:
      return OpCode::lt;
    case AtomicOp::wait_le:
      return OpCode::le;
    case AtomicOp::wait_gt:
      return OpCode::gt;
    case AtomicOp::wait_ge:
      return OpCode::ge;
    default:
      return {};
  }
}

}  // namespace tw::ir
