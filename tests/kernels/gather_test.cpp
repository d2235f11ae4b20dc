#include "tilewright/kernels/gather.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tests/reference/gather.h"
#include "tilewright/base/format.h"

namespace tw {
namespace {

using test::on;
using test::random_tensor;
using test::values;
using test::Where;

/// n indices of which some are outside [0, v).
OwnedTensor some_index(DType dtype, int64_t n, int64_t v) {
  OwnedTensor index(dtype, {n});
  std::vector<double> list;
  for (int64_t i = 0; i < n; ++i) list.push_back(static_cast<double>((i * 7 + 3) % (v + 4) - 2));
  test::assign(index, list);
  return index;
}

TEST(GatherRows, AgreesWithTheReferenceForAllWidths) {
  for (const DType dtype : {f32, bf16, f16, i32, f8_e4m3, i8, u16, f64}) {
    for (const DType index_type : {i32, i64}) {
      for (const int64_t h : {1, 7, 128, 384}) {
        const OwnedTensor table = random_tensor(dtype, {11, h}, 1, 0, 50);
        for (const int64_t n : {0, 1, 5, 33}) {
          const OwnedTensor index = some_index(index_type, n, 11);
          const OwnedTensor y = test::filled_tensor(dtype, {n, h}, 9);
          kernels::gather_rows(table, index, y);
          EXPECT_EQ(values(y),
                    reference::gather_rows(values(table), static_cast<size_t>(h), values(index)))
              << format("{} by {}, n {}, h {}", dtype, index_type, n, h);
        }
      }
    }
  }
}

TEST(GatherRows, OfAnEmptyTableAreZero) {
  const OwnedTensor table(f32, {0, 5}), y = test::filled_tensor(f32, {3, 5}, 9);
  kernels::gather_rows(table, some_index(i32, 3, 0), y);
  EXPECT_EQ(values(y), std::vector<double>(15, 0));
}

TEST(GatherRows, KeepsTheBitsOfNaN) {
  uint32_t table[] = {0x7f800001, 0xffc12345, 0x80000000, 1}, y[4] = {};
  int32_t index[] = {0};
  kernels::gather_rows(Tensor(table, f32, {1, 4}), Tensor(index, {1}), Tensor(y, f32, {1, 4}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], table[i]);
}

TEST(GatherRows, StridedRows) {
  const OwnedTensor table = random_tensor(bf16, {9, 40}, 1),
                    y = test::filled_tensor(bf16, {6, 50}, 7);
  const OwnedTensor index = some_index(i64, 6, 9);
  const Tensor tv = test::with_row_gap(table, 33), yv = test::with_row_gap(y, 33);
  kernels::gather_rows(tv, index, yv);
  EXPECT_EQ(values(yv), reference::gather_rows(values(tv), 33, values(index)));
  for (const double between : values(y.view().slice(1, 33, 17))) ASSERT_EQ(between, 7);
}

TEST(GatherRows, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor table(f32, {4, 8}), y(f32, {3, 8}), index(i32, {3}), f(f32, {3}),
      packed(f4_e2m1, {4, 8}), packed_y(f4_e2m1, {3, 8});
  EXPECT_EQ(test::error_of([&] { kernels::gather_rows(packed, index, packed_y); }),
            "gather_rows: table is e2m1 [4, 8], its elements must have 8, 16, 32 or 64 bits");
  EXPECT_EQ(test::error_of([&] { kernels::gather_rows(table, f, y); }),
            "gather_rows: index is f32 [3], it must be i32 or i64");
  EXPECT_EQ(test::error_of([&] { kernels::gather_rows(table, index, table); }),
            "gather_rows: y is f32 [4, 8], it must be [3, 8] [n, h]");
  EXPECT_EQ(test::error_of([&] { kernels::gather_rows(f, index, y); }),
            "gather_rows: table is f32 [3], it must have 2 dimensions");
}

TEST(ScatterAddRows, AgreesWithTheReference) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const auto& [dtype, sum_type] :
         {std::pair(f32, f32), std::pair(bf16, f32), std::pair(bf16, bf16), std::pair(f16, f16)}) {
      for (const DType index_type : {i32, i64}) {
        for (const int64_t h : {0, 1, 7, 129, 264}) {
          for (const int64_t n : {0, 1, 33}) {
            // Small whole numbers, so that sums don't depend on their order.
            const OwnedTensor x = random_tensor(i8, {n, h}, 1, -4, 4), numbers(dtype, {n, h});
            test::assign(numbers, values(x));
            const OwnedTensor index = some_index(index_type, n, 11);
            const OwnedTensor y = test::filled_tensor(sum_type, {11, h}, 3);
            const auto wanted = reference::scatter_add_rows(values(y), values(numbers),
                                                            static_cast<size_t>(h), values(index));
            kernels::scatter_add_rows(on(where, numbers), on(where, index), on(where, y));
            EXPECT_EQ(values(y), wanted) << format("{}: {} to {} by {}, n {}, h {}", name_of(where),
                                                   dtype, sum_type, index_type, n, h);
          }
        }
      }
    }
  }
}

TEST(ScatterAddRows, StridedRowsAndInfinities) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const OwnedTensor x = test::filled_tensor(f32, {3, 40}, 1),
                      y = test::filled_tensor(f32, {4, 50}, 7);
    test::assign(x->slice(0, 1, 1).slice(1, 0, 2), {INFINITY, NAN});
    OwnedTensor index(i32, {3});
    test::assign(index, {2, 2, -1});
    const Tensor to = test::with_row_gap(y, 33);
    const auto wanted = reference::scatter_add_rows(values(to), values(test::with_row_gap(x, 33)),
                                                    33, values(index));
    kernels::scatter_add_rows(on(where, test::with_row_gap(x, 33)), on(where, index),
                              on(where, to));
    test::expect_close(to, wanted, 0, 0, name_of(where));
    for (const double between : values(y->slice(1, 33, 17))) ASSERT_EQ(between, 7);
  }
}

TEST(ScatterAddRows, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  for (const DType dtype : {f32, bf16, f16}) {
    const OwnedTensor x = test::filled_tensor(dtype, {2, 8}, 1),
                      y = test::filled_tensor(dtype, {2, 8}, 1);
    kernels::scatter_add_rows(on(Where::twin, x), on(Where::twin, some_index(i64, 2, 2)),
                              on(Where::twin, y));
  }
}

TEST(ScatterAddRows, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor x(f32, {3, 8}), y(f32, {4, 9}), half(bf16, {4, 8}), index(i32, {3}),
      two(i32, {2});
  EXPECT_EQ(test::error_of([&] { kernels::scatter_add_rows(x, index, y); }),
            "scatter_add_rows: y is f32 [4, 9], it must be [4, 8] [v, h]");
  EXPECT_EQ(test::error_of([&] { kernels::scatter_add_rows(x, index, half); }),
            "scatter_add_rows: y is bf16 [4, 8], it must be f32");
  EXPECT_EQ(test::error_of([&] { kernels::scatter_add_rows(x, two, x); }),
            "scatter_add_rows: index is i32 [2], it must be [3] [n]");
}

TEST(GatherRows, RefusesToOverwriteWhatItReads) {
  const OwnedTensor table = random_tensor(f32, {9, 8}, 1), index(i32, {4});
  const Tensor part = table.view().slice(0, 3, 4);
  EXPECT_EQ(test::error_of([&] { kernels::gather_rows(table, index, part); }),
            "gather_rows: y f32 [4, 8] shares memory with table f32 [9, 8]; pass a copy of one");
}

}  // namespace
}  // namespace tw
