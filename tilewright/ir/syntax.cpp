#include "tilewright/ir/syntax.h"

#include <array>
#include <bit>
#include <cmath>

namespace tw::ir::syntax {
namespace {

constexpr std::array kInfix = {
    Infix{OpCode::lor, "||", 1},     Infix{OpCode::land, "&&", 2},
    Infix{OpCode::eq, "==", 3},      Infix{OpCode::ne, "!=", 3},
    Infix{OpCode::lt, "<", 3},       Infix{OpCode::le, "<=", 3},
    Infix{OpCode::gt, ">", 3},       Infix{OpCode::ge, ">=", 3},
    Infix{OpCode::bit_or, "|", 4},   Infix{OpCode::bit_xor, "^", 5},
    Infix{OpCode::bit_and, "&", 6},  Infix{OpCode::shl, "<<", 7},
    Infix{OpCode::shr, ">>", 7},     Infix{OpCode::add, "+", 8},
    Infix{OpCode::sub, "-", 8},      Infix{OpCode::mul, "*", 9},
    Infix{OpCode::fdiv, "/", 9},     Infix{OpCode::floordiv, "//", 9},
    Infix{OpCode::floormod, "%", 9},
};

const std::vector<std::string>& reserved_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> list = {"alloc", "view", "var",  "given", "with", "in",
                                     "of",    "else", "true", "false", "nan",  "inf"};
#define TW_WORD(type) list.push_back(first_word<type>());
    TW_STMT_NODES(TW_WORD)
#undef TW_WORD
    for (int i = 0; i <= static_cast<int>(MemSpace::reducer); ++i) {
      list.emplace_back(enum_name(static_cast<MemSpace>(i)));
    }
    return list;
  }();
  return words;
}

/// The shortest text that reads back as the value, with a point or an exponent.
std::string float_digits(DType dtype, double value) {
  constexpr uint64_t kQuietNan = 0x7ff8000000000000;
  const auto bits = std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) return bits == kQuietNan ? "nan" : format("nan:{:#x}", bits);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const auto single = static_cast<float>(value);
  std::string text = dtype.scalar == Scalar::f32 && static_cast<double>(single) == value
                         ? format("{}", single)
                         : format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

}  // namespace

const Infix* infix_of(OpCode code) {
  for (const Infix& infix : kInfix) {
    if (infix.code == code) return &infix;
  }
  return nullptr;
}
const Infix* infix_named(std::string_view text) {
  for (const Infix& infix : kInfix) {
    if (infix.text == text) return &infix;
  }
  return nullptr;
}
char prefix_of(OpCode code) {
  switch (code) {
    case OpCode::neg:
      return '-';
    case OpCode::lnot:
      return '!';
    case OpCode::bit_not:
      return '~';
    default:
      return 0;
  }
}

std::optional<DType> result_type(OpCode code, const std::vector<Expr>& args) {
  switch (op_row(code).op_class) {
    case OpClass::compare:
    case OpClass::logic:
    case OpClass::test:
      return bool_;
    case OpClass::reinterpret:
      return std::nullopt;
    default: {
      const size_t i = first_alike(code);
      if (i >= args.size()) return std::nullopt;
      return args[i].dtype();
    }
  }
}

bool alike_result(OpCode code) {
  switch (op_row(code).op_class) {
    case OpClass::arithmetic:
    case OpClass::float_math:
    case OpClass::integer:
    case OpClass::choice:
      return true;
    default:
      return false;
  }
}

std::string literal_text(const Const& literal, std::optional<DType> wanted) {
  const DType dtype = literal.dtype;
  if (dtype.is_bool()) return literal.i != 0 ? "true" : "false";
  std::string digits = dtype.is_float() ? float_digits(dtype, literal.f)
                       : dtype.scalar == Scalar::u64
                           ? format("{}", static_cast<uint64_t>(literal.i))
                           : format("{}", literal.i);
  const DType alone = dtype.is_float() ? f32 : i64;
  if (dtype == wanted.value_or(alone)) return digits;
  return format("{}({})", dtype, digits);
}

bool is_reserved(std::string_view word) {
  for (const std::string& reserved : reserved_words()) {
    if (reserved == word) return true;
  }
  return dtype_word(word).has_value();
}

std::optional<DType> dtype_word(std::string_view word) {
  const auto dtype = parse_dtype(word);
  if (dtype && to_text(*dtype) == word) return dtype;
  return std::nullopt;
}

std::vector<Piece> split_form(std::string_view form, std::string_view node_name) {
  std::vector<Piece> list;
  if (form.empty()) {  // the node's name in snake case
    Piece piece;
    for (const char c : node_name) {
      if (c >= 'A' && c <= 'Z') {
        if (!piece.text.empty()) piece.text += '_';
        piece.text += static_cast<char>(c - 'A' + 'a');
      } else {
        piece.text += c;
      }
    }
    return {piece};
  }
  int part = 0, parts = 0;
  while (!form.empty()) {
    if (form[0] == '[' || form[0] == ']') {
      part = form[0] == '[' ? ++parts : 0;
      form.remove_prefix(1);
      continue;
    }
    Piece piece;
    piece.part = part;
    if (form[0] == '{') {
      const size_t end = form.find('}');
      const std::string_view name = form.substr(1, end - 1);
      const size_t in = name.find(" in ");
      piece.field = name.substr(0, in);
      if (in != name.npos) piece.paired = name.substr(in + 4);
      form.remove_prefix(end + 1);
    } else {
      const size_t end = form.find_first_of("{[]");
      piece.text = form.substr(0, end);
      form.remove_prefix(end == form.npos ? form.size() : end);
    }
    list.push_back(std::move(piece));
  }
  return list;
}

}  // namespace tw::ir::syntax
