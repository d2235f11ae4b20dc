// Extents or strides of a tensor: up to eight integers, stored inline, so that
// copies allocate nothing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tw {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  constexpr Shape() = default;
  Shape(std::initializer_list<int64_t> values) : Shape(std::span(values.begin(), values.size())) {}
  /// More than eight values are an Error.
  explicit Shape(std::span<const int64_t> values);
  /// `rank` times the same value.
  static Shape filled(int rank, int64_t value);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }
  operator std::span<const int64_t>() const { return {begin(), end()}; }

  /// Product of the entries: 1 for rank 0. Saturates at the largest int64.
  int64_t numel() const;
  /// Strides of a row-major array of this shape without gaps.
  Shape compact_strides() const;
  /// A copy without entry `i`.
  Shape without(int i) const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

/// `[64, 128]`.
std::string to_text(const Shape& shape);

/// a * b, at most the largest int64; for factors >= 0.
inline int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace tw
