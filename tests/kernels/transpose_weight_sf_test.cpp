#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

using test::on;
using test::Where;

void check(int64_t g, int64_t rows, int64_t columns, int64_t block, Where where = Where::cpu) {
  const std::string what =
      format("[{}, {}, {}] in {}, {}", g, rows, columns, block, name_of(where));
  const int64_t words0 = (columns + 3) / 4, words1 = (rows + 3) / 4;
  const OwnedTensor sf(f32, {g, rows, columns}),
      sf0 = test::filled_tensor(i32, {g, words0, rows * block}, 7),
      sf1 = test::filled_tensor(i32, {g, words1, columns * block}, 7);
  const auto e = [&](int64_t w, int64_t i, int64_t j) -> uint32_t {
    if (i >= rows || j >= columns) return 0;
    return static_cast<uint32_t>((w * 31 + i * 7 + j * 3) % 256);  // 0 and infinity, too
  };
  for (int64_t w = 0; w < g; ++w)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        sf->data_as<uint32_t>()[(w * rows + i) * columns + j] = e(w, i, j) << 23;
  kernels::transpose_weight_sf(on(where, sf), on(where, sf0), on(where, sf1), block);
  for (int64_t w = 0; w < g; ++w) {
    for (int64_t t = 0; t < 4; ++t) {
      for (int64_t c = 0; c < words0; ++c)
        for (int64_t r = 0; r < rows * block; ++r)
          ASSERT_EQ(sf0->data_as<uint32_t>()[(w * words0 + c) * rows * block + r] >> (8 * t) & 255,
                    e(w, r / block, 4 * c + t))
              << what;
      for (int64_t c = 0; c < words1; ++c)
        for (int64_t q = 0; q < columns * block; ++q)
          ASSERT_EQ(
              sf1->data_as<uint32_t>()[(w * words1 + c) * columns * block + q] >> (8 * t) & 255,
              e(w, 4 * c + t, q / block))
              << what;
    }
  }
}

TEST(TransposeWeightSf, IsTheReference) {
  for (const int64_t block : {32, 128}) {
    for (const int64_t g : {0, 1, 3}) {
      for (const int64_t n : {1, 2, 3, 5, 12, 20}) {
        check(g, n, 4, block);
        check(g, 17, n, block);
      }
    }
  }
}

TEST(TransposeWeightSf, IsTheReferenceOnThreads) {
  check(2, 17, 6, 32, Where::twin);
  check(1, 3, 18, 128, Where::twin);
}

TEST(TransposeWeightSf, BecomesCubins) {
  const test::AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  check(1, 4, 4, 32, Where::twin);
}

TEST(TransposeWeightSf, HasTheValuesOfTheSpecification) {
  OwnedTensor sf(f32, {1, 4, 4}), sf0(i32, {1, 1, 128}), sf1(i32, {1, 1, 128});
  std::vector<double> list;
  for (int i = 0; i < 16; ++i) list.push_back(std::ldexp(1, i / 4 - 2 * (i % 4)));
  test::assign(sf, list);
  kernels::transpose_weight_sf(sf, sf0, sf1, 32);
  const auto *by_row = sf0->data_as<uint32_t>(), *by_column = sf1->data_as<uint32_t>();
  EXPECT_EQ(by_row[31], 0x797B7D7FU);
  EXPECT_EQ(by_row[32], 0x7A7C7E80U);
  EXPECT_EQ(by_column[31], 0x8281807FU);
  EXPECT_EQ(by_column[32], 0x807F7E7DU);
}

TEST(TransposeWeightSf, StopsAtWhatIsNoPowerOfTwo) {
  OwnedTensor sf = test::filled_tensor(f32, {1, 4, 4}, 1), sf0(i32, {1, 1, 128}),
              sf1(i32, {1, 1, 128});
  for (const double wrong : {3.0, -1.0}) {
    test::assign(sf->slice(1, 3, 1).slice(2, 3, 1), {wrong});
    EXPECT_THAT(test::error_of([&] { kernels::transpose_weight_sf(sf, sf0, sf1, 32); }),
                testing::HasSubstr("a factor is no power of two"));
  }
}

TEST(TransposeWeightSf, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor sf(f32, {1, 4, 4}), sf0(i32, {1, 1, 128}), sf1(i32, {1, 1, 128}),
      flat(f32, {4, 4});
  const auto error = [](const Tensor& a, const Tensor& b, const Tensor& c, int64_t block) {
    return test::error_of([&] { kernels::transpose_weight_sf(a, b, c, block); });
  };
  EXPECT_EQ(error(flat, sf0, sf1, 32),
            "batched_transpose_weight_sf: sf is f32 [4, 4], it must have 3 dimensions");
  EXPECT_EQ(error(sf, sf0, sf1, 64),
            "batched_transpose_weight_sf: blocks are 64 x 64, they must be 32 x 32 or 128 x 128");
  EXPECT_EQ(error(sf, sf0, sf1, 128),
            "batched_transpose_weight_sf: sf0 is i32 [1, 1, 128], it must be [1, 1, 512]");
  EXPECT_EQ(error(sf, sf, sf1, 32),
            "batched_transpose_weight_sf: sf0 is f32 [1, 4, 4], it must be i32");
}

}  // namespace
}  // namespace tw
