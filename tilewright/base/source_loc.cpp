#include "tilewright/base/source_loc.h"

#include <mutex>
#include <set>

namespace tw {

SourceLoc SourceLoc::intern(std::string_view file, int line) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> files;  // nodes keep their address
  const std::lock_guard lock(mutex);
  auto it = files.find(file);
  if (it == files.end()) it = files.emplace(file).first;
  return {it->c_str(), line};
}

std::string SourceLoc::text() const {
  if (!known()) return {};
  const std::string_view path = file;
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1)) + ":" +
         std::to_string(line);
}

}  // namespace tw
