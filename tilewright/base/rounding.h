// How a conversion chooses between the two representable neighbors of a value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tw {

/// The order is stable: it is stored in caches and artefacts.
enum class Rounding : uint8_t {
  rn,  // to the nearest, ties to the even one
  rz,  // toward zero
  rp,  // toward plus infinity ("up")
  rm,  // toward minus infinity ("down")
  rs,  // stochastic: away from zero with the probability of the discarded fraction
};

inline constexpr std::array<Rounding, 5> kRoundings = {Rounding::rn, Rounding::rz, Rounding::rp,
                                                       Rounding::rm, Rounding::rs};

/// The language's name: "rn", "rz", "rp", "rm", "rs".
inline std::string to_text(Rounding rounding) {
  constexpr std::array<const char*, 5> kNames = {"rn", "rz", "rp", "rm", "rs"};
  return kNames[static_cast<size_t>(rounding)];
}

/// Reads such a name; empty when unknown.
inline std::optional<Rounding> parse_rounding(std::string_view name) {
  for (const Rounding rounding : kRoundings) {
    if (to_text(rounding) == name) return rounding;
  }
  return std::nullopt;
}

}  // namespace tw
