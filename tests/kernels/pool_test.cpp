#include "tilewright/kernels/pool.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/pool.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

OwnedTensor integers(DType dtype, const std::vector<double>& list) {
  OwnedTensor tensor(dtype, {static_cast<int64_t>(list.size())});
  test::assign(tensor, list);
  return tensor;
}

/// The error of a sum of up to 300 terms below 2 in f32, divided by their number.
constexpr double kTolerance = 300 * 0x1p-24 * 2;

TEST(MaskedMeanPool, AgreesWithTheReference) {
  const std::vector<std::vector<double>> lengths = {{0},      {0, 1}, {0, 0}, {0, 5, 5, 6, 38},
                                                    {0, 300}, {2, 7}};
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int64_t h : {1, 7, 129, 384}) {
      for (const auto& list : lengths) {
        for (const bool normalize : {false, true}) {
          const auto b = static_cast<int64_t>(list.size()) - 1;
          const OwnedTensor x = random_tensor(dtype, {static_cast<int64_t>(list.back()), h}, 1);
          const OwnedTensor y = test::filled_tensor(f32, {b, h}, 9);
          const OwnedTensor cu_seqlens = integers(h == 7 ? i64 : i32, list);
          const Where where = h == 129 && list.size() == 5 ? Where::twin : Where::cpu;
          kernels::masked_mean_pool(on(where, x), on(where, cu_seqlens), on(where, y), normalize);
          test::expect_close(
              y, reference::masked_mean_pool(values(x), static_cast<size_t>(h), list, normalize),
              1e-5, kTolerance,
              format("{}, h {}, {} sequences, normalize {}", dtype, h, b, normalize));
        }
      }
    }
  }
}

TEST(MaskedMeanPool, BecomesACubin) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  const OwnedTensor x = random_tensor(bf16, {3, 384}, 1), y(f32, {1, 384});
  const OwnedTensor cu_seqlens = integers(i32, {0, 3});
  kernels::masked_mean_pool(on(Where::twin, x), on(Where::twin, cu_seqlens), on(Where::twin, y),
                            true);
}

TEST(MaskedMeanPool, LeavesOtherSequencesAlone) {
  OwnedTensor x(f32, {3, 2}), y(f32, {3, 2});
  test::assign(x, {NAN, INFINITY, 3, 4, -INFINITY, 0});
  kernels::masked_mean_pool(x, integers(i32, {0, 1, 2, 3}), y, false);
  test::expect_close(y, {NAN, INFINITY, 3, 4, -INFINITY, 0}, 0, 0, "special values");
  kernels::masked_mean_pool(x, integers(i32, {1, 2, 2, 2}), y, true);
  test::expect_close(y, {0.6, 0.8, 0, 0, 0, 0}, 1e-6, 0, "normalized");
}

TEST(MaskedMeanPool, StridedRows) {
  const OwnedTensor x = random_tensor(f32, {6, 40}, 1), y = test::filled_tensor(f32, {2, 50}, 7);
  const Tensor xv = test::with_row_gap(x, 33), yv = test::with_row_gap(y, 33);
  kernels::masked_mean_pool(xv, integers(i32, {0, 2, 6}), yv);
  test::expect_close(yv, reference::masked_mean_pool(values(xv), 33, {0, 2, 6}, false), 1e-5,
                     kTolerance, "strided");
  for (const double between : values(y.view().slice(1, 33, 17))) ASSERT_EQ(between, 7);
}

TEST(MaskedMeanPool, NoColumns) {
  const OwnedTensor x(f32, {3, 0}), y(f32, {2, 0});
  kernels::masked_mean_pool(x, integers(i32, {0, 1, 3}), y);
}

TEST(MaskedMeanPool, StopsAtASequenceThatLeavesTheTokens) {
  const OwnedTensor x = random_tensor(f32, {3, 2}, 1), y(f32, {2, 2});
  for (const auto& list : std::vector<std::vector<double>>{{0, 1, 4e18}, {-1, 1, 3}, {0, 2, 1}}) {
    const std::string error =
        test::error_of([&] { kernels::masked_mean_pool(x, integers(i64, list), y); });
    EXPECT_NE(error.find("masked_mean_pool: a sequence is from"), std::string::npos) << error;
  }
}

TEST(MaskedMeanPool, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {4, 8}), y(f32, {2, 8}), cu(i32, {3}), none(i32, {0}), f(f32, {3});
  EXPECT_EQ(test::error_of([&] { kernels::masked_mean_pool(x, f, y); }),
            "masked_mean_pool: cu_seqlens is f32 [3], it must be i32 or i64");
  EXPECT_EQ(test::error_of([&] { kernels::masked_mean_pool(x, none, y); }),
            "masked_mean_pool: cu_seqlens is i32 [0], it must be [b + 1]");
  EXPECT_EQ(test::error_of([&] { kernels::masked_mean_pool(x, cu, x); }),
            "masked_mean_pool: y is f32 [4, 8], it must be [2, 8] [b, h]");
}

}  // namespace
}  // namespace tw
