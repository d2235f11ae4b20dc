// Compiled kernels on disk, shared by all processes of a user (language 24).
//
// An entry is a folder, named by the hash of its key, with the caller's files, the key itself and a
// manifest of sizes and checksums. It is written in a staging folder and published by renaming, so
// that readers see all of it or nothing; the first of several writers wins. Whatever a reader finds
// that does not agree with its manifest, or with the whole key, is a miss. No locks: a process may
// be killed at any point.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tw::runtime {

/// Content by file name. A name is a plain file name; "key" and "manifest" are the cache's own.
using CacheFiles = std::map<std::string, std::string>;

struct DiskCacheOptions {
  std::string folder;  // empty: no cache
  bool read_only = false;
  int64_t max_bytes = INT64_MAX;
  /// TW_CACHE_DIR, TW_CACHE_DISABLE, TW_CACHE_READONLY, TW_CACHE_MAX_BYTES.
  static DiskCacheOptions from_environment();
};

/// All functions can be called from several threads.
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);

  /// The files of the entry with this key. A broken entry is removed.
  std::optional<CacheFiles> find(const std::string& key) const;

  /// Stores an entry. Returns a warning when that failed (unwritable folder, full disk): the caller
  /// reports it and goes on.
  std::optional<std::string> publish(const std::string& key, const CacheFiles& files) const;

  /// What is known of an entry without reading it.
  struct Entry {
    std::string path;  // its folder, with the files as they were stored
    int64_t used;      // time of the last use, in nanoseconds since 1970
    int64_t bytes;
  };
  std::vector<Entry> entries() const;

  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  /// Removes all entries.
  void clear() const;

  const DiskCacheOptions& options() const { return options_; }

 private:
  std::string path_of(const std::string& key) const;
  void remove_entry(const std::string& path) const;
  void clean_staging() const;
  void evict() const;

  DiskCacheOptions options_;
  std::string entries_, staging_;  // folders
};

}  // namespace tw::runtime
