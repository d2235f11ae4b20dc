// Whether tensors share memory: all pairs of many views of one matrix, against their elements.
#include "tilewright/runtime/overlap.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tw {
namespace {

void add_elements(const Tensor& t, std::set<const void*>& found) {
  if (t.rank() == 0) {
    found.insert(t.data());
    return;
  }
  for (int64_t i = 0; i < t.dim(0); ++i) add_elements(t.select(0, i), found);
}

/// Every `step`-th entry of a dimension, from the last one down where it is negative.
Tensor strided(const Tensor& t, int dim, int64_t step) {
  Shape shape = t.shape(), strides = t.strides();
  shape[dim] = (shape[dim] + std::abs(step) - 1) / std::abs(step);
  strides[dim] *= step;
  const int64_t first = step < 0 && t.dim(dim) > 0 ? t.dim(dim) - 1 : 0;
  const auto* data = t.data_as<float>() + first * t.stride(dim);
  return {data, t.dtype(), shape, strides};
}

TEST(ShareMemory, IsExactForViewsOfAMatrix) {
  const OwnedTensor whole(f32, {4, 5});
  std::vector<Tensor> views;
  for (int64_t row = 0; row < 4; ++row) {
    for (const int64_t rows : {int64_t{1}, 4 - row}) {
      for (int64_t column = 0; column < 5; ++column) {
        for (int64_t columns = 0; columns <= 5 - column; ++columns) {
          const Tensor part = whole.view().slice(0, row, rows).slice(1, column, columns);
          views.push_back(part);
          views.push_back(strided(part, 1, 2).transpose(0, 1));
          views.push_back(strided(strided(part, 0, -1), 1, -3));
        }
      }
    }
  }
  for (int64_t n = 0; n <= 20; ++n) {  // views without a relation to the rows
    views.emplace_back(whole->data(), f32, Shape{n});
    views.emplace_back(whole->data_as<float>() + n % 3, f32, Shape{n / 3}, Shape{3});
    views.emplace_back(whole->data_as<float>(), f32, Shape{n / 4, 2, 2}, Shape{3, 2, 0});
  }
  std::vector<std::set<const void*>> elements(views.size());
  for (size_t i = 0; i < views.size(); ++i) add_elements(views[i], elements[i]);
  for (size_t i = 0; i < views.size(); ++i) {
    for (size_t j = 0; j < views.size(); ++j) {
      bool common = false;
      for (const void* element : elements[i]) common = common || elements[j].contains(element);
      ASSERT_EQ(share_memory(views[i], views[j]), common)
          << to_text(views[i]) << " at " << views[i].data() << " and " << to_text(views[j])
          << " at " << views[j].data() << " of " << whole->data();
    }
  }
}

TEST(ShareMemory, CountsBits) {
  uint8_t bytes[8] = {};
  const auto halves = [&](int64_t first, int64_t count) {
    return Tensor(bytes + first, f4_e2m1, {count});
  };
  EXPECT_FALSE(share_memory(halves(0, 3), halves(2, 4)));
  EXPECT_TRUE(share_memory(halves(0, 5), halves(2, 4)));
}

TEST(ShareMemory, TellsHalvesOfAMatrixApart) {
  const OwnedTensor whole(f32, {4096, 64});
  const Tensor left = whole.view().slice(1, 0, 32), right = whole.view().slice(1, 32, 32);
  EXPECT_FALSE(share_memory(left, right));
  EXPECT_FALSE(share_memory(left.slice(0, 1, 4000), right));
  EXPECT_TRUE(share_memory(left.slice(0, 1, 4000), whole.view().slice(1, 31, 1)));
}

}  // namespace
}  // namespace tw
