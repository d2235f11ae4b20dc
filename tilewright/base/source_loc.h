// Where in the author's code a construct was written: a file and a line, as a plain value.
#pragma once

#include <string>
#include <string_view>

namespace tw {

/// File and line of the author's call. Filled by default arguments:
/// `void f(SourceLoc where = SourceLoc::here())`. The file name lives for the whole process
/// (`__builtin_FILE` or `intern`). It takes no part in equality, hashes or cache keys of IR.
struct SourceLoc {
  const char* file = nullptr;
  int line = 0;

  static constexpr SourceLoc here(const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
    return {file, line};
  }
  /// A location whose file name is kept by the process, for parsers and bindings.
  static SourceLoc intern(std::string_view file, int line);

  bool known() const { return file != nullptr; }
  /// `rms_norm.cpp:41`: the last part of the path; empty when unknown.
  std::string text() const;
};

}  // namespace tw
