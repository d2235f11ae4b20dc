#include "tilewright/runtime/host_expr.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tilewright/base/error.h"
#include "tilewright/base/integer.h"

namespace tw::runtime {
namespace {

const HostExpr s0 = HostExpr::symbol(0), s1 = HostExpr::symbol(1);

HostExpr op(HostOp op, const HostExpr& a, const HostExpr& b) { return HostExpr::binary(op, a, b); }

int64_t value(const HostExpr& expr, int64_t a = 0, int64_t b = 0) {
  const int64_t symbols[] = {a, b};
  return expr.evaluate({symbols});
}

TEST(HostExpr, DivisionRoundsDownForAllSigns) {
  const HostExpr quotient = op(HostOp::floordiv, s0, s1), rest = op(HostOp::floormod, s0, s1);
  const HostExpr up = cdiv(s0, s1);
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b = -6; b <= 6; ++b) {
      if (b == 0) continue;
      const auto down =
          static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      ASSERT_EQ(value(quotient, a, b), down) << a << " / " << b;
      ASSERT_EQ(value(rest, a, b), a - down * b) << a << " % " << b;
      ASSERT_EQ(value(up, a, b), down + (a % b != 0)) << a << " / " << b;
    }
  }
}

TEST(HostExpr, DividesByPowersOfTwoAlike) {
  for (const int64_t b : {1, 2, 8, 1 << 20}) {
    for (const int64_t a : {INT64_MIN, int64_t{-9}, int64_t{-8}, int64_t{-1}, int64_t{0},
                            int64_t{1}, int64_t{7}, int64_t{8}, int64_t{9}, INT64_MAX}) {
      const int64_t quotient = value(op(HostOp::floordiv, s0, s1), a, b);
      const int64_t rest = value(op(HostOp::floormod, s0, s1), a, b);
      EXPECT_EQ(quotient, floor_div(a, b)) << a << " / " << b;
      EXPECT_EQ(rest, floor_mod(a, b)) << a << " / " << b;
      EXPECT_EQ(value(cdiv(s0, s1), a, b), quotient + (rest != 0)) << a << " / " << b;
    }
  }
}

