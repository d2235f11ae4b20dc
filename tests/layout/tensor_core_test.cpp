#include "tilewright/layout/tensor_core.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"

namespace tw::layout {
namespace {

using test::for_each;

struct Formula {
  const char* name;
  int64_t threads, registers;
  Coords shape;
  std::function<int64_t(int64_t g, int64_t q, int64_t w, int64_t r)> row, column;
};

#define TW_INDEX(expression)                                  \
  [](int64_t g, int64_t q, int64_t w, int64_t r) -> int64_t { \
    return g * 0 + q * 0 + w * 0 + r * 0 + (expression);      \
  }

// The table of language 16.4, as written there.
const std::vector<Formula>& formulas() {
  static const std::vector<Formula> kFormulas = {
      {"mma_c_16x8", 32, 4, {16, 8}, TW_INDEX(g + 8 * (r / 2)), TW_INDEX(2 * q + r % 2)},
      {"mma_a_16x16",
       32,
       8,
       {16, 16},
       TW_INDEX(g + 8 * ((r / 2) % 2)),
       TW_INDEX(2 * q + r % 2 + 8 * (r / 4))},
      {"mma_a_16x32",
       32,
       16,
       {16, 32},
       TW_INDEX(g + 8 * ((r / 4) % 2)),
       TW_INDEX(4 * q + r % 4 + 16 * (r / 8))},
      {"mma_a_16x8", 32, 4, {16, 8}, TW_INDEX(g + 8 * (r % 2)), TW_INDEX(q + 4 * (r / 2))},
      {"mma_b_16x8", 32, 4, {16, 8}, TW_INDEX(2 * q + r % 2 + 8 * (r / 2)), TW_INDEX(g)},
      {"mma_b_32x8", 32, 8, {32, 8}, TW_INDEX(4 * q + r % 4 + 16 * (r / 4)), TW_INDEX(g)},
      {"mma_b_8x8", 32, 2, {8, 8}, TW_INDEX(q + 4 * r), TW_INDEX(g)},
      {"mma_c_8x8", 32, 2, {8, 8}, TW_INDEX(g), TW_INDEX(2 * q + r)},
      {"wgmma_c_64x8",
       128,
       4,
       {64, 8},
       TW_INDEX(16 * w + g + 8 * ((r / 2) % 2)),
       TW_INDEX(8 * (r / 4) + 2 * q + r % 2)},
      {"wgmma_c_64x200",
       128,
       100,
       {64, 200},
       TW_INDEX(16 * w + g + 8 * ((r / 2) % 2)),
       TW_INDEX(8 * (r / 4) + 2 * q + r % 2)},
      {"wgmma_a_64x16",
       128,
       8,
       {64, 16},
       TW_INDEX(16 * w + g + 8 * ((r / 2) % 2)),
       TW_INDEX(2 * q + r % 2 + 8 * (r / 4))},
      {"wgmma_a_64x32",
       128,
       16,
       {64, 32},
       TW_INDEX(16 * w + g + 8 * ((r / 4) % 2)),
       TW_INDEX(4 * q + r % 4 + 16 * (r / 8))},
      {"matrix_8x8", 32, 2, {8, 8}, TW_INDEX(g), TW_INDEX(2 * q + r)},
  };
  return kFormulas;
}

TEST(TensorCore, TablesFollowTheFormulas) {
  for (const Formula& f : formulas()) {
    const auto fragment = tensor_core_fragment(f.name);
    ASSERT_TRUE(fragment) << f.name;
    EXPECT_EQ(fragment->shape(), f.shape) << f.name;
    EXPECT_EQ(fragment->threads(), f.threads) << f.name;
    EXPECT_EQ(fragment->slots(), f.registers) << f.name;
    EXPECT_EQ(fragment->replicas(), 1) << f.name;
    EXPECT_TRUE(is_well_formed(*fragment)) << f.name;
    for (int64_t t = 0; t < f.threads; ++t) {
      for (int64_t r = 0; r < f.registers; ++r) {
        const int64_t g = t % 32 / 4, q = t % 4, w = t / 32;
        const Coords x = {f.row(g, q, w, r), f.column(g, q, w, r)};
        ASSERT_EQ(fragment->thread(x), t) << f.name << " " << to_text(x);
        ASSERT_EQ(fragment->slot(x), r) << f.name << " " << to_text(x);
      }
    }
  }
}

TEST(TensorCore, EveryTableIsCheckedByAFormula) {
  for (const TensorCoreTile& tile : tensor_core_tiles()) {
    const bool checked = std::any_of(formulas().begin(), formulas().end(),
                                     [&](const Formula& f) { return tile.name == f.name; });
    EXPECT_TRUE(checked) << tile.name;
  }
}

TEST(TensorCore, UnknownNamesHaveNoFragment) {
  for (const char* name :
       {"mma", "wgmma_c_64x", "wgmma_c_64x12", "wgmma_c_64x264", "wgmma_c_64x8a"}) {
    EXPECT_FALSE(tensor_core_fragment(name)) << name;
  }
}

TEST(TensorCore, AnAccumulatorOf16BitsIsAnOperandA) {
  const Fragment c = *tensor_core_fragment("mma_c_16x8");
  EXPECT_EQ(repeat(c, 1, 2, On::slots), *tensor_core_fragment("mma_a_16x16"));
  EXPECT_EQ(*tensor_core_fragment("wgmma_c_64x16"), *tensor_core_fragment("wgmma_a_64x16"));
  EXPECT_NE(repeat(c, 1, 4, On::slots), *tensor_core_fragment("mma_a_16x32"));
}

// Appendix A1 of the specification.
TEST(TensorCore, BlockTileOfTheWorkedExample) {
  const Fragment tile = accumulator_tile(*tensor_core_fragment("mma_c_16x8"), {64, 64}, 2, 2);
  EXPECT_EQ(tile.threads(), 128);
  EXPECT_EQ(tile.slots(), 32);
  EXPECT_EQ(tile.thread({37, 21}), 54);
  EXPECT_EQ(tile.slot({37, 21}), 9);
}

TEST(TensorCore, WarpsShareRowsAndColumnsAsThePartitionSays) {
  const Fragment c = accumulator_tile(*tensor_core_fragment("mma_c_16x8"), {64, 48}, 2, 3);
  const Fragment a = operand_a_tile(*tensor_core_fragment("mma_a_16x16"), {64, 32}, 2, 3);
  const Fragment b = operand_b_tile(*tensor_core_fragment("mma_b_16x8"), {32, 48}, 2, 3);
  EXPECT_EQ(c.threads(), 6 * 32);
  EXPECT_EQ(a.threads(), 6 * 32);
  EXPECT_EQ(b.threads(), 6 * 32);
  EXPECT_EQ(a.replicas(), 3);
  EXPECT_EQ(b.replicas(), 2);
  for_each({64, 48}, [&](const Coords& x) {
    const int64_t warp = x[0] / 32 + 2 * (x[1] / 16);
    ASSERT_EQ(c.thread(x) / 32, warp) << to_text(x);
    // The warp of an element of C has its row of A and its column of B.
    for (int64_t k = 0; k < 32; ++k) {
      const auto in_warp = [&](int64_t t) { return t / 32 == warp; };
      const auto of_a = owners(a, {x[0], k}), of_b = owners(b, {k, x[1]});
      ASSERT_TRUE(std::any_of(of_a.begin(), of_a.end(), in_warp)) << to_text(x);
      ASSERT_TRUE(std::any_of(of_b.begin(), of_b.end(), in_warp)) << to_text(x);
    }
  });
  EXPECT_THROW(accumulator_tile(*tensor_core_fragment("mma_c_16x8"), {64, 40}, 2, 2), Error);
}

}  // namespace
}  // namespace tw::layout
