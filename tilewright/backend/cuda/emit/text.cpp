#include "tilewright/backend/cuda/emit/text.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"

namespace tw::cuda {

Text call(const std::string& name, const std::vector<Text>& args) {
  std::string s = name + "(";
  for (size_t i = 0; i < args.size(); ++i) s += (i == 0 ? "" : ", ") + args[i].s;
  return {s + ")"};
}

Text infix(const Text& a, const char* sign, const Text& b, int binding) {
  // Compilers, and readers, want parentheses among these even where C++ doesn't need them.
  const auto side = [&](const Text& t, int least) {
    const bool bits = binding >= kBitOr && binding <= kBitAnd;
    const bool mixes = (bits || binding == kShift || binding == kOr) && t.binding != binding;
    return mixes && t.binding < kPrefix && !(binding == kOr && t.binding > kAnd) ? "(" + t.s + ")"
                                                                                 : t.in(least);
  };
  return {side(a, binding) + sign + side(b, binding + 1), binding};
}

Text prefix(const char* sign, const Text& a) { return {sign + a.in(kPrimary), kPrefix}; }

std::string memory_type(DType dtype) {
  if (dtype.is_bool()) return "u8";
  return dtype.is_sub_byte() ? "e2m1x2" : to_text(dtype);
}

Text int_literal(DType dtype, int64_t value, bool plain) {
  if (dtype.is_bool()) return {value != 0 ? "true" : "false"};
  const int bits = dtype.bits();
  const bool is_unsigned = dtype.is_unsigned_int();
  const int binding = value < 0 && !is_unsigned ? kSum : kPrimary;
  if (is_unsigned) {
    const auto u = static_cast<uint64_t>(value);
    if (bits < 32) return {format("{}", u)};
    return {format("{}{}", u, bits == 64 && !(plain && u <= UINT32_MAX) ? "ull" : "u")};
  }
  const bool fits = value > INT32_MIN && value <= INT32_MAX;
  if (bits < 64 || (plain && fits)) {
    return value == INT32_MIN ? Text{"(-2147483647 - 1)"} : Text{format("{}", value), binding};
  }
  if (value == INT64_MIN) return {"(-9223372036854775807ll - 1)"};
  return {format("{}ll", value), binding};
}

Text float_literal(DType dtype, double value) {
  if (dtype == f64) {
    if (!std::isfinite(value)) {
      return {format("__longlong_as_double({:#x}ll)",
                     std::isnan(value) ? 0x7FF8000000000000 : std::bit_cast<int64_t>(value))};
    }
    std::string digits = format("{}", value);
    if (digits.find_first_of(".e") == digits.npos) digits += ".0";
    return {digits, std::signbit(value) ? kSum : kPrimary};
  }
  const auto single = static_cast<float>(value);
  if (!std::isfinite(single)) {
    return {format("__uint_as_float({:#x}u)",
                   std::isnan(single) ? 0x7FFFFFFFu : std::bit_cast<uint32_t>(single))};
  }
  std::string digits = format("{}", single);
  if (digits.find_first_of(".e") == digits.npos) digits += ".0";
  return {digits + "f", std::signbit(single) ? kSum : kPrimary};
}

std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    if (c == '\n') {
      s += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == '?') {
      s += format("\\{:03o}", static_cast<unsigned>(c));  // '?': no trigraphs
    } else {
      s += c;
    }
  }
  return s + "\"";
}

}  // namespace tw::cuda
