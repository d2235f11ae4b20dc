// Expressions of the text variant.
#include <bit>
#include <charconv>
#include <limits>

#include "tilewright/ir/parser.h"

namespace tw::ir {
namespace {

/// Nothing takes its type from a bool's place: its literals are words.
std::optional<DType> number_type(std::optional<DType> wanted) {
  return wanted && wanted->is_bool() ? std::nullopt : wanted;
}

std::optional<uint64_t> unsigned_value(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

template <class F>
std::optional<double> real_value(std::string_view digits) {
  F value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> float_value(const std::string& text, DType dtype) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text.starts_with("nan:")) {
    const auto bits = unsigned_value(std::string_view(text).substr(4));
    if (!bits || std::bit_cast<double>(*bits) == std::bit_cast<double>(*bits)) return std::nullopt;
    return std::bit_cast<double>(*bits);
  }
  if (text.starts_with("0x")) return std::nullopt;
  return dtype.scalar == Scalar::f32 ? real_value<float>(text) : real_value<double>(text);
}

/// The literal's bits, if the type has that value.
std::optional<int64_t> int_value(const std::string& text, bool negative, DType dtype) {
  const auto magnitude = unsigned_value(text);
  if (!magnitude) return std::nullopt;
  const int bits = dtype.bits() / dtype.lanes;
  uint64_t limit =
      dtype.is_unsigned_int() ? ~uint64_t{0} >> (64 - bits) : (uint64_t{1} << (bits - 1)) - 1;
  if (negative) limit = dtype.is_unsigned_int() ? 0 : limit + 1;
  if (*magnitude > limit) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

}  // namespace

Expr Parser::number(const Token& number, bool negative, DType dtype) {
  const std::string written = (negative ? "-" : "") + number.text;
  if (dtype.is_float()) {
    const auto value = float_value(number.text, dtype);
    if (!value) fail(number, format("{} is not a value of {}", written, dtype));
    return make_expr<Const>([&](Const& n) {
      n.dtype = dtype;
      n.f = negative ? -*value : *value;
    });
  }
  if (number.kind != Token::integer) {
    fail(number, format("expected a literal of {}, found {}", dtype, written));
  }
  const auto value = int_value(number.text, negative, dtype);
  if (!value) fail(number, format("{} is not a value of {}", written, dtype));
  return make_expr<Const>([&](Const& n) {
    n.dtype = dtype;
    n.i = *value;
  });
}

Expr Parser::settle(Operand& operand, Wanted wanted) {
  if (!operand.expr) {
    const DType alone = operand.number.kind == Token::integer ? i64 : f32;
    operand.expr = number(operand.number, operand.negative, number_type(wanted).value_or(alone));
  }
  return operand.expr;
}

Expr Parser::expr(Wanted wanted) {
  Operand operand = infix(1, number_type(wanted));
  return settle(operand, wanted);
}

Parser::Operand Parser::infix(int precedence, Wanted wanted) {
  Operand left = prefix(wanted);
  for (;;) {
    const syntax::Infix* sign =
        token().kind == Token::sign ? syntax::infix_named(token().text) : nullptr;
    if (sign == nullptr || sign->precedence < precedence) return left;
    take();
    Operand right =
        infix(sign->precedence + 1, syntax::alike_result(sign->code) ? wanted : Wanted());
    left = operation(sign->code, {std::move(left), std::move(right)}, wanted, {});
    if (sign->precedence == syntax::kCompare && token().kind == Token::sign) {
      const syntax::Infix* next = syntax::infix_named(token().text);
      if (next != nullptr && next->precedence == syntax::kCompare) {
        fail(token(), "comparisons do not chain; write brackets");
      }
    }
  }
}

/// A node over operands. Bare literals among the like ones take the type of the result, or of the
/// first operand that is no literal.
Parser::Operand Parser::operation(OpCode code, std::vector<Operand> operands, Wanted wanted,
                                  const Variant& variant) {
  const size_t first = syntax::first_alike(code);
  Wanted alike = syntax::alike_result(code) ? number_type(wanted) : Wanted();
  for (size_t i = first; i < operands.size() && !alike; ++i) {
    if (!operands[i].literal) alike = operands[i].expr.dtype();
  }
  Operand result;
  std::vector<Expr> args;
  for (size_t i = 0; i < operands.size(); ++i) {
    args.push_back(settle(operands[i], i < first ? Wanted() : alike));
  }
  check_height(args);
  const Wanted dtype = variant.result ? variant.result : syntax::result_type(code, args);
  if (!dtype) fail_expected(format("the type of the result of {}", op_row(code).name));
  result.expr = make_expr<Op>([&](Op& n) {
    n.code = code;
    n.dtype = *dtype;
    n.args = std::move(args);
    n.exactness = variant.exactness;
    n.rounding = variant.rounding;
  });
  return result;
}

bool Parser::at_number() const {
  return token().kind == Token::integer || token().kind == Token::real || next_is("nan") ||
         next_is("inf");
}

Parser::Operand Parser::bare_number(bool negative) {
  Operand operand;
  operand.number = take();
  operand.negative = negative;
  operand.literal = true;
  if (operand.number.text == "nan" && token().text == ":" &&
      tokens_[at_ + 1].text.starts_with("0x")) {
    take();
    operand.number.text += ":" + take().text;
  }
  return operand;
}

Parser::Operand Parser::prefix(Wanted wanted) {
  const Nesting nesting(*this);
  if (accept("-")) {
    if (at_number()) return bare_number(true);
    return operation(OpCode::neg, {prefix(wanted)}, wanted, {});
  }
  if (accept("!")) return operation(OpCode::lnot, {prefix({})}, {}, {});
  if (accept("~")) return operation(OpCode::bit_not, {prefix(wanted)}, wanted, {});
  return primary(wanted);
}

Parser::Operand Parser::primary(Wanted wanted) {
  if (at_number()) return bare_number(false);
  const Mark since = mark();
  if (accept("(")) {
    Operand operand = infix(1, wanted);
    if (accept("@")) {
      settle(operand, wanted);
      place(since, location());
    }
    expect(")");
    return operand;
  }
  if (token().kind != Token::name) fail_expected("an expression");
  const Token name = take();
  if (name.text == "true" || name.text == "false") {
    Operand operand;
    operand.literal = true;
    operand.expr = make_expr<Const>([&](Const& n) {
      n.dtype = bool_;
      n.i = name.text == "true" ? 1 : 0;
    });
    return operand;
  }
  if (next_is("(") || next_is(".")) return call(name, wanted);
  return name_use(name, wanted);
}

Parser::Operand Parser::typed_literal(DType dtype) {
  expect("(");
  const bool negative = accept("-");
  if (!at_number())
    fail_expected(format("a literal of {} (a conversion is cast(x, {}))", dtype, dtype));
  Operand operand = bare_number(negative);
  operand.expr = number(operand.number, negative, dtype);
  expect(")");
  return operand;
}

Parser::Operand Parser::call(const Token& name, Wanted wanted) {
  if (const auto dtype = syntax::dtype_word(name.text); dtype && !dtype->is_bool()) {
    return typed_literal(*dtype);
  }
  if (name.text == "cast") return cast_call();
  const auto code = op_named(name.text);
  if (!code) fail(name, format("unknown operation '{}'", name.text));
  Variant variant;
  while (accept(".")) {
    if (accept("fast")) {
      variant.exactness = Exactness::fast;
    } else if (accept("ieee")) {
      variant.exactness = Exactness::ieee;
    } else {
      field(variant.rounding, {});
    }
  }
  expect("(");
  std::vector<Operand> operands;
  while (!next_is(")")) {
    const auto dtype = syntax::dtype_word(token().text);
    if (dtype && tokens_[at_ + 1].text == ")") {
      variant.result = dtype;
      take();
      break;
    }
    const bool alike = syntax::alike_result(*code) && operands.size() >= syntax::first_alike(*code);
    operands.push_back(infix(1, alike ? wanted : Wanted()));
    if (!accept(",")) break;
  }
  const Token close = token();
  expect(")");
  if (operands.size() != static_cast<size_t>(op_row(*code).operands)) {
    fail(close, format("{} has {} operands, found {}", name.text, op_row(*code).operands,
                       operands.size()));
  }
  return operation(*code, std::move(operands), wanted, variant);
}

Parser::Operand Parser::cast_call() {
  auto node = std::make_unique<Cast>();
  expect("(");
  node->value = expr({});
  Operand result;
  expect(",");
  field(node->dtype, {});
  while (accept(",")) {
    if (accept("rounding")) {
      expect("=");
      field(node->rounding, {});
    } else if (accept("saturate")) {
      expect("=");
      field(node->saturate, {});
    } else if (accept("rbits")) {
      expect("=");
      node->rbits = expr(u32);
    } else {
      fail_expected("rounding, saturate or rbits");
    }
  }
  expect(")");
  check_height({node->value, node->rbits});
  measure(*node);
  result.expr = Expr(node.release());
  fresh_exprs_.push_back(result.expr);
  return result;
}

void Parser::check_height(const std::vector<Expr>& operands) const {
  for (const Expr& e : operands) {
    if (e && e->height >= kMaxHeight) {
      fail(token(), format("more than {} operations on top of each other", kMaxHeight));
    }
  }
}

std::vector<Expr> Parser::indices() {
  std::vector<Expr> list;
  while (!next_is("]")) {
    list.push_back(expr(i64));
    if (!accept(",")) break;
  }
  expect("]");
  return list;
}

Parser::Operand Parser::name_use(const Token& name, Wanted wanted) {
  Operand result;
  const Name* known = find(name.text);
  const bool indexed = next_is("[") || next_is("![");
  if (known == nullptr && !indexed && options_.infer_free) {
    const Var var = Var::make(name.text, number_type(wanted).value_or(i64));
    scopes_.front()[name.text] = {var, {}};
    result.expr = var;
    return result;
  }
  if (known != nullptr && known->var) {
    if (indexed) fail(name, format("'{}' is a value, it has no elements", name.text));
    result.expr = known->var;
    return result;
  }
  auto node = std::make_unique<Load>();
  node->unchecked = accept("![");
  if (node->unchecked || accept("[")) {
    node->indices = indices();
  }
  check_height(node->indices);
  measure(*node);
  node->buffer = buffer_named(name, node->indices.size());
  node->dtype = node->buffer.dtype();
  result.expr = Expr(node.release());
  fresh_exprs_.push_back(result.expr);
  return result;
}

}  // namespace tw::ir
