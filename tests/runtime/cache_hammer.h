// Many processes that use one disk cache and are killed at random.
#pragma once

#include <cstdint>
#include <string>

namespace tw::runtime::test {

struct Hammered {
  int64_t hits = 0, misses = 0;
  int64_t wrong = 0;  // hits whose content isn't that of the key
};

/// Runs `processes` processes at a time, which find or publish entries of random keys in a cache
/// that is too small for all of them. One after the other is killed and replaced, `kills` times, up
/// to 20 ms apart. At the end all keys are looked up once more.
Hammered hammer_cache(const std::string& folder, int processes, int kills, uint64_t seed);

}  // namespace tw::runtime::test
