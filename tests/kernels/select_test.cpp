#include "tilewright/kernels/select.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/select.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

/// Indices are those of a stable sort, and values the elements there.
void expect_top_k(Where where, const Tensor& x, int64_t k, DType index_type) {
  const int64_t n = x.dim(0), h = x.dim(1);
  const OwnedTensor found = test::filled_tensor(x.dtype(), {n, k}, 7);
  const OwnedTensor indices = test::filled_tensor(index_type, {n, k}, 7);
  kernels::top_k(on(where, x), on(where, found), on(where, indices));
  const std::vector<double> all = values(x);
  const std::vector<double> wanted =
      reference::top_k(all, static_cast<size_t>(h), static_cast<size_t>(k));
  const std::string name = format("{}: {} of {}", name_of(where), k, x);
  EXPECT_EQ(values(indices), wanted) << name;
  std::vector<double> picked;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t row = i / static_cast<size_t>(k);
    picked.push_back(all[row * static_cast<size_t>(h) + static_cast<size_t>(wanted[i])]);
  }
  test::expect_close(found, picked, 0, 0, name);
}

TEST(TopK, AgreesWithTheReference) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f16}) {
      for (const int64_t h : {1, 2, 7, 33, 64, 129, 257}) {
        const OwnedTensor x = random_tensor(dtype, {5, h}, 1);
        expect_top_k(where, x, std::min<int64_t>(h, 8), i64);
      }
      expect_top_k(where, random_tensor(dtype, {0, 9}, 1), 3, i32);
      expect_top_k(where, random_tensor(dtype, {1, 1024}, 1), 32, i32);
      const OwnedTensor storage = random_tensor(dtype, {3, 100}, 2);
      expect_top_k(where, test::with_row_gap(storage, 61), 4, i32);
    }
  }
}

TEST(TopK, IsStableForEqualOnes) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f16}) {
      const OwnedTensor x(dtype, {4, 40});
      std::vector<double> list;
      for (int i = 0; i < 160; ++i) list.push_back(i * 7 % 5 - 2);
      test::assign(x, list);
      expect_top_k(where, x, 20, i32);
    }
  }
}

TEST(TopK, OfSpecialValues) {
  const double inf = INFINITY;
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f16}) {
      const OwnedTensor x(dtype, {4, 6});
      test::assign(x, {NAN,  -inf, 1,  NAN, inf,  -inf, /**/ NAN, NAN, NAN, NAN,  NAN, NAN,
                       -0.0, 0,    -1, 1,   -0.0, 0,    /**/ inf, NAN, inf, -inf, 0,   -0.0});
      expect_top_k(where, x, 6, i64);
    }
  }
}

TEST(TopK, KeepsTheSignOfZero) {
  OwnedTensor x(f32, {1, 3}), found(f32, {1, 3}), indices(i32, {1, 3});
  test::assign(x, {-0.0, -1, 0.0});
  kernels::top_k(x, found, indices);
  EXPECT_TRUE(std::signbit(values(found)[0]));
  EXPECT_FALSE(std::signbit(values(found)[1]));
}

TEST(TopK, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  for (const DType dtype : {f32, bf16})
    expect_top_k(Where::twin, random_tensor(dtype, {2, 256}, 1), 3, i64);
}

TEST(TopK, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), v(f32, {4, 9}), i(i64, {4, 9}), v2(f32, {4, 2}),
      i3(i64, {4, 3});
  const OwnedTensor wide(f32, {4, 1025});
  EXPECT_EQ(test::error_of([&] { kernels::top_k(x, v, i); }),
            "top_k: k is 9, it must be from 1 to 8 for x f32 [4, 8]");
  EXPECT_EQ(test::error_of([&] { kernels::top_k(wide, v2, i3); }),
            "top_k: x is f32 [4, 1025], a row may have at most 1024 elements");
  EXPECT_EQ(test::error_of([&] { kernels::top_k(x, v2, i3); }),
            "top_k: indices is i64 [4, 3], it must be [4, 2] [n, k]");
  EXPECT_EQ(test::error_of([&] { kernels::top_k(x, v2, v2); }),
            "top_k: indices is f32 [4, 2], it must be i32 or i64");
}

}  // namespace
}  // namespace tw
