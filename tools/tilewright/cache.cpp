// tilewright cache: the disk cache of compiled kernels.
#include <algorithm>
#include <ctime>
#include <iostream>
#include <memory>

#include <fcntl.h>

#include "commands.h"
#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/disk_cache.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/metadata.h"

namespace tw::tool {
namespace {

using runtime::DiskCache;

/// `scale            cpu:avx2`, as far as it can be told.
std::string content_of(const DiskCache::Entry& entry) {
  try {
    const auto json = runtime::read_file_at(AT_FDCWD, entry.path + "/metadata.json");
    const auto metadata = runtime::metadata_from_json(json.value_or(""));
    return format("{:<24} {:<24}", metadata.name, metadata.target);
  } catch (const Error&) {
    return format("{:<49}", "not readable by this version");
  }
}

/// 2026-01-31 09:05, local time.
std::string time_text(int64_t nanoseconds) {
  const time_t seconds = nanoseconds / 1'000'000'000;
  std::tm parts{};
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%F %R", localtime_r(&seconds, &parts));
  return {text, size};
}

void list(const DiskCache& cache) {
  std::vector<DiskCache::Entry> entries = cache.entries();
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.used > b.used; });
  for (const DiskCache::Entry& entry : entries) {
    std::cout << format("{} {:>10}  {}\n", content_of(entry), bytes_text(entry.bytes),
                        time_text(entry.used));
  }
}

void run(const std::string& action) {
  runtime::DiskCacheOptions options{.folder = env::cache_folder()};
  options.read_only = env::cache_readonly.get();
  TW_REQUIRE(!options.folder.empty(),
             "cache: there is no folder; set TW_CACHE_DIR, XDG_CACHE_HOME or HOME");
  const DiskCache cache(options);
  const std::string size = usage_text(cache.usage());
  if (action == "path") {
    std::cout << options.folder << "\n";
  } else if (action == "list") {
    list(cache);
  } else if (action == "size") {
    std::cout << format("{} of at most {}\n", size, bytes_text(env::cache_max_bytes.get()));
  } else {
    TW_REQUIRE(!options.read_only, "cache: TW_CACHE_READONLY is set, nothing is removed");
    cache.clear();
    const int64_t left = cache.usage().entries;
    TW_REQUIRE(left == 0, "cache: {} kernels in {} can't be removed", left, options.folder);
    std::cout << "removed " << size << "\n";
  }
}

}  // namespace

void add_cache(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "the disk cache of compiled kernels");
  const auto action = std::make_shared<std::string>("list");
  command
      ->add_option("ACTION", *action,
                   "list: name, target, size, last use; size: of all; clear: removes all; path")
      ->check(CLI::IsMember({"list", "size", "clear", "path"}));
  command->callback([action] { run(*action); });
}

}  // namespace tw::tool
