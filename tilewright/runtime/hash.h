// The hash of cache keys and checksums: 128 bits of XXH3. Not for adversaries.
#pragma once

#include <string>
#include <string_view>

namespace tw::runtime {

/// 32 hexadecimal digits.
std::string hash_text(std::string_view bytes);

}  // namespace tw::runtime
