#include "tilewright/pass/value_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "tilewright/base/format.h"
#include "tilewright/base/integer.h"

namespace tw::pass {
namespace {

using ir::OpCode;

constexpr int64_t kNone[] = {INT64_MIN, INT64_MAX};
constexpr int64_t kLargestModulus = int64_t{1} << 31;  // keeps products of moduli inside int64_t

bool is_open(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }
int64_t clamp(__int128 value) {
  if (value < INT64_MIN) return INT64_MIN;
  return value > INT64_MAX ? INT64_MAX : static_cast<int64_t>(value);
}
int64_t add_ends(int64_t a, int64_t b, int64_t none) {
  return a == none || b == none ? none : clamp(static_cast<__int128>(a) + b);
}
int64_t mul_ends(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_open(a) || is_open(b)) return kNone[(a < 0) == (b < 0)];
  return clamp(static_cast<__int128>(a) * b);
}

/// With that congruence, as far as it can be kept.
ValueSet with_congruence(ValueSet set, int64_t modulus, __int128 remainder) {
  if (modulus > kLargestModulus) {
    const int64_t smaller = modulus & -modulus;  // powers of two matter most
    modulus = std::min(smaller, kLargestModulus);
  }
  if (modulus == 0) {  // one value, if it is an int64_t
    if (remainder < INT64_MIN || remainder > INT64_MAX) return set;
    return ValueSet::constant(static_cast<int64_t>(remainder));
  }
  set.modulus = modulus;
  set.remainder = static_cast<int64_t>(((remainder % modulus) + modulus) % modulus);
  return set.tightened();
}

ValueSet shifted_left(const ValueSet& a, int64_t count) {
  return count < 62 ? a * ValueSet::constant(int64_t{1} << count) : ValueSet{};
}

ValueSet floor_quotient(const ValueSet& a, const ValueSet& b) {
  if (b.lo <= 0) return {};
  // Monotone in a; in b toward or away from 0, so the ends of b decide.
  const auto end = [](int64_t x, int64_t y) {
    if (is_open(x)) return x;
    return is_open(y) ? (x < 0 ? int64_t{-1} : int64_t{0}) : floor_div(x, y);
  };
  ValueSet q{std::min(end(a.lo, b.lo), end(a.lo, b.hi)),
             std::max(end(a.hi, b.lo), end(a.hi, b.hi))};
  const auto c = b.single();
  if (c && a.modulus != 0 && a.modulus % *c == 0) {
    return with_congruence(q, a.modulus / *c, floor_div(a.remainder, *c));
  }
  return q.tightened();
}
ValueSet floor_remainder(const ValueSet& a, const ValueSet& b) {
  if (b.lo <= 0) return {};
  if (a.lo >= 0 && a.hi < b.lo) return a;
  const ValueSet r{0, is_open(b.hi) ? b.hi : b.hi - 1};
  const auto c = b.single();
  if (!c) return r;
  if (a.modulus == 0) return ValueSet::constant(floor_mod(a.remainder, *c));
  return with_congruence(r, std::gcd(a.modulus, *c), a.remainder);
}
ValueSet trunc_quotient(const ValueSet& a, const ValueSet& b) {
  if (a.lo >= 0) return floor_quotient(a, b);
  if (b.lo <= 0) return {};
  if (a.hi > 0) {
    const int64_t limit = std::max(a.hi, is_open(a.lo) ? INT64_MAX : -a.lo);
    return is_open(limit) ? ValueSet{} : ValueSet{-(limit / b.lo), limit / b.lo};
  }
  const ValueSet q = floor_quotient(ValueSet::constant(-1) * a, b);
  return ValueSet::constant(-1) * q;
}
ValueSet trunc_remainder(const ValueSet& a, const ValueSet& b) {
  if (a.lo >= 0) return floor_remainder(a, b);
  if (b.lo <= 0 || is_open(b.hi)) return {};
  if (a.lo > -b.lo && a.hi < b.lo) return a;
  return {1 - b.hi, a.hi <= 0 ? 0 : b.hi - 1};
}

/// The smallest 2^k - 1 that is not below the value.
int64_t all_ones(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value) + 1) - 1);
}

}  // namespace

