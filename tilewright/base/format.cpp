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

std::string fill_in(std::string_view message, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    const size_t hole = message.find("{}");
    text += message.substr(0, hole);
    if (hole == message.npos) {
      if (!text.empty()) text += ' ';
      message = {};
    } else {
      message.remove_prefix(hole + 2);
    }
    text += value;
  }
  return text.append(message);
}

}  // namespace tw
