// Literals of the text variant.
#include <bit>
#include <charconv>
#include <limits>

#include "tilewright/ir/parser.h"

namespace tw::ir {
namespace {

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

Parser::Operand Parser::bool_literal(const Token& word) {
  Operand operand;
  operand.literal = true;
  operand.expr = make_expr<Const>([&](Const& n) {
    n.dtype = bool_;
    n.i = word.text == "true" ? 1 : 0;
  });
  return operand;
}

}  // namespace tw::ir
