// What a compilation has to say to the author: warnings, and errors that are collected so that
// independent ones are reported together.
#pragma once

#include <string>
#include <vector>

#include "tilewright/base/error.h"

namespace tw {

/// One finding. Its text is that of an Error, with `warning` in the place of `error`:
///   rms_norm.cpp:12: warning[W-INIT-01]: t is read before it is written
struct Diagnostic {
  enum class Severity { warning, error };
  Severity severity = Severity::warning;
  Error finding;
};
std::string to_text(const Diagnostic& diagnostic);

class Diagnostics {
 public:
  /// Notes and help are added to what is returned, before the next finding is reported.
  template <class... Args>
  Error& warn(Code code, SourceLoc where, fmt::format_string<Args...> text, Args&&... args) {
    return add(Diagnostic::Severity::warning,
               Error(code, where, text, std::forward<Args>(args)...));
  }
  template <class... Args>
  Error& error(Code code, SourceLoc where, fmt::format_string<Args...> text, Args&&... args) {
    return add(Diagnostic::Severity::error, Error(code, where, text, std::forward<Args>(args)...));
  }
  Error& add(Diagnostic::Severity severity, Error finding) {
    list_.push_back({severity, std::move(finding)});
    return list_.back().finding;
  }

  const std::vector<Diagnostic>& list() const { return list_; }
  bool has_errors() const;
  /// Throws the first error, with the others as its notes; nothing if there is none.
  void throw_errors() const;

 private:
  std::vector<Diagnostic> list_;
};

/// One a line.
std::string to_text(const Diagnostics& diagnostics);

}  // namespace tw
