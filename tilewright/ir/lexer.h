// Splits the text form of IR into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/error.h"

namespace tw::ir {

struct Token {
  enum Kind { end, name, integer, real, string, sign };
  Kind kind = end;
  std::string text;  // of a string: its contents
  int line = 1, column = 1;
};

/// An error at a place in a text, with that line.
Error text_error(std::string_view text, const std::string& file, const Token& where,
                 const std::string& message);

/// All tokens; the last one is `end`. Throws `text_error`.
std::vector<Token> split(std::string_view text, const std::string& file);

}  // namespace tw::ir
