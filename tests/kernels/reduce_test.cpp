#include "tilewright/kernels/reduce.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/reduce.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

struct Case {
  Where where;
  DType dtype;
  int64_t n, h, gap;  // gap: elements between rows

  std::string name() const {
    return format("{}: {} [{}, {}], gap {}", name_of(where), dtype, n, h, gap);
  }
};

/// No row, one, odd widths, strided rows; rows longer than a block holds.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f16}) {
      for (const int64_t h : {1, 2, 7, 31, 64, 129, 257}) {
        for (const int64_t n : {0, 1, 5}) list.push_back({where, dtype, n, h, 0});
      }
      list.push_back({where, dtype, 9, 100, 28});
      list.push_back({where, dtype, 2, 17001, 7});
    }
  }
  return list;
}

/// Random numbers of which some are NaN, infinite, zeros of both signs, or repeated.
OwnedTensor odd_numbers(const Case& c) {
  OwnedTensor x = random_tensor(c.dtype, {c.n, c.h + c.gap}, 1);
  std::vector<double> list = values(x);
  const double odd[] = {NAN, -INFINITY, 1.5, -0.0, 0.0, 1.5, NAN, INFINITY};
  for (size_t i = 0; i < list.size(); ++i) {
    if (i * 2654435761U % 7 == 0) list[i] = odd[i / 7 % 8];
  }
  test::assign(x, list);
  return x;
}

TEST(RowSum, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    for (const DType result : {c.dtype, f32}) {
      const OwnedTensor storage = random_tensor(c.dtype, {c.n, c.h + c.gap}, 1);
      const Tensor x = test::with_row_gap(storage, c.h);
      const OwnedTensor y = test::filled_tensor(result, {c.n}, 7);
      kernels::sum(on(c.where, x), on(c.where, y));
      const auto bound = reference::sum_tolerance(f32, result, c.h, 2 * static_cast<double>(c.h));
      test::expect_close(y, reference::sum(values(x), static_cast<size_t>(c.h)),
                         reference::unit_roundoff(result), bound.absolute, c.name());
    }
  }
}

TEST(RowSum, OfNoColumnsIsZero) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const OwnedTensor x(f32, {3, 0}), y = test::filled_tensor(f32, {3}, 7);
    kernels::sum(on(where, x), on(where, y));
    EXPECT_EQ(values(y), std::vector<double>(3, 0));
  }
}

TEST(RowSum, OfNaNAndInfinities) {
  OwnedTensor x(f32, {3, 3}), y(f32, {3});
  test::assign(x, {NAN, 1, 2, INFINITY, 1, 2, INFINITY, -INFINITY, 0});
  kernels::sum(x, y);
  test::expect_close(y, {NAN, INFINITY, NAN}, 0, 0, "sum");
}

TEST(RowMax, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    for (const bool propagate_nan : {false, true}) {
      const OwnedTensor storage = odd_numbers(c), y = test::filled_tensor(c.dtype, {c.n}, 7);
      const Tensor x = test::with_row_gap(storage, c.h);
      kernels::max(on(c.where, x), on(c.where, y), propagate_nan);
      test::expect_close(y, reference::max(values(x), static_cast<size_t>(c.h), propagate_nan), 0,
                         0, c.name());
    }
  }
}

TEST(RowArgmax, AgreesWithTheReference) {
  for (const Case& c : cases()) {
    for (const DType index : {i32, i64}) {
      const OwnedTensor storage = odd_numbers(c), y = test::filled_tensor(index, {c.n}, 7);
      const Tensor x = test::with_row_gap(storage, c.h);
      kernels::argmax(on(c.where, x), on(c.where, y));
      test::expect_close(y, reference::argmax(values(x), static_cast<size_t>(c.h)), 0, 0, c.name());
    }
  }
}

TEST(RowArgmax, TakesTheFirstOfEqualOnes) {
  for (const Where where : {Where::cpu, Where::twin}) {
    OwnedTensor x(f32, {5, 4}), y(i64, {5});
    const double inf = INFINITY;
    test::assign(x, {1,
                     3,
                     3,
                     2,
                     /**/ -0.0,
                     0,
                     -0.0,
                     0,
                     /**/ NAN,
                     NAN,
                     NAN,
                     NAN,
                     /**/  //
                     NAN,
                     -inf,
                     NAN,
                     -inf,
                     /**/ inf,
                     inf,
                     NAN,
                     1});
    kernels::argmax(on(where, x), on(where, y));
    EXPECT_EQ(values(y), (std::vector<double>{1, 0, 0, 1, 0}));
  }
}

TEST(RowFolds, BecomeCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  for (const int64_t h : {1000, 20000}) {
    const OwnedTensor x = random_tensor(bf16, {1, h}, 1), y(bf16, {1}), i(i64, {1});
    kernels::sum(on(Where::twin, x), on(Where::twin, y));
    kernels::max(on(Where::twin, x), on(Where::twin, y));
    kernels::argmax(on(Where::twin, x), on(Where::twin, i));
  }
}

TEST(RowFolds, RejectArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4}), half(bf16, {4}), empty(f32, {4, 0});
  EXPECT_EQ(test::error_of([&] { kernels::sum(y, y); }),
            "sum: x is f32 [4], it must have 2 dimensions");
  EXPECT_EQ(test::error_of([&] { kernels::sum(x, half); }), "sum: y is bf16 [4], it must be f32");
  EXPECT_EQ(test::error_of([&] { kernels::sum(x, x); }),
            "sum: y is f32 [4, 8], it must be [4] [n]");
  EXPECT_EQ(test::error_of([&] { kernels::max(empty, y); }),
            "max: x is f32 [4, 0], its rows must have at least one element");
  EXPECT_EQ(test::error_of([&] { kernels::max(x, half); }), "max: y is bf16 [4], it must be f32");
  EXPECT_EQ(test::error_of([&] { kernels::argmax(x, y); }),
            "argmax: y is f32 [4], it must be i32 or i64");
}

}  // namespace
}  // namespace tw
