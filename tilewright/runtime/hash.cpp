#include "tilewright/runtime/hash.h"

#include <xxhash.h>

#include "tilewright/base/format.h"

namespace tw::runtime {

std::string hash_text(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace tw::runtime
