// For tests of errors that tracing raises: whole messages, in which a position in the test reads
// `@`, once it has been checked to lie in the lines of the call.
#pragma once

#include <regex>

#include "tests/lang/lang_testing.h"

namespace tw {

inline std::string with_positions_marked(const std::string& message, int call) {
  static const std::regex position("[a-z_]+_test\\.cpp:([0-9]+)");
  constexpr int kLines = 25;
  std::string result;
  auto rest = message.begin();
  for (std::sregex_iterator m(message.begin(), message.end(), position), end; m != end; ++m) {
    const int line = std::stoi((*m)[1]);
    result.append(rest, message.begin() + m->position());
    result += std::abs(line - call) < kLines ? "@" : m->str();
    rest = message.begin() + m->position() + m->length();
  }
  return result.append(rest, message.end());
}

/// Expects that calling f raises an error with this whole text.
inline void expect_error(const std::function<void()>& f, const std::string& text,
                         int line = __builtin_LINE()) {
  SCOPED_TRACE("line " + std::to_string(line));
  EXPECT_EQ(with_positions_marked(error_of(f), line), text);
}

/// The same while a launch over the test tensors is traced.
inline void expect_trace_error(const std::function<void(const Tensors&)>& body,
                               const std::string& text, int line = __builtin_LINE()) {
  expect_error([&] { trace_tensors(body); }, text + "\n  note: while tracing test", line);
}
inline void expect_program_error(const std::function<void(Builder&)>& author,
                                 const std::string& text, int line = __builtin_LINE()) {
  expect_error([&] { program("test", author); }, text + "\n  note: while tracing test", line);
}

}  // namespace tw
