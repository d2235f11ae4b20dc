#include "tilewright/base/env.h"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "tilewright/base/error.h"

namespace tw::env {
namespace {

std::string read(const char* name, const char* fallback = "") {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

constexpr const char* type_name(const Flag&) { return "flag"; }
constexpr const char* type_name(const Count&) { return "count"; }
constexpr const char* type_name(const Text&) { return "text"; }

}  // namespace

bool Flag::get() const {
  const std::string value = read(name, fallback);
  for (const char* yes : {"1", "true", "on", "yes"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"0", "false", "off", "no"}) {
    if (value == no) return false;
  }
  throw Error(Code{}, SourceLoc{}, "{} is '{}', it must be 1 or 0", name, value);
}

int64_t Count::get() const {
  const std::string value = read(name, fallback);
  int64_t count = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, count);
  TW_REQUIRE(error == std::errc{} && stop == end && count >= 0,
             "{} is '{}', it must be an integer from 0 to {}", name, value, INT64_MAX);
  return count;
}

std::string Text::get() const { return read(name, fallback); }

const std::vector<Row>& table() {
#define TW_ROW(identifier, type, name, fallback, doc) {name, type_name(identifier), fallback, doc},
  static const std::vector<Row> rows = {TW_VARIABLES(TW_ROW)};
#undef TW_ROW
  return rows;
}

std::string text_in_force(const Row& row) { return read(row.name); }

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::istringstream list(read("LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

std::string cache_folder() {
  if (std::string chosen = cache_dir.get(); !chosen.empty()) return chosen;
  if (const std::string user = read("XDG_CACHE_HOME"); !user.empty()) return user + "/tilewright";
  if (const std::string home = read("HOME"); !home.empty()) return home + "/.cache/tilewright";
  return {};
}

}  // namespace tw::env
