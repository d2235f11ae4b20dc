// Patterns of rewrite rules: how they are made, and numbers among them.
#include <algorithm>

#include "tilewright/pass/rules.h"

namespace tw::pass {

using ir::OpCode;

Pattern::Pattern(Kind kind, int slot) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->slot = slot;
  node->is_number = kind != Kind::wildcard;
  node_ = std::move(node);
}

Pattern::Pattern(int literal) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::integer;
  node->integer = literal;
  node_ = std::move(node);
}

Pattern::Pattern(double literal) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::real;
  node->real = literal;
  node_ = std::move(node);
}

Pattern Pattern::operation(OpCode code, std::vector<Pattern> args) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::operation;
  node->code = code;
  node->is_number =
      std::all_of(args.begin(), args.end(), [](const Pattern& arg) { return arg.is_number(); });
  node->args = std::move(args);
  Pattern p(0);
  p.node_ = std::move(node);
  return p;
}

std::optional<int64_t> number_of(const Pattern& p, const Numbers& numbers, int width) {
  switch (p.kind()) {
    case Pattern::Kind::constant:
      return numbers[static_cast<size_t>(p.slot())];
    case Pattern::Kind::integer:
      return p.integer();
    case Pattern::Kind::width:
      return width;
    case Pattern::Kind::operation:
      break;
    default:
      return std::nullopt;
  }
  if (p.args().size() != 2) return std::nullopt;
  const auto first = number_of(p.args()[0], numbers, width);
  const auto second = number_of(p.args()[1], numbers, width);
  if (!first || !second) return std::nullopt;
  const int64_t a = *first, b = *second;
  int64_t result = 0;
  bool overflows = false;
  switch (p.code()) {
    case OpCode::add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case OpCode::sub:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case OpCode::mul:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case OpCode::floordiv:
    case OpCode::floormod: {
      if (b == 0 || b == -1) return std::nullopt;
      const int64_t q = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      return p.code() == OpCode::floordiv ? q : a - q * b;
    }
    case OpCode::shl:
      overflows = a < 0 || b < 0 || b > 62 || a > (INT64_MAX >> b);
      if (!overflows) result = a << b;
      break;
    case OpCode::min:
      return std::min(a, b);
    case OpCode::max:
      return std::max(a, b);
    case OpCode::bit_and:
      return a & b;
    case OpCode::bit_or:
      return a | b;
    case OpCode::bit_xor:
      return a ^ b;
    case OpCode::eq:
      return a == b;
    case OpCode::ne:
      return a != b;
    case OpCode::lt:
      return a < b;
    case OpCode::le:
      return a <= b;
    case OpCode::gt:
      return a > b;
    case OpCode::ge:
      return a >= b;
    case OpCode::land:
      return a != 0 && b != 0;
    default:
      return std::nullopt;
  }
  return overflows ? std::nullopt : std::optional(result);
}

}  // namespace tw::pass
