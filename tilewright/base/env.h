// Environment variables: what tilewright reads from the environment, as one table.
// Nothing else calls getenv. A value is read when it is asked for, so whoever needs it on a hot
// path asks once and passes it down. docs/environment.md lists the same rows; a test compares them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw::env {

/// `1`, `true`, `on`, `yes` or `0`, `false`, `off`, `no`.
struct Flag {
  const char* name;
  const char* fallback;  ///< the value, as text, when the variable is unset or empty
  const char* doc;       ///< one phrase, as docs/environment.md has it
  bool get() const;
};

/// An integer that is not negative.
struct Count {
  const char* name;
  const char* fallback;
  const char* doc;
  int64_t get() const;
};

struct Text {
  const char* name;
  const char* fallback;
  const char* doc;
  std::string get() const;
};

// TW_VARIABLE(identifier, type, name, fallback, doc); `get()` raises Error for a malformed value.
#define TW_VARIABLES(TW_VARIABLE)                                                                \
  TW_VARIABLE(cache_dir, Text, "TW_CACHE_DIR", "",                                               \
              "folder of the disk cache; empty means tilewright in the user's cache folder")     \
  TW_VARIABLE(cache_disable, Flag, "TW_CACHE_DISABLE", "0",                                      \
              "neither read nor write the disk cache")                                           \
  TW_VARIABLE(cache_readonly, Flag, "TW_CACHE_READONLY", "0",                                    \
              "read the disk cache but write nothing")                                           \
  TW_VARIABLE(cache_max_bytes, Count, "TW_CACHE_MAX_BYTES", "4294967296",                        \
              "size of the disk cache above which the entries used longest ago are removed")     \
  TW_VARIABLE(num_threads, Count, "TW_NUM_THREADS", "0",                                         \
              "threads that run the blocks of a CPU kernel; at most 1024; 0 means one per core") \
  TW_VARIABLE(                                                                                   \
      check_bounds, Flag, "TW_CHECK_BOUNDS", "0",                                                \
      "compile with the option check_bounds: an access outside its buffer stops the kernel")     \
  TW_VARIABLE(                                                                                   \
      sync_launch, Flag, "TW_SYNC_LAUNCH", "0",                                                  \
      "wait for each launch, so that a device fault is reported by the call that caused it")     \
  TW_VARIABLE(nvrtc, Text, "TW_NVRTC", "",                                                       \
              "the library NVRTC, or its folder; empty means it is looked for")                  \
  TW_VARIABLE(fuzz_programs, Count, "TW_FUZZ_PROGRAMS", "10000",                                 \
              "random programs that the fuzz tests run")                                         \
  TW_VARIABLE(fuzz_seed, Count, "TW_FUZZ_SEED", "1", "seed of the first random program")

#define TW_DECLARE(identifier, type, name, fallback, doc) \
  inline constexpr type identifier{name, fallback, doc};
TW_VARIABLES(TW_DECLARE)
#undef TW_DECLARE

/// One variable of the table, whatever its type.
struct Row {
  const char* name;
  const char* type;  ///< "flag", "count" or "text"
  const char* fallback;
  const char* doc;
};
const std::vector<Row>& table();

/// What the environment has for a variable; empty where the fallback counts.
std::string text_in_force(const Row& row);

/// The folders of LD_LIBRARY_PATH, where the dynamic linker looks first.
std::vector<std::string> library_folders();

/// Where the disk cache is: TW_CACHE_DIR, else `$XDG_CACHE_HOME/tilewright`, else
/// `$HOME/.cache/tilewright`. Empty when none of them is set: then there is no disk cache.
std::string cache_folder();

}  // namespace tw::env
