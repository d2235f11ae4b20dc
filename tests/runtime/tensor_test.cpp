#include "tilewright/runtime/tensor.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace tw {
namespace {

using test::error_of;

TEST(Shape, CompactStridesAreRowMajor) {
  EXPECT_EQ((Shape{2, 3, 4}).compact_strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(Shape{}.compact_strides(), Shape{});
}

TEST(Shape, NumelSaturatesButAZeroStaysZero) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ((Shape{large, large}).numel(), INT64_MAX);
  EXPECT_EQ((Shape{large, large, 0}).numel(), 0);
  EXPECT_EQ(Shape{}.numel(), 1);
}

TEST(Shape, MoreThanEightDimensionsAreRefused) {
  EXPECT_EQ(error_of([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }),
            "shape: 9 dimensions, the largest rank is 8");
}

TEST(Tensor, TakesTheDtypeOfAPointer) {
  std::vector<float> data(6);
  const Tensor x(data.data(), {2, 3});
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_EQ(to_text(x), "f32 [2, 3]");
  EXPECT_EQ(dtype_of<uint16_t>(), u16);
  EXPECT_EQ(dtype_of<const long>(), i64);
  EXPECT_EQ(dtype_of<bool>(), bool_);
}

TEST(Tensor, ViewsPointAtTheSameElements) {
  std::vector<int32_t> data(24);
  for (int i = 0; i < 24; ++i) data[static_cast<size_t>(i)] = i;
  const Tensor x(data.data(), {2, 3, 4});
  const auto first = [](const Tensor& t) { return *t.data_as<int32_t>(); };
  EXPECT_EQ(first(x.slice(1, 2, 1)), 8);
  EXPECT_EQ(first(x.select(0, 1)), 12);
  EXPECT_EQ(x.select(0, 1).shape(), (Shape{3, 4}));
  EXPECT_EQ(x.transpose(0, 2).strides(), (Shape{1, 4, 12}));
  EXPECT_EQ(x.reshape({6, 4}).strides(), (Shape{4, 1}));
  EXPECT_EQ(to_text(x.slice(2, 0, 2)), "i32 [2, 3, 2] strides [12, 4, 1]");
}

TEST(Tensor, AStrideOfASingleEntryDoesNotMatter) {
  const float data[4] = {};
  EXPECT_TRUE(Tensor(data, f32, {1, 4}, {77, 1}).is_compact());
  EXPECT_TRUE(Tensor(data, f32, {0, 4}, {9, 9}).is_compact());
  EXPECT_FALSE(Tensor(data, f32, {2, 2}, {1, 2}).is_compact());
}

TEST(Tensor, BadViewsAreErrors) {
  const float data[6] = {};
  const Tensor x(data, f32, {2, 3});
  EXPECT_EQ(error_of([&] { x.slice(1, 2, 2); }),
            "slice: 2 entries from 2 of a dimension of extent 3");
  EXPECT_EQ(error_of([&] { x.slice(2, 0, 1); }), "slice: dimension 2 of a tensor [2, 3]");
  EXPECT_EQ(error_of([&] { x.transpose(0, 1).reshape({6}); }),
            "reshape: a tensor [3, 2] with strides [1, 3] isn't compact");
  EXPECT_EQ(error_of([&] { x.reshape({5}); }), "reshape: [2, 3] has 6 elements, [5] has 5");
  EXPECT_EQ(error_of([&] { Tensor(data, f32, {-1}); }), "tensor: shape [-1] has a negative extent");
  EXPECT_EQ(error_of([&] { Tensor(data, f32, {2}, {1, 1}); }),
            "tensor: shape [2] and strides [1, 1] differ in rank");
}

TEST(Tensor, PackedViewsStartAtWholeBytes) {
  const uint8_t data[8] = {};
  const Tensor x(data, f4_e2m1, {2, 8});
  EXPECT_EQ(x.bytes(), 8);
  EXPECT_EQ(x.select(0, 1).data(), data + 4);
  EXPECT_EQ(x.slice(1, 2, 4).data(), data + 1);
  EXPECT_EQ(error_of([&] { x.slice(1, 1, 2); }),
            "tensor: a view of e2m1 can't start at the odd element 1");
}

TEST(Tensor, StorageOfPackedElementsIsRoundedUp) {
  EXPECT_EQ(storage_bytes(f4_e2m1, 7), 4);
  EXPECT_EQ(storage_bytes(f4_e2m1, 8), 4);
  EXPECT_EQ(storage_bytes(f32, INT64_MAX), INT64_MAX);
}

TEST(OwnedTensor, IsAlignedAndMoves) {
  OwnedTensor a(f16, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data()) % 64, 0u);
  void* data = a->data();
  const OwnedTensor b = std::move(a);
  EXPECT_EQ(b->data(), data);
  EXPECT_EQ(b->shape(), (Shape{3, 5}));
  EXPECT_NE(OwnedTensor(f32, {0})->data(), nullptr);
}

TEST(OwnedTensor, NoMemoryIsAnErrorWithTheSize) {
  EXPECT_EQ(error_of([] { OwnedTensor(u8, {int64_t{1} << 60}); }),
            "error[E-HOST-12]: tensor: no memory for u8 [1152921504606846976] "
            "(1125899906842624 KiB)");
}

}  // namespace
}  // namespace tw
