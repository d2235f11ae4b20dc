#include "tilewright/layout/draw.h"

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/parse.h"

namespace tw::layout {
namespace {

TEST(Draw, ALayoutShowsOffsets) {
  EXPECT_EQ(draw(parse_layout("[2, 3] -> [12]: i * 10 + j / 2 + j % 2")),
            "   0| 1| 2|\n"
            "0|  0  1  1\n"
            "1| 10 11 11\n");
}

TEST(Draw, OneDimensionIsARowAndMoreAreTables) {
  EXPECT_EQ(draw(parse_layout("4:2")),
            "0| 1| 2| 3|\n"
            " 0  2  4  6\n");
  EXPECT_EQ(draw(parse_layout("row_major(2, 1, 2)")),
            "[0]\n"
            "   0| 1|\n"
            "0|  0  1\n"
            "[1]\n"
            "   0| 1|\n"
            "0|  2  3\n");
}

TEST(Draw, ACellCanStandForAChunkAndShowItsBank) {
  const Layout tile = parse_layout("swizzled(8, 16, 16, 32)");
  EXPECT_EQ(draw(tile, {.per_cell = 8}),
            "     0|  8|\n"
            " 0|   0   8\n"
            " 1|  16  24\n"
            " 2|  32  40\n"
            " 3|  48  56\n"
            " 4|  72  64\n"
            " 5|  88  80\n"
            " 6| 104  96\n"
            " 7| 120 112\n");
  EXPECT_EQ(draw(parse_layout("row_major(2, 64)"), {.per_cell = 32, .bank_bits = 32}),
            "     0| 32|\n"
            " 0|   0   0\n"
            " 1|   0   0\n");
  EXPECT_EQ(draw(parse_layout("padded(2, 64, 16)"), {.per_cell = 32, .bank_bits = 16}),
            "     0| 32|\n"
            " 0|   0  16\n"
            " 1|   4  20\n");
  EXPECT_THROW(draw(tile, {.per_cell = 0}), Error);
}

TEST(Draw, AFragmentShowsThreadsAndSlots) {
  EXPECT_EQ(draw(parse_fragment("[2, 4] x 2 -> 8 threads, 2 slots: i * 2 + j / 2 + r * 4, j % 2")),
            "       0|   1|   2|   3|\n"
            "  0| 0+:0 0+:1 1+:0 1+:1\n"
            "  1| 2+:0 2+:1 3+:0 3+:1\n");
}

}  // namespace
}  // namespace tw::layout
