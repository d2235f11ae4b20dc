#include "tilewright/pass/linear.h"

#include "tests/ir/ir_testing.h"
#include "tests/pass/random_exprs.h"

namespace tw::pass {
namespace {

using ir::Expr;

std::string normal_form(const std::string& text) {
  return ir::print(Linear::of(ir::expr(text)).to_expr());
}

TEST(Linear, WritesSumsWithTheirTermsInOrderAndTheConstantLast) {
  EXPECT_EQ(normal_form("1 + i"), "i + 1");
  EXPECT_EQ(normal_form("i + r - i"), "r");
  EXPECT_EQ(normal_form("a - (b - c) + 3 - 5"), "a - b + c - 2");
  EXPECT_EQ(normal_form("-i + n"), "n - i");
  EXPECT_EQ(normal_form("5 - i - j"), "5 - i - j");
  EXPECT_EQ(normal_form("-i - j * 2"), "-i - j * 2");
  EXPECT_EQ(normal_form("i << 3"), "i * 8");
  EXPECT_EQ(normal_form("i * 0 + 7"), "7");
}

TEST(Linear, PutsTermsWithACommonCoefficientTogether) {
  EXPECT_EQ(normal_form("a * 64 + c + b * 64"), "(a + b) * 64 + c");
  EXPECT_EQ(normal_form("n * 64 - bx * 64 - i"), "(n - bx) * 64 - i");
  EXPECT_EQ(normal_form("(a + 1) * 4"), "a * 4 + 4");
}

TEST(Linear, TakesEqualTermsTogetherWhateverTheirOrder) {
  EXPECT_EQ(normal_form("min(a, b) + min(b, a)"), "min(a, b) * 2");
  EXPECT_EQ(normal_form("i * n - n * i"), "0");
}

TEST(Linear, LeavesUnsignedSumsAlone) {
  const Expr e = ir::expr("given x: u32; x + u32(1)");
  EXPECT_EQ(Linear::of(e).terms.size(), 1U);
}

TEST(Linear, NotesNumbersThatDoNotFit) {
  EXPECT_FALSE(Linear::of(ir::expr("x * 4611686018427387904")).overflowed);
  EXPECT_TRUE(Linear::of(ir::expr("x * 4611686018427387904 * 4")).overflowed);
  EXPECT_TRUE(Linear::of(ir::expr("x + 9223372036854775807 + 1")).overflowed);
}

TEST(Linear, FindsTheCoefficientOfAVariableUnlessItIsInsideATerm) {
  const ir::Var i = ir::Var::make("i", i64), j = ir::Var::make("j", i64);
  const Linear sum = Linear::of(ir::add(ir::mul(i, ir::index(4)), ir::floordiv(j, ir::index(2))));
  EXPECT_EQ(sum.coefficient_of(i), 4);
  EXPECT_EQ(sum.coefficient_of(j), std::nullopt);
  EXPECT_EQ(sum.without(i).coefficient_of(i), 0);
}

TEST(Linear, KeepsTheValueOfRandomExpressions) {
  const ir::Var a = ir::Var::make("a", i64), b = ir::Var::make("b", i64);
  testing::RandomExprs random(7, i64, {a, b});
  for (int round = 0; round < 2000; ++round) {
    const Expr e = random.integer(3);
    const Linear sum = Linear::of(e);
    const testing::Values values{{a, static_cast<uint64_t>(random.number(-9, 9))},
                                 {b, static_cast<uint64_t>(random.number(-9, 9))}};
    ASSERT_EQ(testing::evaluate(sum.to_expr(), values), testing::evaluate(e, values))
        << ir::print(e) << "\nbecame " << ir::print(sum.to_expr());
    ASSERT_IR_EQ(Linear::of(sum.to_expr()).to_expr(), sum.to_expr());
  }
}

}  // namespace
}  // namespace tw::pass
