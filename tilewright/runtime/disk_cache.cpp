#include "tilewright/runtime/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/hash.h"

namespace tw::runtime {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHeader = "tilewright cache entry 1\n";
constexpr int64_t kStaleSeconds = 3600;

// A line per file: its checksum, size and name; then the checksum of these lines, so that a
// manifest that was cut isn't taken for a shorter one.
std::string manifest_of(const CacheFiles& files) {
  std::string text = kHeader;
  for (const auto& [name, content] : files) {
    text += format("{} {} {}\n", hash_text(content), content.size(), name);
  }
  return text + hash_text(text) + "\n";
}

// Reads the files that a manifest lists; empty when anything disagrees with it.
std::optional<CacheFiles> read_files(int folder, std::string_view manifest) {
  const size_t hash_line = manifest.size() < 33 ? 0 : manifest.size() - 33;
  std::string_view lines = manifest.substr(0, hash_line);
  if (!lines.starts_with(kHeader) || manifest.substr(hash_line) != hash_text(lines) + "\n") {
    return std::nullopt;
  }
  CacheFiles files;
  lines.remove_prefix(std::string_view(kHeader).size());
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::string_view hash = line.substr(0, line.find(' '));
    const size_t name_at = line.find(' ', hash.size() + 1) + 1;
    const std::string name(line.substr(name_at));
    auto content = read_file_at(folder, name);
    const std::string found = content ? format("{} {} ", hash_text(*content), content->size()) : "";
    if (found != line.substr(0, name_at)) return std::nullopt;
    files.emplace(name, std::move(*content));
  }
  return files;
}

bool make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) errno = error.value();
  return !error;
}

void remove_all(const std::string& path) {
  std::error_code ignored;  // another process may remove it too
  fs::remove_all(path, ignored);
}

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    paths.push_back(it->path().string());
  }
  return paths;
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

DiskCacheOptions DiskCacheOptions::from_environment() {
  DiskCacheOptions options;
  if (!env::cache_disable.get()) options.folder = env::cache_folder();
  options.read_only = env::cache_readonly.get();
  options.max_bytes = env::cache_max_bytes.get();
  return options;
}

DiskCache::DiskCache(DiskCacheOptions options)
    : options_(std::move(options)),
      entries_(options_.folder + "/entries"),
      staging_(options_.folder + "/staging") {}

std::string DiskCache::path_of(const std::string& key) const {
  return entries_ + "/" + hash_text(key);
}

// All files are opened relative to the folder that was opened first: an entry that is replaced
// meanwhile can't mix with the old one.
std::optional<CacheFiles> DiskCache::find(const std::string& key) const {
  if (options_.folder.empty()) return std::nullopt;
  const std::string path = path_of(key);
  const Fd folder = open_folder(path);
  if (!folder.ok() && errno == ENOENT) return std::nullopt;
  const auto manifest = read_file_at(folder.get(), "manifest");
  auto files = manifest ? read_files(folder.get(), *manifest) : std::nullopt;
  if (!files || !files->contains("key")) {
    if (!options_.read_only) remove_entry(path);
    return std::nullopt;
  }
  const auto stored_key = files->extract("key");
  if (stored_key.mapped() != key) return std::nullopt;  // another key with the same hash
  if (!options_.read_only) futimens(folder.get(), nullptr);
  return files;
}

std::optional<std::string> DiskCache::publish(const std::string& key,
                                              const CacheFiles& given) const {
  if (options_.folder.empty() || options_.read_only) return std::nullopt;
  const auto failed = [](const std::string& path) {
    return format("disk cache: can't write {}: {}; the kernel isn't cached", path, system_reason());
  };
  for (const std::string& folder : {entries_, staging_}) {
    if (!make_folders(folder)) return failed(folder);
  }
  for (const auto& [name, content] : given) {
    TW_CHECK(name.find_first_of("/\n") == name.npos && name != "key" && name != "manifest", "{}",
             name);
  }
  CacheFiles files = given;
  files["key"] = key;
  files["manifest"] = manifest_of(files);

  std::string staged = staging_ + "/XXXXXX";
  if (mkdtemp(staged.data()) == nullptr) return failed(staged);
  const Fd folder = open_folder(staged);
  int64_t bytes = 0;
  for (const auto& [name, content] : files) {
    if (!write_file_at(folder.get(), name, content)) {
      const std::string warning = failed(staged + "/" + name);
      remove_all(staged);
      return warning;
    }
    bytes += static_cast<int64_t>(content.size());
  }
  const std::string path = path_of(key);
  const bool published = std::rename(staged.c_str(), path.c_str()) == 0;
  if (!published) {
    const bool lost = errno == EEXIST || errno == ENOTEMPTY;  // another writer was first
    const auto warning = lost ? std::nullopt : std::optional(failed(path));
    remove_all(staged);
    return warning;
  }
  clean_staging();
  // To know the size of the cache takes a scan. On average one runs for every 64th of the limit
  // that is written, which needs no counter that processes would have to share; it frees a fifth.
  thread_local std::minstd_rand random(std::random_device{}());
  const double chance = 64.0 * static_cast<double>(bytes) / static_cast<double>(options_.max_bytes);
  if (std::generate_canonical<double, 32>(random) < chance) evict();
  return std::nullopt;
}

// The entry leaves its place in one step; what is left of it when this process is killed is stale.
void DiskCache::remove_entry(const std::string& path) const {
  std::string trash = staging_ + "/XXXXXX";
  if (mkdtemp(trash.data()) == nullptr) return;
  const bool moved = std::rename(path.c_str(), trash.c_str()) == 0;  // over the empty folder
  if (!moved && errno != ENOENT) remove_all(path);                   // no folder
  remove_all(trash);
}

void DiskCache::clean_staging() const {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  for (const std::string& path : paths_in(staging_)) {
    struct stat status;
    if (stat(path.c_str(), &status) == 0 && now.tv_sec - status.st_mtim.tv_sec > kStaleSeconds) {
      remove_all(path);
    }
  }
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> entries;
  if (options_.folder.empty()) return entries;
  for (const std::string& path : paths_in(entries_)) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) continue;
    Entry entry{path, nanoseconds(status.st_mtim), 0};
    for (const std::string& file : paths_in(path)) {
      if (stat(file.c_str(), &status) == 0) entry.bytes += status.st_size;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void DiskCache::evict() const {
  std::vector<Entry> all = entries();
  int64_t bytes = 0;
  for (const Entry& entry : all) bytes += entry.bytes;
  if (bytes <= options_.max_bytes) return;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  const int64_t goal = options_.max_bytes / 5 * 4;
  for (const Entry& entry : all) {
    if (bytes <= goal) return;
    remove_entry(entry.path);
    bytes -= entry.bytes;
  }
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const Entry& entry : entries()) {
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return usage;
}

void DiskCache::clear() const {
  for (const Entry& entry : entries()) remove_entry(entry.path);
}

}  // namespace tw::runtime
