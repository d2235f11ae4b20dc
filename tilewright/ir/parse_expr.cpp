// Expressions of the text variant.
#include "tilewright/ir/parser.h"

namespace tw::ir {
namespace {

/// Nothing takes its type from a bool's place: its literals are words.
std::optional<DType> number_type(std::optional<DType> wanted) {
  return wanted && wanted->is_bool() ? std::nullopt : wanted;
}

}  // namespace

// The stack of the parser is a list on the heap, so that texts may nest as deep as they like: what
// waits for an operand is in `open`, from the outside in.
//
// 1. `begin` reads what stands before an operand, opening it, up to an operand that is complete.
// 2. `continues` looks at what follows. A sign that binds stronger than what is open around the
//    operand, or a comma, makes that wait for another operand: back to 1.
// 3. Otherwise `close` ends the innermost that is open; what it gives is the next operand for 2.

Expr Parser::expr(Wanted wanted) {
  std::vector<Open> open(1);
  open[0].inner = number_type(wanted);
  for (;;) {
    Operand operand = begin(open);
    while (!continues(open, operand)) {
      if (open.size() == 1) return settle(operand, wanted);
      operand = close(open, std::move(operand));
    }
  }
}

Parser::Operand Parser::begin(std::vector<Open>& open) {
  for (;;) {
    const Wanted wanted = open.back().inner;
    const Mark since = mark();
    const auto prefix = [&](OpCode code, Wanted type) {
      open.push_back({.kind = Open::prefix, .wanted = type, .inner = type, .code = code});
    };
    if (accept("-")) {
      if (at_number()) return bare_number(true);
      prefix(OpCode::neg, wanted);
    } else if (accept("!")) {
      prefix(OpCode::lnot, {});
    } else if (accept("~")) {
      prefix(OpCode::bit_not, wanted);
    } else if (accept("(")) {
      open.push_back({.kind = Open::bracket, .inner = wanted, .since = since});
    } else if (at_number()) {
      return bare_number(false);
    } else {
      if (token().kind != Token::name) fail_expected("an expression");
      const Token name = take();
      const size_t outside = open.size();
      Operand operand = named(open, name);
      if (open.size() == outside) return operand;
    }
  }
}

/// What a name begins: a complete operand, or something that is now open.
Parser::Operand Parser::named(std::vector<Open>& open, const Token& name) {
  const Wanted wanted = open.back().inner;
  if (name.text == "true" || name.text == "false") return bool_literal(name);
  if (!next_is("(") && !next_is(".")) return name_use(open, name);
  if (const auto dtype = syntax::dtype_word(name.text); dtype && !dtype->is_bool()) {
    return typed_literal(*dtype);
  }
  if (name.text == "cast") {
    expect("(");
    open.push_back({.kind = Open::conversion, .cast = std::make_unique<Cast>()});
    return {};
  }
  const auto code = op_named(name.text);
  if (!code) fail(name, format("unknown operation '{}'", name.text));
  Open call = {.kind = Open::call, .wanted = wanted, .code = *code};
  while (accept(".")) {
    if (accept("fast")) {
      call.variant.exactness = Exactness::fast;
    } else if (accept("ieee")) {
      call.variant.exactness = Exactness::ieee;
    } else {
      field(call.variant.rounding, {});
    }
  }
  expect("(");
  if (!another_operand(call)) return end_call(call);
  open.push_back(std::move(call));
  return {};
}

bool Parser::continues(std::vector<Open>& open, Operand& operand) {
  Open& top = open.back();
  if (top.kind != Open::prefix) {
    const syntax::Infix* sign =
        token().kind == Token::sign ? syntax::infix_named(token().text) : nullptr;
    if (sign != nullptr && sign->precedence > top.precedence) {
      take();
      Open infix = {.kind = Open::infix, .wanted = top.inner, .code = sign->code};
      if (syntax::alike_result(sign->code)) infix.inner = top.inner;
      infix.precedence = sign->precedence;
      infix.operands.push_back(std::move(operand));
      open.push_back(std::move(infix));
      return true;
    }
  }
  switch (top.kind) {
    case Open::call:
      top.operands.push_back(std::move(operand));
      return accept(",") && another_operand(top);
    case Open::conversion:
      return cast_continues(top, operand);
    case Open::index:
      top.load->indices.push_back(settle(operand, i64));
      return accept(",") && !next_is("]");
    default:
      return false;
  }
}

Parser::Operand Parser::close(std::vector<Open>& open, Operand operand) {
  Open last = std::move(open.back());
  open.pop_back();
  switch (last.kind) {
    case Open::prefix:
      last.operands.push_back(std::move(operand));
      return operation(last.code, std::move(last.operands), last.wanted, {});
    case Open::infix:
      last.operands.push_back(std::move(operand));
      operand = operation(last.code, std::move(last.operands), last.wanted, {});
      if (last.precedence == syntax::kCompare && token().kind == Token::sign) {
        const syntax::Infix* next = syntax::infix_named(token().text);
        if (next != nullptr && next->precedence == syntax::kCompare) {
          fail(token(), "comparisons do not chain; write brackets");
        }
      }
      return operand;
    case Open::bracket:
      if (accept("@")) {
        settle(operand, last.inner);
        place(last.since, location());
      }
      expect(")");
      return operand;
    case Open::call:
      return end_call(last);
    case Open::conversion:
      expect(")");
      check_height({last.cast->value, last.cast->rbits});
      measure(*last.cast);
      return fresh(Expr(last.cast.release()));
    default:
      return end_load(last);
  }
}

// ---- operations ----

bool Parser::another_operand(Open& call) {
  if (next_is(")")) return false;
  const auto dtype = syntax::dtype_word(token().text);
  if (dtype && tokens_[at_ + 1].text == ")") {
    call.variant.result = dtype;
    take();
    return false;
  }
  const bool alike =
      syntax::alike_result(call.code) && call.operands.size() >= syntax::first_alike(call.code);
  call.inner = alike ? call.wanted : Wanted();
  return true;
}

Parser::Operand Parser::end_call(Open& call) {
  const Token close = token();
  expect(")");
  const OpRow& row = op_row(call.code);
  if (call.operands.size() != static_cast<size_t>(row.operands)) {
    fail(close,
         format("{} has {} operands, found {}", row.name, row.operands, call.operands.size()));
  }
  return operation(call.code, std::move(call.operands), call.wanted, call.variant);
}

/// Reads what follows the value of a cast, or its random word.
bool Parser::cast_continues(Open& open, Operand& operand) {
  Cast& cast = *open.cast;
  if (!cast.value) {
    cast.value = settle(operand, {});
    expect(",");
    field(cast.dtype, {});
  } else {
    cast.rbits = settle(operand, u32);
  }
  while (accept(",")) {
    if (accept("rounding")) {
      expect("=");
      field(cast.rounding, {});
    } else if (accept("saturate")) {
      expect("=");
      field(cast.saturate, {});
    } else if (accept("rbits")) {
      expect("=");
      open.inner = u32;
      return true;
    } else {
      fail_expected("rounding, saturate or rbits");
    }
  }
  return false;
}

Expr Parser::settle(Operand& operand, Wanted wanted) {
  if (!operand.expr) {
    const DType alone = operand.number.kind == Token::integer ? i64 : f32;
    operand.expr = number(operand.number, operand.negative, number_type(wanted).value_or(alone));
  }
  return operand.expr;
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

void Parser::check_height(const std::vector<Expr>& operands) const {
  for (const Expr& e : operands) {
    if (e && e->height >= kMaxHeight) {
      fail(token(),
           format("more than {} operations on top of each other; bind a part of them with let",
                  kMaxHeight));
    }
  }
}

// ---- names ----

Parser::Operand Parser::name_use(std::vector<Open>& open, const Token& name) {
  const Name* known = find(name.text);
  const bool indexed = next_is("[") || next_is("![");
  if (known == nullptr && !indexed && options_.infer_free) {
    const Var var = Var::make(name.text, number_type(open.back().inner).value_or(i64));
    scopes_.front()[name.text] = {var, {}};
    return {.expr = var};
  }
  if (known != nullptr && known->var) {
    if (indexed) fail(name, format("'{}' is a value, it has no elements", name.text));
    return {.expr = known->var};
  }
  Open element = {.kind = Open::index, .inner = i64, .name = name};
  element.load = std::make_unique<Load>();
  element.load->unchecked = accept("![");
  if (!element.load->unchecked && !accept("[")) return end_load(element);
  element.closes = true;
  if (next_is("]")) return end_load(element);
  open.push_back(std::move(element));
  return {};
}

Parser::Operand Parser::end_load(Open& element) {
  Load& load = *element.load;
  if (element.closes) expect("]");
  check_height(load.indices);
  measure(load);
  load.buffer = buffer_named(element.name, load.indices.size());
  load.dtype = load.buffer.dtype();
  return fresh(Expr(element.load.release()));
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

}  // namespace tw::ir