TEST(HostExpr, IsTotal) {
  for (const HostOp o : {HostOp::floordiv, HostOp::floormod, HostOp::cdiv}) {
    EXPECT_EQ(value(op(o, s0, s1), 7, 0), 0);
  }
  EXPECT_EQ(value(s0 + s1, INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(value(s0 + s1, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(value(s0 - s1, INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(value(s0 * s1, INT64_MIN, 2), INT64_MIN);
  EXPECT_EQ(value(s0 * s1, INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(value(op(HostOp::floordiv, s0, s1), INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(value(cdiv(s0, s1), INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(value(op(HostOp::floormod, s0, s1), INT64_MIN, -1), 0);
}

TEST(HostExpr, ComparesAndSelects) {
  EXPECT_EQ(value(op(HostOp::min, s0, s1), 3, 5), 3);
  EXPECT_EQ(value(op(HostOp::max, s0, s1), 3, 5), 5);
  EXPECT_EQ(value(op(HostOp::lt, s0, s1), 3, 5), 1);
  EXPECT_EQ(value(op(HostOp::le, s0, s1), 5, 5), 1);
  EXPECT_EQ(value(op(HostOp::eq, s0, s1), 3, 5), 0);
  EXPECT_EQ(value(op(HostOp::ne, s0, s1), 3, 5), 1);
  EXPECT_EQ(value(op(HostOp::logical_and, s0, s1), 3, 0), 0);
  EXPECT_EQ(value(op(HostOp::logical_or, s0, s1), 3, 0), 1);
}

TEST(HostExpr, ReadsTensorsAndScalars) {
  alignas(64) const float data[64] = {};
  const Tensor x(data + 3, f32, {4, 8}, {16, 1});
  const Tensor* tensors[] = {nullptr, &x};
  const int64_t scalars[] = {0, 0, 42};
  const HostValues values{nullptr, tensors, scalars};
  EXPECT_EQ(HostExpr::extent(1, 1).evaluate(values), 8);
  EXPECT_EQ(HostExpr::stride(1, 0).evaluate(values), 16);
  EXPECT_EQ(HostExpr::address_mod(1).evaluate(values), 12);
  EXPECT_EQ(HostExpr::scalar(2).evaluate(values), 42);
  EXPECT_EQ((HostExpr::extent(0, 0) + HostExpr::address_mod(0)).evaluate(values), 0);  // null
}

TEST(HostExpr, FoldsConstants) {
  EXPECT_EQ(HostExpr(6) * 7, HostExpr(42));
  EXPECT_TRUE(cdiv(HostExpr(5), 2).is_constant());
}

TEST(HostExpr, ComesApartAtAnd) {
  const HostExpr a = op(HostOp::lt, s0, s1), b = op(HostOp::eq, s0 * s1 + 3, s0);
  const HostExpr either = op(HostOp::logical_or, a, b);
  const auto both = [](const HostExpr& x, const HostExpr& y) {
    return op(HostOp::logical_and, x, y);
  };
  EXPECT_EQ(a.conjuncts(), std::vector{a});
  EXPECT_EQ(both(both(b, either), a).conjuncts(), (std::vector{b, either, a}));
  EXPECT_EQ(both(a, both(either, b)).conjuncts(), (std::vector{a, either, b}));
  EXPECT_EQ(op(HostOp::logical_or, both(a, b), a).conjuncts().size(), 1U);
}

TEST(HostExpr, KnowsInWhichSymbolsItIsAffine) {
  EXPECT_TRUE((s0 * 2 + 1).is_affine_in(0));
  EXPECT_TRUE((s0 * s1 - s1).is_affine_in(0));
  EXPECT_TRUE((s0 * s1 - s1).is_affine_in(1));
  EXPECT_FALSE((s0 * s0).is_affine_in(0));
  EXPECT_FALSE(cdiv(s0, 128).is_affine_in(0));
  EXPECT_FALSE(s0.is_affine_in(1));
  EXPECT_EQ((s0 + s1 * 3).symbols(), 3u);
  EXPECT_EQ(s1.as_symbol(), 1);
  EXPECT_EQ((s1 + 1).as_symbol(), -1);
}

TEST(HostExpr, PrintsInfixWithTheParenthesesThatItNeeds) {
  EXPECT_EQ(to_text(cdiv(s0, 128) * 2 + 1), "cdiv(s0, 128) * 2 + 1");
  EXPECT_EQ(to_text((s0 + 1) * (s1 - (s0 - 2))), "(s0 + 1) * (s1 - (s0 - 2))");
  EXPECT_EQ(to_text(op(HostOp::floordiv, s0, s1 * 2)), "s0 // (s1 * 2)");
  EXPECT_EQ(to_text(op(HostOp::logical_and, op(HostOp::eq, HostExpr::address_mod(1), 0),
                       op(HostOp::le, HostExpr::extent(0, 1), 64))),
            "p1.address % 64 == 0 && p0.shape[1] <= 64");
}

TEST(HostExpr, PostfixTextIsReadBack) {
  const HostExpr all = op(
      HostOp::logical_or, HostExpr::scalar(3) + HostExpr::stride(2, 1),
      op(HostOp::max, op(HostOp::floormod, HostExpr::extent(0, 7), -5), HostExpr::address_mod(1)));
  EXPECT_EQ(to_postfix(all), "p3.value p2.stride1 add p0.shape7 -5 floormod p1.address max or");
  EXPECT_EQ(parse_postfix(to_postfix(all)), all);
  EXPECT_EQ(parse_postfix("s63"), HostExpr::symbol(63));
}

TEST(HostExpr, BadPostfixTextIsAnError) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      parse_postfix(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("s0 add"), "host expression: an operation lacks an operand");
  EXPECT_EQ(error_of("s0 s1"), "host expression: 2 values are left where one is needed");
  EXPECT_EQ(error_of(""), "host expression: 0 values are left where one is needed");
  for (const std::string word :
       {"s64", "s", "p.value", "p1", "p1.shape8", "p1.shape", "x", "p-1.value", "1.5"}) {
    EXPECT_EQ(error_of(word.c_str()), "host expression: unknown word '" + word + "'");
  }
  std::string deep = "s0";
  for (int i = 0; i < kMaxDepth; ++i) deep = "s0 " + deep + " add";
  EXPECT_EQ(error_of(deep.c_str()), "host expression: deeper than 32 operands");
}

}  // namespace
}  // namespace tw::runtime
