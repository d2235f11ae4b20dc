#include "tilewright/runtime/shape.h"

#include <algorithm>

#include "tilewright/base/error.h"

namespace tw {

Shape::Shape(std::span<const int64_t> values) : rank_(static_cast<int>(values.size())) {
  TW_REQUIRE(values.size() <= kMaxRank, "shape: {} dimensions, the largest rank is {}",
             values.size(), kMaxRank);
  std::copy(values.begin(), values.end(), values_.begin());
}

Shape Shape::filled(int rank, int64_t value) {
  TW_REQUIRE(rank >= 0 && rank <= kMaxRank, "shape: {} dimensions, the largest rank is {}", rank,
             kMaxRank);
  Shape shape;
  shape.rank_ = rank;
  std::fill_n(shape.values_.begin(), rank, value);
  return shape;
}

int64_t Shape::numel() const {
  int64_t product = 1;
  bool empty = false;  // a zero after an overflow still means zero
  for (const int64_t value : *this) {
    if (value == 0) empty = true;
    product = saturating_product(product, value);
  }
  return empty ? 0 : product;
}

Shape Shape::compact_strides() const {
  Shape strides;
  strides.rank_ = rank_;
  int64_t stride = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = saturating_product(stride, (*this)[i]);
  }
  return strides;
}

Shape Shape::without(int i) const {
  Shape shape;
  for (int d = 0; d < rank_; ++d) {
    if (d != i) shape[shape.rank_++] = (*this)[d];
  }
  return shape;
}

bool operator==(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string to_text(const Shape& shape) {
  return to_text(std::vector<int64_t>(shape.begin(), shape.end()));
}

}  // namespace tw
