// Text formatting: `tw::format("{} of {}", a, b)` with fmt's syntax. Values that have a
// `to_text(value)` function found by argument lookup can be formatted with "{}".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace tw {

/// A type that names itself through `std::string to_text(const T&)`.
template <class T>
concept HasToText = requires(const T& value) {
  { to_text(value) } -> std::convertible_to<std::string>;
};

template <class... Args>
std::string format(fmt::format_string<Args...> text, Args&&... args) {
  return fmt::vformat(text, fmt::make_format_args(args...));
}

/// `[64, 128]`.
std::string to_text(const std::vector<int64_t>& shape);

/// `a, b, c`.
std::string join(const std::vector<std::string>& parts, const std::string& separator);

/// The message of a print or an assert with its values in place of {}; values without a place are
/// appended, a blank before each.
std::string fill_in(std::string_view message, const std::vector<std::string>& values);

}  // namespace tw

// The text is copied by hand: fmt::format_to instantiates a function of libfmt whose mangled name
// g++ and clang do not agree on.
template <tw::HasToText T>
struct fmt::formatter<T> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const T& value, Context& context) const {
    const std::string text = to_text(value);
    return std::copy(text.begin(), text.end(), context.out());
  }
};

template <>
struct fmt::formatter<std::vector<int64_t>> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const std::vector<int64_t>& value, Context& context) const {
    const std::string text = tw::to_text(value);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
