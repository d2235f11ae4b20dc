#include "tilewright/base/error.h"

namespace tw {

Error::Error(Plain, Code code, SourceLoc where, std::string message)
    : code_(code), where_(where), message_(std::move(message)) {
  if (where_.known()) whole_ = where_.text() + ": ";
  if (*code_.text != 0) whole_ += "error[" + std::string(code_.text) + "]: ";
  whole_ += message_;
}

Error& Error::add_line(const char* label, std::string text) {
  notes_.push_back(label + std::move(text));
  whole_ += "\n  " + notes_.back();
  return *this;
}

void throw_internal(const char* condition, SourceLoc where, const std::string& text) {
  throw InternalError(
      format("internal error at {}: {} ({}); please report it", where.text(), text, condition));
}

}  // namespace tw
