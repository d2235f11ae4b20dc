#include "tilewright/ir/lexer.h"

#include <array>

namespace tw::ir {
namespace {

constexpr std::array<std::string_view, 12> kLongSigns = {
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "//", "->", ":+", "!["};
constexpr std::string_view kSigns = "+-*/%&|^~!<>=()[]{},:;.@";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    for (;;) {
      skip_space();
      Token token;
      token.line = line_;
      token.column = static_cast<int>(at_ - line_start_) + 1;
      next(token);
      tokens_.push_back(token);
      if (token.kind == Token::end) return std::move(tokens_);
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip_space() {
    bool comment = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        comment = false;
        ++line_;
        line_start_ = at_ + 1;
      } else if (c == '#') {
        comment = true;
      } else if (!comment && c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  void next(Token& token) {
    const size_t begin = at_;
    if (at_ >= text_.size()) {
      token.kind = Token::end;
      return;
    }
    const char c = peek();
    if (is_letter(c)) {
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      token.kind = Token::name;
    } else if (is_digit(c)) {
      number(token);
    } else if (c == '"') {
      quoted(token);
      return;
    } else {
      sign(token);
    }
    token.text = std::string(text_.substr(begin, at_ - begin));
  }

  /// Digits, 0x and hexadecimal digits, or a decimal fraction with an exponent.
  void number(Token& token) {
    token.kind = Token::integer;
    if (peek() == '0' && peek(1) == 'x' && hex_value(peek(2)) >= 0) {
      at_ += 2;
      while (hex_value(peek()) >= 0) ++at_;
      return;
    }
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) {
      token.kind = Token::real;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (peek() == 'e' && is_digit(peek(1 + sign))) {
      token.kind = Token::real;
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
  }

  void quoted(Token& token) {
    token.kind = Token::string;
    ++at_;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') {
        throw text_error(text_, file_, token, "expected '\"' at the end of the string");
      }
      if (peek() != '\\') {
        token.text += text_[at_++];
        continue;
      }
      const char escape = peek(1);
      if (escape == 'n') {
        token.text += '\n';
      } else if (escape == '"' || escape == '\\') {
        token.text += escape;
      } else if (escape == 'x' && hex_value(peek(2)) >= 0 && hex_value(peek(3)) >= 0) {
        token.text += static_cast<char>(hex_value(peek(2)) * 16 + hex_value(peek(3)));
        at_ += 2;
      } else {
        throw text_error(text_, file_, token, "expected \\n, \\\", \\\\ or \\xHH in the string");
      }
      at_ += 2;
    }
    ++at_;
  }

  void sign(Token& token) {
    token.kind = Token::sign;
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view s : kLongSigns) {
      if (rest.starts_with(s)) {
        at_ += s.size();
        return;
      }
    }
    if (kSigns.find(rest[0]) == kSigns.npos) {
      const auto byte = static_cast<unsigned char>(rest[0]);
      throw text_error(text_, file_, token,
                       byte > 32 && byte < 127 ? format("unexpected '{}'", rest[0])
                                               : format("unexpected byte {:#04x}", byte));
    }
    ++at_;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Error text_error(std::string_view text, const std::string& file, const Token& where,
                 const std::string& message) {
  for (int line = 1; line < where.line; ++line) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  while (text.starts_with(' ')) text.remove_prefix(1);
  Error error(Code{}, SourceLoc::intern(file, where.line), "column {}: {}", where.column, message);
  if (!text.empty()) error.note("{}", text.substr(0, 100));
  return error;
}

std::vector<Token> split(std::string_view text, const std::string& file) {
  return Lexer(text, file).run();
}

}  // namespace tw::ir
