#include "tilewright/layout/parse.h"

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/packed.h"
#include "tilewright/layout/query.h"
#include "tilewright/layout/swizzle.h"
#include "tilewright/layout/tensor_core.h"

namespace tw::layout {
namespace {

TEST(Parse, LayoutsAreReadBack) {
  for (const test::Sample& sample : test::all_samples()) {
    ASSERT_EQ(parse_layout(to_text(sample.layout)), sample.layout);
  }
}

TEST(Parse, FragmentsAreReadBack) {
  std::vector<Fragment> fragments;
  for (const TensorCoreTile& tile : tensor_core_tiles()) {
    fragments.push_back(*tensor_core_fragment(tile.name));
    fragments.push_back(bind(replicate(fragments.back(), 2), 64, 1024));
    EXPECT_EQ(parse_fragment(tile.name), *tensor_core_fragment(tile.name));
  }
  fragments.push_back(Fragment(Layout::tight({8, 8}, {{{{1, 1}}, 8, 0, 1}}, 2), 0, 4));
  fragments.push_back(fully_replicated({1}, 1));
  for (const Fragment& f : fragments) EXPECT_EQ(parse_fragment(to_text(f)), f) << to_text(f);
}

TEST(Parse, ShortForms) {
  EXPECT_EQ(parse_layout("row_major(8, 64)"), row_major({8, 64}));
  EXPECT_EQ(parse_layout("swizzled(8, 64, 16, 128)"), swizzled(8, 64, 16, Swizzle::bytes_128));
  EXPECT_EQ(parse_layout("padded(8,64,16)"), *padded(8, 64, 16));
  EXPECT_EQ(parse_layout("panels(64, 32, 16, 2)"), panels(64, 32, 16, 2));
  EXPECT_EQ(parse_layout("column_panels(32, 64, 16, 2)"), column_panels(32, 64, 16, 2));
  EXPECT_EQ(to_text(parse_layout("(8,(4,2)):(4,(1,32))")),
            "[8, 8] -> [64]: j / 4 * 32 + i * 4 + j % 4");
  EXPECT_TRUE(equal(parse_layout("Sw<3,3,3> o (8,64):(64,1)"),
                    linearize(swizzled(8, 64, 16, Swizzle::bytes_128))));
  EXPECT_EQ(parse_fragment("accumulator(mma_c_16x8, 64, 64, 2, 2)"),
            accumulator_tile(*tensor_core_fragment("mma_c_16x8"), {64, 64}, 2, 2));
  EXPECT_EQ(parse_fragment("operand_b(mma_b_16x8, 32, 64, 2, 2)"),
            operand_b_tile(*tensor_core_fragment("mma_b_16x8"), {32, 64}, 2, 2));
  EXPECT_EQ(parse_fragment("operand_a(mma_a_16x16, 64, 32, 2, 2)"),
            operand_a_tile(*tensor_core_fragment("mma_a_16x16"), {64, 32}, 2, 2));
  EXPECT_EQ(parse_fragment("replicated(16, 8, 32)"), fully_replicated({16, 8}, 32));
}

TEST(Parse, BadTextSaysWhere) {
  const auto message = [](const char* text) {
    try {
      parse_either(text);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("[4, 8] -> [32]: i * 8 + x"),
            "layout '[4, 8] -> [32]: i * 8 + x': expected a dimension before, not 'x', at ''");
  EXPECT_EQ(message("[4, 8] -> [32]: i * 8 +"),
            "layout '[4, 8] -> [32]: i * 8 +': expected a name at ''");
  EXPECT_EQ(message("[4, 8] -> [4, 8]: i"), "layout '[4, 8] -> [4, 8]: i': expected ',' at ''");
  EXPECT_EQ(message("[4, 8] -> [16]: i * 8 + j"),
            "layout: [4, 8] -> [16]: i * 8 + j reaches [31], outside its physical box");
  EXPECT_EQ(message("[0] -> [16]: i"),
            "layout '[0] -> [16]: i': expected a number from 1 at '0] -> [16]: i'");
  EXPECT_EQ(message("mma_d"), "layout 'mma_d': nothing is called 'mma_d'");
  EXPECT_EQ(message("accumulators(mma_c_16x8, 64, 64, 2, 2)"),
            "layout 'accumulators(mma_c_16x8, 64, 64, 2, 2)': nothing is called 'accumulators'");
  EXPECT_EQ(message("swizzled(8, 64, 16, 100)"),
            "layout 'swizzled(8, 64, 16, 100)': a width of 100 bytes, expected 32, 64 or 128");
  EXPECT_EQ(message("panels(8, 64)"),
            "layout 'panels(8, 64)': 2 numbers in the parentheses, expected 4");
  EXPECT_EQ(message(""), "layout '': expected a name at ''");
  EXPECT_THROW(parse_layout("mma_c_16x8"), Error);
  EXPECT_THROW(parse_fragment("row_major(4)"), Error);
}

}  // namespace
}  // namespace tw::layout
