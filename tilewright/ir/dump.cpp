#include "tilewright/ir/dump.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tilewright/base/error.h"
#include "tilewright/base/text_diff.h"
#include "tilewright/ir/text.h"

namespace tw::ir {
namespace {

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Dump::Dump(DumpOptions options) : options_(std::move(options)) {
  std::error_code error;
  std::filesystem::create_directories(options_.dir, error);
  TW_REQUIRE(!error, "dump: can't make the folder {}: {}", options_.dir, error.message());
}

void Dump::add(const std::string& name, const Program& program) {
  const std::string pass = name.substr(name.find('_') + 1);
  const bool wanted = options_.passes.empty() || lists(options_.passes, pass);
  seen_.push_back(pass);
  if (wanted) add_file(name + ".tw", print(program, {.locations = true}));
  if (!options_.diff) return;
  const std::string text = print(program);
  if (wanted && !last_name_.empty()) {
    add_file(name + ".diff", unified_diff(last_text_, text, last_name_, name));
  }
  last_name_ = name;
  last_text_ = text;
}

void Dump::add_file(const std::string& file, std::string_view text) const {
  const std::string path = std::filesystem::path(options_.dir) / file;
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.flush();
  TW_REQUIRE(stream.good(), "dump: can't write {}: {}", path, std::strerror(errno));
}

void Dump::check_passes() const {
  for (const std::string& pass : options_.passes) {
    if (lists(seen_, pass)) continue;
    throw Error({}, {}, "dump: there is no pass '{}'", pass)
        .note("the passes are {}", join(seen_, ", "));
  }
}

}  // namespace tw::ir
