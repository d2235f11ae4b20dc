// Errors: `Error` is what the user can mend, `InternalError` a bug of ours. Both print as
//   file:line: error[E-GEMM-02]: gemm: K is 128 in a but 64 in b
//     note: a is q [64, 128] bf16 in shared
//     help: b looks transposed: write gemm(c, a, transpose(b))
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/base/format.h"
#include "tilewright/base/source_loc.h"

namespace tw {

/// A stable diagnostic code, for example "E-GEMM-02"; empty where the catalogue has none.
/// The constants are in base/codes.h.
struct Code {
  const char* text = "";
  friend bool operator==(const Code& a, const Code& b) {
    return std::string_view(a.text) == b.text;
  }
};

/// Something the user can mend: a bad argument, an unsupported combination, a device fault.
class Error : public std::exception {
 public:
  template <class... Args>
  Error(Code code, SourceLoc where, fmt::format_string<Args...> text, Args&&... args)
      : Error(Plain{}, code, where, tw::format(text, std::forward<Args>(args)...)) {}

  struct Plain {};
  Error(Plain, Code code, SourceLoc where, std::string message);

  template <class... Args>
  Error& note(fmt::format_string<Args...> text, Args&&... args) {
    return add_line("note: ", tw::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  Error& help(fmt::format_string<Args...> text, Args&&... args) {
    return add_line("help: ", tw::format(text, std::forward<Args>(args)...));
  }

  Code code() const { return code_; }
  SourceLoc where() const { return where_; }
  /// The message without position, code and notes.
  const std::string& message() const { return message_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// The whole text, as printed above.
  const char* what() const noexcept override { return whole_.c_str(); }

 private:
  Error& add_line(const char* label, std::string text);

  Code code_;
  SourceLoc where_;
  std::string message_;
  std::vector<std::string> notes_;
  std::string whole_;
};

/// A bug in tilewright itself. Users never see it as the answer to their own mistake.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throw_internal(const char* condition, SourceLoc where, const std::string& text);

}  // namespace tw

/// Raises `Error` (without a code) unless the condition holds: for checks of
/// a function's arguments.
#define TW_REQUIRE(condition, ...)                                                     \
  do {                                                                                 \
    if (!(condition)) throw ::tw::Error(::tw::Code{}, ::tw::SourceLoc{}, __VA_ARGS__); \
  } while (false)

/// Raises `InternalError` unless the condition holds.
#define TW_CHECK(condition, ...)                                                            \
  do {                                                                                      \
    if (!(condition))                                                                       \
      ::tw::throw_internal(#condition, ::tw::SourceLoc::here(), ::tw::format(__VA_ARGS__)); \
  } while (false)
