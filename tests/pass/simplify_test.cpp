#include "tilewright/pass/simplify.h"

#include "tests/ir/ir_testing.h"
#include "tests/pass/random_exprs.h"

namespace tw::pass {
namespace {

using ir::Expr;

/// The text of a simplified expression. `facts` hold: "0 <= i && i < 64".
std::string simplified(const std::string& text, const std::string& facts = "") {
  // Facts and expression are parsed together, so that they mean the same variables.
  if (facts.empty()) return ir::print(simplify(ir::expr(text), Bounds()));
  const size_t given = text.rfind(';');
  const std::string declared = given == std::string::npos ? "" : text.substr(0, given + 1);
  const std::string rest = given == std::string::npos ? text : text.substr(given + 1);
  const bool is_condition = ir::expr(text).dtype().is_bool();
  const Expr both = ir::expr(declared + "if_else(" + facts + ", " + rest + ", " +
                             (is_condition ? "false" : "0") + ")");
  const auto& op = both.as<ir::Op>();
  Bounds bounds;
  bounds.assume(op.args[0]);
  return ir::print(simplify(op.args[1], bounds));
}

TEST(Simplify, FoldsConstants) {
  EXPECT_EQ(simplified("2 + 3 * 4"), "14");
  EXPECT_EQ(simplified("-7 // 2"), "-4");
  EXPECT_EQ(simplified("truncdiv(-7, 2)"), "-3");
  EXPECT_EQ(simplified("-7 % 2"), "1");
  EXPECT_EQ(simplified("truncmod(-7, 2)"), "-1");
  EXPECT_EQ(simplified("u8(250) + u8(10)"), "u8(4)");
  EXPECT_EQ(simplified("f32(1.5) * f32(2.0)"), "3.0");
  EXPECT_EQ(simplified("f32(0.1) + f32(0.2)"), "0.3");
  EXPECT_EQ(simplified("cast(f32(2.7), i32)"), "i32(2)");
  EXPECT_EQ(simplified("sqrt(f32(9.0)) < f32(4.0)"), "true");
  EXPECT_EQ(simplified("cast(f32(1e9), e5m2, saturate=false)"),
            "cast(1000000000.0, e5m2, saturate=false)")
      << "no literal of e5m2 is infinity";
  EXPECT_EQ(simplified("exp(f32(1.0))"), "exp(1.0)") << "its bits depend on the target";
}

TEST(Simplify, LeavesTheLastOperationOfTheTableAlone) {
  const std::string last = "given a: i32; given b: u32; dot2_i16(a, b, b)";
  EXPECT_EQ(simplified(last), "dot2_i16(a, b, b)");
}

TEST(Simplify, BringsSumsIntoOneForm) {
  EXPECT_EQ(simplified("i + r - i"), "r");
  EXPECT_EQ(simplified("(i + 1) * 4 - 4"), "i * 4");
  EXPECT_EQ(simplified("a * 64 + b * 64 + 3 + 5"), "(a + b) * 64 + 8");
  EXPECT_EQ(simplified("i * 4 * n + 0"), "i * n * 4");
  EXPECT_EQ(simplified("given x: u8; x + u8(200) + u8(100)"), "x + 44");
}

TEST(Simplify, DividesSums) {
  EXPECT_EQ(simplified("(j * 32 + l) // 32", "0 <= l && l < 32"), "j");
  EXPECT_EQ(simplified("(j * 32 + l) % 32", "0 <= l && l < 32"), "l");
  EXPECT_EQ(simplified("(j * 32 + l) // 64", "0 <= l && l < 32"), "j // 2");
  EXPECT_EQ(simplified("(j * 32 + l) % 64", "0 <= l && l < 32"), "j % 2 * 32 + l");
  EXPECT_EQ(simplified("(a * 64 + b) % 64"), "b % 64");
  EXPECT_EQ(simplified("x // 8 // 4"), "x // 32");
  EXPECT_EQ(simplified("x // 8 * 8 + x % 8"), "x");
  EXPECT_EQ(simplified("x // 8 * 32 + x % 8 * 4 + y"), "x * 4 + y");
  EXPECT_EQ(simplified("x // 4 % 8 * 4 + x % 4"), "x % 32");
  EXPECT_EQ(simplified("(i * n + j) // n", "0 <= j && j < n"), "i");
  EXPECT_EQ(simplified("(i * n + j) % n", "0 <= j && j < n"), "j");
  EXPECT_EQ(simplified("(n + 63) // 64", "n % 64 == 0"), "n // 64");
  EXPECT_EQ(simplified("(n + 63) // 64 * 64", "n % 64 == 0"), "n");
  EXPECT_EQ(simplified("(x + 130) // 64"), "(x + 2) // 64 + 2");
}

TEST(Simplify, KeepsTheTwoKindsOfDivisionApart) {
  EXPECT_EQ(simplified("truncdiv(x, 8)"), "truncdiv(x, 8)");
  EXPECT_EQ(simplified("truncdiv(x, 8)", "0 <= x"), "x // 8");
  EXPECT_EQ(simplified("truncmod(a * 64 + b, 64)"), "truncmod(a * 64 + b, 64)");
  EXPECT_EQ(simplified("truncmod(a * 64 + b, 64)", "0 <= a && 0 <= b && b < 64"), "b");
}

TEST(Simplify, DecidesAndReducesComparisons) {
  EXPECT_EQ(simplified("a + i < a + n"), "i < n");
  EXPECT_EQ(simplified("i + 4 < 10"), "i < 6");
  EXPECT_EQ(simplified("0 <= n - bx * 64 - 64"), "bx * 64 + 64 <= n");
  EXPECT_EQ(simplified("bx * 64 + i < n * 64", "0 <= i && i < 64"), "bx < n");
  EXPECT_EQ(simplified("bx * 64 + i < 256", "0 <= i && i < 64"), "bx < 4");
  EXPECT_EQ(simplified("x // 8 < 4"), "x < 32");
  EXPECT_EQ(simplified("!(a < b)"), "b <= a");
  EXPECT_EQ(simplified("3 > x"), "x < 3");
  EXPECT_EQ(simplified("i < 64", "i < 8"), "true");
  EXPECT_EQ(simplified("i < 64 && i < 8 && j < 3", "i < 8"), "j < 3");
  EXPECT_EQ(simplified("a < b && a <= b"), "a < b");
  EXPECT_EQ(simplified("given x: u32; x + u32(1) <= x"), "x + 1 <= x");
  EXPECT_EQ(simplified("given x: u32; x * u32(3528531795)"), "x * 3528531795");
}

TEST(Simplify, UsesConditionsInTheOperandsThatTheyGuard) {
  EXPECT_EQ(simplified("if_else(i < 8, min(i, 8), i)"), "i");
  EXPECT_EQ(simplified("select(i < n, max(i, n), 0)"), "select(i < n, n, 0)");
  EXPECT_EQ(simplified("i < n || n <= i && j < 2"), "i < n || j < 2");
}

TEST(Simplify, KeepsFloatBits) {
  EXPECT_EQ(simplified("given x: f32; x * 1.0 + -0.0"), "x");
  EXPECT_EQ(simplified("given x: f32; x + 0.0"), "x + 0.0") << "-0.0 becomes 0.0";
  EXPECT_EQ(simplified("given x: f32; x * 0.0"), "x * 0.0") << "NaN";
  EXPECT_EQ(simplified("given x: f32; x - x"), "x - x");
  EXPECT_EQ(simplified("given x: f32; x / 4.0"), "x * 0.25");
  EXPECT_EQ(simplified("given x: f32; x / 3.0"), "x / 3.0");
  EXPECT_EQ(simplified("given x: f32; given y: f32; !(x < y)"), "!(x < y)");
  EXPECT_EQ(simplified("given x: f32; x + x"), "x + x");
  EXPECT_EQ(simplified("given x: f32; x + 1.0 - 1.0"), "x + 1.0 - 1.0");
}

TEST(Simplify, LeavesOutConversionsThroughWiderTypes) {
  EXPECT_EQ(simplified("given x: bf16; cast(cast(x, f32), bf16)"), "x");
  EXPECT_EQ(simplified("given x: f16; cast(cast(x, f32), f64)"), "cast(x, f64)");
  EXPECT_EQ(simplified("given x: i16; cast(cast(x, i32), i64)"), "cast(x, i64)");
  EXPECT_EQ(simplified("given x: i64; cast(cast(x, i32), i8)"), "cast(x, i8)");
  EXPECT_EQ(simplified("given x: e4m3; cast(cast(x, f32), e4m3)"), "x");
  EXPECT_EQ(simplified("given x: e5m2; cast(cast(x, f32), e5m2)"), "cast(cast(x, f32), e5m2)")
      << "infinity saturates";
  EXPECT_EQ(simplified("given x: f32; cast(cast(x, bf16), f32)"), "cast(cast(x, bf16), f32)");
  EXPECT_EQ(simplified("given x: i64; cast(cast(x, i32), i64)"), "cast(cast(x, i32), i64)");
  EXPECT_EQ(simplified("given x: i16; cast(cast(x, f32), i8)"), "cast(cast(x, f32), i8)")
      << "floats saturate, integers wrap";
}

TEST(Simplify, ReturnsTheSameNodeWhereNothingChanges) {
  for (const char* text : {"i + 1", "bx * 64 + i < n", "min(i, n)", "select(i < n, i, j)",
                           "i // 3 + i % 5", "cast(i, f32)", "(a + b) * 64 + c"}) {
    const Expr e = ir::expr(text);
    EXPECT_TRUE(simplify(e, Bounds()).same_as(e)) << text;
  }
}

// The result equals the original at every point at which the facts hold, and simplifying it again
// changes nothing.
TEST(Simplify, KeepsTheValueOfRandomExpressions) {
  for (const DType dtype : {i64, u8, i8, i32, u64}) {
    int changed = 0;
    for (uint64_t seed = 0; seed < 1500; ++seed) {
      const ir::Var a = ir::Var::make("a", dtype), b = ir::Var::make("b", dtype),
                    c = ir::Var::make("c", dtype);
      testing::RandomExprs random(seed, dtype, {a, b, c});
      const auto constant = [&](int64_t v) { return ir::int_const(dtype, v); };
      const int64_t low = dtype.is_unsigned_int() ? 0 : random.number(-9, 2);
      const int64_t high = low + random.number(1, 12);
      Bounds bounds;
      bounds.bind(a, constant(low), constant(high));
      bounds.bind(b, constant(0), constant(8), 2);
      const Expr fact = random.condition(1);
      bounds.assume(fact);
      const Expr e = seed % 2 == 0 ? random.integer(3) : random.condition(3);
      const Expr result = simplify(e, bounds);
      changed += result.same_as(e) ? 0 : 1;
      ASSERT_TRUE(simplify(result, bounds).same_as(result))
          << to_text(dtype) << " " << ir::print(e) << "\nunder " << ir::print(fact) << "\nbecomes "
          << ir::print(result) << "\nthen " << ir::print(simplify(result, bounds));
      for (int64_t x = low; x < high; ++x) {
        for (int64_t y = 0; y < 8; y += 2) {
          const int64_t z = random.number(dtype.is_unsigned_int() ? 0 : -100, 100);
          const testing::Values at{
              {a, encode(x, dtype)}, {b, encode(y, dtype)}, {c, encode(z, dtype)}};
          if (testing::evaluate(fact, at) == 0) continue;
          ASSERT_EQ(testing::evaluate(result, at), testing::evaluate(e, at))
              << to_text(dtype) << " seed " << seed << ": " << ir::print(e) << "\nunder "
              << ir::print(fact) << "\nbecame " << ir::print(result) << "\nat a = " << x
              << ", b = " << y << ", c = " << z;
        }
      }
    }
    EXPECT_GT(changed, 1000) << to_text(dtype);
  }
}

}  // namespace
}  // namespace tw::pass
