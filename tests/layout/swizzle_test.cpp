#include "tilewright/layout/swizzle.h"

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/packed.h"
#include "tilewright/layout/query.h"
#include "tilewright/layout/shape_stride.h"

namespace tw::layout {
namespace {

using test::for_each;

constexpr Swizzle kSwizzles[] = {Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128};

TEST(Swizzle, OffsetsFollowTheTable) {
  for (const Swizzle swizzle : kSwizzles) {
    for (const int bits : {4, 8, 16, 32, 64}) {
      const int64_t w = width(swizzle), v = 128 / bits, rows = 24, columns = 3 * w * 8 / bits;
      const Layout tile = swizzled(rows, columns, bits, swizzle);
      for_each({rows, columns}, [&](const Coords& x) {
        const int64_t i = x[0], j = x[1];
        const int64_t piece = j * bits / 8 / w, c = j / v % (w / 16);
        const int64_t stored = c ^ (i % 8) / (128 / w);
        const int64_t bit = (piece * rows * w + i * w + 16 * stored) * 8 + j % v * bits;
        ASSERT_EQ(tile.offset(x) * bits, bit) << to_text(swizzle) << " " << to_text(x);
      });
      EXPECT_TRUE(is_bijective(tile));
      EXPECT_TRUE(inverse(linearize(tile))->total);
      const auto run = contiguous_run(tile, 1);
      EXPECT_EQ(run.length, v);
      EXPECT_EQ(run.alignment, v);
    }
  }
}

// Appendix A2 of the specification: row 5, column 20 of bf16, in bytes.
TEST(Swizzle, WorkedExamples) {
  EXPECT_EQ(swizzled(64, 64, 16, Swizzle::bytes_128).offset({5, 20}) * 2, 760);
  EXPECT_EQ(swizzled(64, 32, 16, Swizzle::bytes_64).offset({5, 20}) * 2, 328);
  EXPECT_EQ(swizzled(64, 32, 16, Swizzle::bytes_32).offset({5, 20}) * 2, 2232);
}

TEST(Swizzle, IsUsableWhereItsWidthDividesTheRow) {
  EXPECT_TRUE(is_usable(Swizzle::bytes_128, 8, 64, 16));
  EXPECT_TRUE(is_usable(Swizzle::bytes_128, 4, 64, 16));
  EXPECT_FALSE(is_usable(Swizzle::bytes_128, 12, 64, 16));
  EXPECT_FALSE(is_usable(Swizzle::bytes_128, 8, 96, 16));
  EXPECT_EQ(widest_swizzle(8, 96, 16), Swizzle::bytes_64);
  EXPECT_EQ(widest_swizzle(8, 48, 16), Swizzle::bytes_32);
  EXPECT_EQ(widest_swizzle(8, 8, 16), Swizzle::none);
  EXPECT_EQ(base_alignment(Swizzle::bytes_128), 1024);
  EXPECT_THROW(swizzled(12, 64, 16, Swizzle::bytes_128), Error);
}

TEST(Swizzle, ColumnsOfChunksHaveNoBankConflicts) {
  // 8 rows of one 16-byte chunk (ldmatrix): 1 cycle with the widest swizzle, as many as rows share
  // a line of banks without.
  const auto cycles = [](const Layout& tile) {
    std::vector<int64_t> offsets;
    for (int64_t row = 0; row < 8; ++row) offsets.push_back(tile.offset({row, 16}) * 2);
    return bank_cycles(offsets, 16);
  };
  EXPECT_EQ(cycles(swizzled(8, 64, 16, Swizzle::bytes_128)), 1);
  EXPECT_EQ(cycles(swizzled(8, 32, 16, Swizzle::bytes_64)), 1);
  EXPECT_EQ(cycles(swizzled(8, 32, 16, Swizzle::bytes_32)), 1);
  EXPECT_EQ(cycles(row_major({8, 64})), 8);
  EXPECT_EQ(cycles(*padded(8, 64, 16)), 1);
  EXPECT_EQ(bank_cycles({0, 4, 8, 12, 0, 4}, 4), 1);
  EXPECT_EQ(bank_cycles({0, 128, 256}, 4), 3);
}

TEST(Swizzle, PaddedRowsKeepVectorsAligned) {
  const Layout tile = *padded(16, 64, 16);
  EXPECT_EQ(tile.offset({3, 5}), 3 * 72 + 5);
  const auto run = contiguous_run(tile, 1);
  EXPECT_EQ(run.length, 64);
  EXPECT_EQ(run.alignment, 72);  // so vectors of 8 elements are aligned
  EXPECT_FALSE(padded(16, 8, 16));
}

TEST(Swizzle, MergesDemands) {
  const SwizzleDemand wide = {Swizzle::bytes_128, {Swizzle::bytes_64, Swizzle::none}};
  EXPECT_EQ(merge(wide, {Swizzle::bytes_128, {}}), Swizzle::bytes_128);
  EXPECT_EQ(merge(wide, {Swizzle::bytes_64, {}}), Swizzle::bytes_64);
  EXPECT_EQ(merge({Swizzle::bytes_64, {}}, wide), Swizzle::bytes_64);
  EXPECT_EQ(merge(wide, {Swizzle::bytes_32, {}}), std::nullopt);
  EXPECT_EQ(merge(wide, {Swizzle::none, {}}), std::nullopt);
}

TEST(Swizzle, OfCuteIsTheSameMap) {
  // Sw<3,4,3> on bytes is the 128-byte swizzle of rows of 128 bytes.
  const Layout bytes = *compose(strided({16, 128}, {128, 1}), xor_bits(2048, 3, 4, 3));
  EXPECT_TRUE(equal(bytes, linearize(swizzled(16, 128, 8, Swizzle::bytes_128))));
  for (int64_t x = 0; x < 2048; ++x) {
    ASSERT_EQ(xor_bits(2048, 2, 4, 3).offset({x}), x ^ ((x >> 7 & 3) << 4)) << x;
  }
  EXPECT_THROW(xor_bits(2048, 3, 4, 2), Error);
}

TEST(Panels, OffsetsFollowTheFormula) {
  for (const Coords& c : {Coords{64, 32, 16, 2}, {30, 7, 6, 4}, {5, 3, 16, 1}, {16, 8, 16, 8}}) {
    const int64_t rows = c[0], depth = c[1], p = c[2], g = c[3];
    const Layout tile = panels(rows, depth, p, g);
    const int64_t whole_depth = (depth + g - 1) / g * g;
    for_each({rows, depth}, [&](const Coords& x) {
      const int64_t r = x[0], k = x[1];
      const int64_t want = r / p * (p * whole_depth) + k / g * (p * g) + r % p * g + k % g;
      ASSERT_EQ(tile.offset(x), want) << to_text(c) << " at " << to_text(x);
      ASSERT_EQ(column_panels(depth, rows, p, g).offset({k, r}), want) << to_text(c);
    });
    EXPECT_TRUE(is_injective(tile));
  }
  EXPECT_EQ(to_text(linearize(panels(64, 32, 16, 2))),
            "[64, 32] -> [2048]: i / 16 * 512 + j / 2 * 32 + i % 16 * 2 + j % 2");
}

}  // namespace
}  // namespace tw::layout
