#include "tilewright/pass/thread/index_layout.h"

#include <gtest/gtest.h>

#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"

namespace tw::pass {
namespace {

using ir::index;
using ir::Var;

class IndexLayout : public testing::Test {
 protected:
  std::string text(const std::vector<ir::Expr>& indices) {
    const auto layout = index_layout(indices, {i, j}, {8, 32});
    return layout ? layout::to_text(*layout) : "none";
  }
  const Var i = Var::make("i", i64), j = Var::make("j", i64), k = Var::make("k", i64);
};

TEST_F(IndexLayout, ReadsSumsOfDigits) {
  EXPECT_EQ(text({i, j}), "[8, 32] -> [8, 32]: i, j");
  EXPECT_EQ(text({j, i}), "[8, 32] -> [32, 8]: j, i");
  EXPECT_EQ(text({ir::add(ir::mul(i, index(32)), j)}), "[8, 32] -> [256]: i * 32 + j");
  EXPECT_EQ(text({i, ir::floordiv(j, index(8))}), "[8, 32] -> [8, 4]: i, j / 8");
  EXPECT_EQ(text({ir::floormod(j, index(8))}), "[8, 32] -> [8]: j % 8");
  EXPECT_EQ(text({index(0)}), "[8, 32] -> [1]: 0");
}

TEST_F(IndexLayout, KnowsWhatIsNoLayout) {
  EXPECT_EQ(text({ir::add(i, index(1))}), "none");
  EXPECT_EQ(text({ir::sub(index(7), i)}), "none");
  EXPECT_EQ(text({ir::add(i, k)}), "none");
  EXPECT_EQ(text({ir::mul(i, j)}), "none");
}

TEST_F(IndexLayout, GivesTheExpressionOfACoordinate) {
  const auto layout = index_layout({ir::add(ir::mul(i, index(32)), j)}, {i, j}, {8, 32});
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(ir::print(coordinate(*layout, 0, {k, index(5)})), "k * 32 + 5");
}

}  // namespace
}  // namespace tw::pass