ValueSet ValueSet::of_type(DType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (!dtype.is_int()) return {};
  if (dtype.bits() == 64) return dtype.is_unsigned_int() ? ValueSet{0, INT64_MAX} : ValueSet{};
  const int64_t count = int64_t{1} << dtype.bits();
  return dtype.is_unsigned_int() ? ValueSet{0, count - 1} : ValueSet{-count / 2, count / 2 - 1};
}

std::optional<int64_t> ValueSet::single() const {
  if (modulus != 0) return std::nullopt;
  return remainder;
}
bool ValueSet::contains(int64_t value) const {
  if (value < lo || value > hi) return false;
  return modulus == 0 ? value == remainder : floor_mod(value, modulus) == remainder;
}

ValueSet ValueSet::tightened() const {
  ValueSet set = *this;
  if (modulus == 0) return set;
  if (modulus > 1) {
    if (!is_open(lo))
      set.lo =
          clamp(static_cast<__int128>(lo) + floor_mod(remainder - floor_mod(lo, modulus), modulus));
    if (!is_open(hi))
      set.hi =
          clamp(static_cast<__int128>(hi) - floor_mod(floor_mod(hi, modulus) - remainder, modulus));
  }
  if (set.lo == set.hi && !is_open(set.lo)) return constant(set.lo);
  return set;
}

ValueSet ValueSet::meet(const ValueSet& other) const {
  ValueSet both{std::max(lo, other.lo), std::min(hi, other.hi), modulus, remainder};
  if (modulus != 0 && (other.modulus == 0 || other.modulus % modulus == 0)) {
    both.modulus = other.modulus;
    both.remainder = other.remainder;
  }
  both = both.tightened();
  return both.lo > both.hi ? *this : both;
}
ValueSet ValueSet::join(const ValueSet& other) const {
  const ValueSet either{std::min(lo, other.lo), std::max(hi, other.hi)};
  const __int128 gap = static_cast<__int128>(remainder) - other.remainder;
  if (gap > kLargestModulus || gap < -kLargestModulus) return either;
  const int64_t common = std::gcd(std::gcd(modulus, other.modulus), static_cast<int64_t>(gap));
  return common == 0 ? *this : with_congruence(either, common, remainder);
}

ValueSet operator+(const ValueSet& a, const ValueSet& b) {
  return with_congruence({add_ends(a.lo, b.lo, INT64_MIN), add_ends(a.hi, b.hi, INT64_MAX)},
                         std::gcd(a.modulus, b.modulus),
                         static_cast<__int128>(a.remainder) + b.remainder);
}
ValueSet operator*(const ValueSet& a, const ValueSet& b) {
  const std::array ends{mul_ends(a.lo, b.lo), mul_ends(a.lo, b.hi), mul_ends(a.hi, b.lo),
                        mul_ends(a.hi, b.hi)};
  ValueSet product{*std::min_element(ends.begin(), ends.end()),
                   *std::max_element(ends.begin(), ends.end())};
  // (m1 i + r1) (m2 j + r2) = r1 r2 (mod gcd(m1 m2, m1 r2, m2 r1))
  const auto times = [](int64_t x, int64_t y) -> int64_t {
    const __int128 p = static_cast<__int128>(x) * y;
    return p > INT64_MAX || p <= INT64_MIN ? 1 : static_cast<int64_t>(p);
  };
  const int64_t modulus =
      std::gcd(std::gcd(times(a.modulus, b.modulus), times(a.modulus, b.remainder)),
               times(b.modulus, a.remainder));
  return with_congruence(product, modulus, static_cast<__int128>(a.remainder) * b.remainder);
}

