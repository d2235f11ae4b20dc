// Differences of two texts, line by line.
#pragma once

#include <string>
#include <string_view>

namespace tw {

/// The unified diff from `before` to `after` with three lines of context; empty if they are equal.
std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name);

}  // namespace tw
