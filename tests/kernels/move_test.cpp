#include "tilewright/kernels/move.h"

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

TEST(Copy, KeepsTheBitsOfAllWidths) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f8_e4m3, f64, u8, i16}) {
      for (const Shape& shape : {Shape{}, Shape{0, 5}, Shape{1, 1}, Shape{257}, Shape{3, 5, 33}}) {
        const OwnedTensor x = random_tensor(dtype, shape, 1, 0, 50);
        const OwnedTensor y = test::filled_tensor(dtype, shape, 9);
        kernels::copy(on(where, x), on(where, y));
        EXPECT_EQ(values(y), values(x)) << format("{}: {} {}", name_of(where), dtype, shape);
      }
    }
    uint32_t x[] = {0x7f800001, 0xffc12345, 0x80000000, 1}, y[4] = {};
    kernels::copy(on(where, Tensor(x, f32, {4})), on(where, Tensor(y, f32, {4})));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], x[i]);
  }
}

TEST(Copy, OfStridedViews) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const OwnedTensor x = random_tensor(bf16, {9, 10, 70}, 1);
    const OwnedTensor y = test::filled_tensor(bf16, {9, 10, 70}, 7);
    const auto part = [](const Tensor& t) {
      return t.slice(0, 2, 5).slice(1, 1, 8).slice(2, 3, 33);
    };
    kernels::copy(on(where, part(x)), on(where, part(y)));
    EXPECT_EQ(values(part(y)), values(part(x)));
    for (const double outside : values(y->slice(2, 36, 34))) ASSERT_EQ(outside, 7);
    // No neighbors along the last dimension of x, or of both.
    const OwnedTensor z(bf16, {70, 10, 9});
    kernels::copy(on(where, x->transpose(0, 2)), on(where, z));
    EXPECT_EQ(values(z), values(x->transpose(0, 2)));
    kernels::copy(on(where, x->transpose(0, 2)), on(where, y->transpose(0, 2)));
    EXPECT_EQ(values(y), values(x));
  }
}

TEST(Copy, OfManyDimensions) {
  const OwnedTensor storage = random_tensor(f32, {2, 3, 4, 5, 6, 2}, 1);
  const Tensor x = storage->slice(4, 0, 2);  // the first four dimensions are one
  const Tensor five = x.slice(3, 0, 3).slice(2, 0, 2);
  OwnedTensor small(f32, five.shape());
  kernels::copy(five, small);
  EXPECT_EQ(values(small), values(five));
}

TEST(Copy, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4, 9}), half(bf16, {4, 8});
  EXPECT_EQ(test::error_of([&] { kernels::copy(x, y); }),
            "copy: y is f32 [4, 9], it must be [4, 8] like x");
  EXPECT_EQ(test::error_of([&] { kernels::copy(x, half); }),
            "copy: y is bf16 [4, 8], it must be f32");
  const OwnedTensor deep(f32, {3, 3, 3, 3, 3, 3}), to(f32, {2, 2, 2, 2, 2, 2});
  Tensor part = deep;
  for (int d = 0; d < 6; ++d) part = part.slice(d, 0, 2);
  EXPECT_EQ(test::error_of([&] { kernels::copy(part, to); }),
            "copy: in tensors of shape [2, 2, 2, 2, 2, 2] there are 6 dimensions that don't lie "
            "evenly inside each other, there may be 5; make one contiguous");
}

TEST(Transpose, OfMatricesOfAllWidths) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f8_e4m3, f64, i8}) {
      for (const Shape& shape : {Shape{0, 5}, Shape{1, 1}, Shape{1, 257}, Shape{257, 1},
                                 Shape{33, 70}, Shape{130, 256}, Shape{128, 384}, Shape{192, 64}}) {
        const OwnedTensor x = random_tensor(dtype, shape, 1, -50, 50);
        const OwnedTensor y = test::filled_tensor(dtype, {shape[1], shape[0]}, 9);
        kernels::transpose(on(where, x), on(where, y));
        EXPECT_EQ(values(y), values(x->transpose(0, 1)))
            << format("{}: {} {}", name_of(where), dtype, shape);
      }
    }
  }
}

TEST(Transpose, OfABatchWithStrides) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t batch : {0, 1, 3}) {
      const OwnedTensor storage = random_tensor(bf16, {40, batch, 90}, 1),
                        result = test::filled_tensor(bf16, {batch, 80, 41}, 7);
      const Tensor x = storage->slice(2, 0, 77).transpose(0, 1);  // [batch, 40, 77]
      const Tensor y = result->slice(1, 0, 77).slice(2, 0, 40);
      kernels::transpose(on(where, x), on(where, y));
      EXPECT_EQ(values(y), values(x.transpose(1, 2))) << name_of(where) << ' ' << batch;
      for (const double between : values(result->slice(2, 40, 1))) ASSERT_EQ(between, 7);
    }
  }
}

TEST(Transpose, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  for (const DType dtype : {i16, i32, u32, i64}) {
    const OwnedTensor x = random_tensor(dtype, {1, 64}, 1), y(dtype, {64, 1});
    kernels::transpose(on(Where::twin, x), on(Where::twin, y));
  }
}

TEST(Transpose, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4, 8}), half(bf16, {8, 4}), flat(f32, {8});
  EXPECT_EQ(test::error_of([&] { kernels::transpose(flat, flat); }),
            "transpose: x is f32 [8], it must have 2 or 3 dimensions");
  EXPECT_EQ(test::error_of([&] { kernels::transpose(x, y); }),
            "transpose: y is f32 [4, 8], it must be [8, 4] [..., n, m]");
  EXPECT_EQ(test::error_of([&] { kernels::transpose(x, half); }),
            "transpose: y is bf16 [8, 4], it must be f32");
  EXPECT_EQ(test::error_of([&] { kernels::transpose(x, x->reshape({8, 4})); }),
            "transpose: y f32 [8, 4] shares memory with x f32 [4, 8]; pass a copy of one");
}

}  // namespace
}  // namespace tw