std::string to_text(const ValueSet& set) {
  const auto end = [](int64_t value) { return is_open(value) ? "none" : format("{}", value); };
  std::string text = format("[{}, {}]", end(set.lo), end(set.hi));
  if (set.modulus > 1) text += format(", {} mod {}", set.remainder, set.modulus);
  return text;
}

bool is_exact(OpCode code, DType dtype, const ValueSet& a, const ValueSet& b) {
  if (dtype == i64) return true;
  ValueSet result;
  switch (code) {
    case OpCode::add:
      result = a + b;
      break;
    case OpCode::sub:
      result = a - b;
      break;
    case OpCode::mul:
      result = a * b;
      break;
    case OpCode::neg:
      result = ValueSet::constant(-1) * a;
      break;
    case OpCode::shl:
      if (!b.single() || b.lo < 0 || b.lo >= dtype.bits()) return false;
      result = shifted_left(a, b.lo);
      break;
    default:
      return false;
  }
  return !is_open(result.lo) && !is_open(result.hi) && result.within(ValueSet::of_type(dtype));
}

ValueSet apply(OpCode code, DType dtype, const ValueSet& a, const ValueSet& b) {
  const ValueSet type = ValueSet::of_type(dtype);
  // A result that may have wrapped keeps what it is modulo a power of two.
  const auto ring = [&](const ValueSet& result) {
    if (is_exact(code, dtype, a, b)) return result;
    int64_t modulus = result.modulus == 0 ? kLargestModulus : result.modulus;
    modulus &= -modulus;
    if (dtype.bits() < 31) modulus = std::min(modulus, int64_t{1} << dtype.bits());
    return with_congruence(type, modulus, result.remainder);
  };
  switch (code) {
    case OpCode::add:
      return ring(a + b);
    case OpCode::sub:
      return ring(a - b);
    case OpCode::mul:
      return ring(a * b);
    case OpCode::neg:
      return ring(ValueSet::constant(-1) * a);
    case OpCode::shl:
      if (!b.single() || b.lo < 0 || b.lo >= dtype.bits()) return type;
      return ring(shifted_left(a, b.lo));
    case OpCode::shr:
      if (!b.single() || b.lo < 0 || b.lo >= std::min(62, dtype.bits())) return type;
      return floor_quotient(a, ValueSet::constant(int64_t{1} << b.lo)).meet(type);
    case OpCode::floordiv:
      return floor_quotient(a, b).meet(type);
    case OpCode::floormod:
      return floor_remainder(a, b).meet(type);
    case OpCode::truncdiv:
      return trunc_quotient(a, b).meet(type);
    case OpCode::truncmod:
      return trunc_remainder(a, b).meet(type);
    case OpCode::min: {
      const ValueSet either = a.join(b);
      return ValueSet{std::min(a.lo, b.lo), std::min(a.hi, b.hi), either.modulus, either.remainder}
          .tightened();
    }
    case OpCode::max: {
      const ValueSet either = a.join(b);
      return ValueSet{std::max(a.lo, b.lo), std::max(a.hi, b.hi), either.modulus, either.remainder}
          .tightened();
    }
    case OpCode::abs:
      if (a.lo >= 0) return a;
      if (dtype != i64 && a.lo == type.lo) return type;  // the lowest value is its own magnitude
      return ValueSet::between(0, std::max(a.hi, is_open(a.lo) ? INT64_MAX : -a.lo));
    case OpCode::bit_and:
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (a.lo >= 0 || b.lo >= 0) return {0, a.lo >= 0 ? a.hi : b.hi};
      return type;
    case OpCode::bit_or:
    case OpCode::bit_xor:
      if (a.lo < 0 || b.lo < 0 || is_open(a.hi) || is_open(b.hi)) return type;
      return {0, all_ones(std::max(a.hi, b.hi))};
    case OpCode::popcount:
    case OpCode::clz:
    case OpCode::ctz:
    case OpCode::ffs:
      return {0, dtype.bits()};
    default:
      return type;
  }
}

}  // namespace tw::pass
