#include "tilewright/base/diagnostics.h"

namespace tw {

std::string to_text(const Diagnostic& diagnostic) {
  std::string text = diagnostic.finding.what();
  if (diagnostic.severity == Diagnostic::Severity::warning) {
    const size_t label = text.find("error[");
    if (label != text.npos) text.replace(label, 5, "warning");
  }
  return text;
}

std::string to_text(const Diagnostics& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& d : diagnostics.list()) lines.push_back(to_text(d));
  return join(lines, "\n");
}

bool Diagnostics::has_errors() const {
  for (const Diagnostic& d : list_) {
    if (d.severity == Diagnostic::Severity::error) return true;
  }
  return false;
}

void Diagnostics::throw_errors() const {
  std::vector<const Error*> errors;
  for (const Diagnostic& d : list_) {
    if (d.severity == Diagnostic::Severity::error) errors.push_back(&d.finding);
  }
  if (errors.empty()) return;
  Error first = *errors[0];
  for (size_t i = 1; i < errors.size(); ++i) first.note("also {}", errors[i]->what());
  throw first;
}

}  // namespace tw
