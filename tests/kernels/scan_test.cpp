#include "tilewright/kernels/scan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/scan.h"
#include "tests/reference/tolerance.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

void expect_cumsum(Where where, const Tensor& x, const Tensor& y) {
  const int64_t h = x.dim(1);
  const auto wanted = reference::cumsum(values(x), static_cast<size_t>(h));
  kernels::cumsum(on(where, x), on(where, y));
  const auto bound = reference::sum_tolerance(f32, y.dtype(), h, 2 * static_cast<double>(h));
  test::expect_close(y, wanted, reference::unit_roundoff(y.dtype()), bound.absolute,
                     format("{}: {} -> {}", name_of(where), x, y));
}

TEST(Cumsum, AgreesWithTheReference) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const DType dtype : {f32, bf16, f16}) {
      for (const DType result : {dtype, f32}) {
        for (const int64_t h : {0, 1, 2, 7, 64, 129, 257, 513, 4100}) {
          for (const int64_t n : {0, 1, 18}) {
            if (n > 1 && h > 300) continue;
            const OwnedTensor x = random_tensor(dtype, {n, h}, 1);
            expect_cumsum(where, x, test::filled_tensor(result, {n, h}, 9));
          }
        }
      }
    }
    expect_cumsum(where, random_tensor(bf16, {2, 20001}, 1), OwnedTensor(f32, {2, 20001}));
    const OwnedTensor storage = random_tensor(f32, {3, 9001}, 1), y(f32, {3, 9002});
    expect_cumsum(where, test::with_row_gap(storage, 8999), test::with_row_gap(y, 8999));
  }
}

TEST(Cumsum, AddsWholeNumbersExactly) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t h : {100, 5000}) {
      const OwnedTensor x = test::filled_tensor(bf16, {2, h}, 1), y(f32, {2, h});
      kernels::cumsum(on(where, x), on(where, y));
      EXPECT_EQ(values(y), reference::cumsum(values(x), static_cast<size_t>(h)));
    }
  }
}

TEST(Cumsum, NaNAndInfinitiesStayFromTheirPlaceOn) {
  for (const Where where : {Where::cpu, Where::twin}) {
    OwnedTensor x(f32, {2, 5}), y(f32, {2, 5});
    test::assign(x, {1, 2, NAN, 3, 4, /**/ 1, INFINITY, 2, -INFINITY, 3});
    kernels::cumsum(on(where, x), on(where, y));
    test::expect_close(y, {1, 3, NAN, NAN, NAN, /**/ 1, INFINITY, INFINITY, NAN, NAN}, 0, 0,
                       name_of(where));
  }
}

TEST(Cumsum, WorksInPlace) {
  const OwnedTensor x = random_tensor(f32, {3, 5000}, 1);
  const auto wanted = reference::cumsum(values(x), 5000);
  kernels::cumsum(x, x);
  test::expect_close(x, wanted, 1e-5, 1e-3, "in place");
}

TEST(Cumsum, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  expect_cumsum(Where::twin, random_tensor(f16, {1, 70}, 1), OwnedTensor(f16, {1, 70}));
}

TEST(Cumsum, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {4, 9}), half(bf16, {4, 8});
  EXPECT_EQ(test::error_of([&] { kernels::cumsum(x, y); }),
            "cumsum: y is f32 [4, 9], it must be [4, 8] like x");
  EXPECT_EQ(test::error_of([&] { kernels::cumsum(x, half); }),
            "cumsum: y is bf16 [4, 8], it must be f32");
}

}  // namespace
}  // namespace tw
