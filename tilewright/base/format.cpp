#include "tilewright/base/format.h"

namespace tw {

std::string to_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> parts;
  parts.reserve(shape.size());
  for (const int64_t extent : shape) parts.push_back(std::to_string(extent));
  return "[" + join(parts, ", ") + "]";
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += separator;
    text += parts[i];
  }
  return text;
}

}  // namespace tw
