#include "tilewright/pass/bounds.h"

#include "tests/ir/ir_testing.h"
#include "tests/pass/random_exprs.h"
#include "tilewright/ir/visit.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Var;

/// Bounds and conditions over names: `given("i", 0, 64).proves("i < 64")`.
class Known {
 public:
  Known& given(const std::string& name, const std::string& lo, const std::string& hi,
               int64_t step = 1) {
    const Expr low = lo.empty() ? Expr() : expr(lo), high = hi.empty() ? Expr() : expr(hi);
    bounds.bind(var(name), low, high, step);
    return *this;
  }
  Known& value(const std::string& name, const std::string& text) {
    bounds.bind_value(var(name), expr(text));
    return *this;
  }
  Known& assume(const std::string& text, bool holds = true) {
    bounds.assume(expr(text), holds);
    return *this;
  }
  bool proves(const std::string& text) { return bounds.proves(expr(text)); }
  bool disproves(const std::string& text) { return bounds.disproves(expr(text)); }
  Expr expr(const std::string& text) {
    const Expr parsed = ir::expr(text);
    ir::Substitution shared;
    ir::for_each_expr(parsed, [&](const Expr& e) {
      if (!e.is<ir::VarNode>()) return;
      const Var& known = var(Var::of(e).name(), e.dtype());
      shared[Var::of(e)] = known;
    });
    return ir::substitute(parsed, shared);
  }
  Bounds bounds;

 private:
  const Var& var(const std::string& name, DType dtype = i64) {
    const auto known = vars_.find(name);
    if (known != vars_.end()) return known->second;
    return vars_.emplace(name, Var::make(name, dtype)).first->second;
  }
  std::map<std::string, Var> vars_;
};

TEST(Bounds, ProvesThatATileIsInsideAMultipleOfItsSize) {
  Known k;
  k.given("n", "0", "");
  k.assume("n % 64 == 0");
  k.given("bx", "0", "(n + 63) // 64").given("i", "0", "64");
  EXPECT_TRUE(k.proves("bx * 64 + i < n"));
  EXPECT_TRUE(k.proves("0 <= bx * 64 + i"));
  EXPECT_FALSE(k.proves("bx * 64 + i + 1 < n"));
}

TEST(Bounds, ProvesOfARaggedTileOnlyItsFirstRow) {
  Known k;
  k.given("n", "0", "").given("bx", "0", "(n + 63) // 64").given("i", "0", "64");
  EXPECT_TRUE(k.proves("bx * 64 < n"));
  EXPECT_TRUE(k.proves("0 < n")) << "there is a block";
  EXPECT_FALSE(k.proves("bx * 64 + i < n"));
  EXPECT_TRUE(k.proves("bx * 64 + i < n + 63"));
}

TEST(Bounds, ProvesRowsOfSymbolicSize) {
  Known k;
  k.given("n", "0", "").given("rows", "1", "").given("bx", "0", "(n + rows - 1) // rows");
  EXPECT_TRUE(k.proves("bx * rows < n"));
  EXPECT_FALSE(k.proves("bx * rows + 1 < n"));
  k.given("i", "0", "n").given("j", "0", "rows");
  EXPECT_TRUE(k.proves("i * rows + j < n * rows"));
  EXPECT_TRUE(k.proves("rows * i + j < n * rows"));
  EXPECT_TRUE(k.proves("0 <= j + i * rows"));
}

TEST(Bounds, FollowsLoopsWithSteps) {
  Known k;
  k.given("n", "0", "").assume("n % 16 == 0");
  k.given("i", "0", "n", 16).given("j", "0", "16");
  EXPECT_TRUE(k.proves("i + j < n"));
  EXPECT_TRUE(k.proves("(i + 5) % 16 == 5"));
  EXPECT_TRUE(k.proves("i % 8 == 0"));
  EXPECT_FALSE(k.proves("i % 32 == 0"));
}

TEST(Bounds, ChainsConditions) {
  Known k;
  k.assume("i < j && j < n").assume("n <= m");
  EXPECT_TRUE(k.proves("i < m"));
  EXPECT_TRUE(k.proves("i + 2 <= m"));
  EXPECT_TRUE(k.disproves("i == j"));
  EXPECT_TRUE(k.disproves("m < i || n == j"));
  EXPECT_TRUE(k.proves("i * 8 + 8 <= m * 8"));
  EXPECT_FALSE(k.proves("i + 3 <= m"));
}

TEST(Bounds, TakesFailedConditions) {
  Known k;
  k.given("n", "0", "").assume("i < n || n == 0", false);
  EXPECT_TRUE(k.proves("n <= i"));
  EXPECT_TRUE(k.proves("n != 0"));
}

TEST(Bounds, SeesThroughLets) {
  Known k;
  k.given("b", "0", "8").value("base", "b * 64").given("i", "0", "64");
  EXPECT_TRUE(k.proves("base + i < 512"));
  EXPECT_TRUE(k.proves("base % 64 == 0"));
  EXPECT_TRUE(k.proves("base == b * 64"));
}

TEST(Bounds, ReplacesQuotientsRemaindersMinAndMax) {
  Known k;
  k.given("x", "0", "").given("n", "1", "");
  EXPECT_TRUE(k.proves("x // 8 * 8 <= x"));
  EXPECT_TRUE(k.proves("x < x // 8 * 8 + 8"));
  EXPECT_TRUE(k.proves("x % n < n"));
  EXPECT_TRUE(k.proves("x % n <= x"));
  EXPECT_TRUE(k.proves("x // n * n <= x"));
  EXPECT_TRUE(k.proves("min(x, n - 1) < n"));
  EXPECT_TRUE(k.proves("x <= max(n, x)"));
  EXPECT_TRUE(k.proves("select(x < n, x, n) <= x + n"));
  EXPECT_FALSE(k.proves("max(x, n - 1) < n"));
}

TEST(Bounds, DistrustsSumsThatMayWrap) {
  Known k;
  EXPECT_FALSE(k.proves("given x: u32; x < x + u32(1)"));
  EXPECT_FALSE(k.proves("given x: u32; u32(0) <= x - u32(1) && x - u32(1) < x"));
  EXPECT_TRUE(k.proves("given w: u8; cast(w, i64) < 256"));
  EXPECT_TRUE(k.proves("given y: u8; cast(y, i64) + 1 == cast(cast(y, i32) + 1, i64)"));
  EXPECT_FALSE(k.proves("given z: i32; cast(z + 1, i64) == cast(z, i64) + 1"));
}

TEST(Bounds, LearnsNothingFromMemory) {
  Known k;
  const Expr condition = ir::expr("given s: i64[4] shared; s[0] < 4");
  k.bounds.assume(condition);
  EXPECT_FALSE(k.bounds.proves(condition));
}

TEST(Bounds, ForgetsAtTheEndOfAScope) {
  Known k;
  k.given("i", "0", "64");
  {
    const Bounds::Scope scope(k.bounds);
    k.assume("i < 8");
    EXPECT_TRUE(k.proves("i < 8"));
  }
  EXPECT_FALSE(k.proves("i < 8"));
  EXPECT_TRUE(k.proves("i < 64"));
}

TEST(Bounds, TakesTheFactsOfSymbols) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  symbol n: i64 with multiple_of=16, min=16, max=64\n}\n");
  const Bounds bounds(program);
  const ValueSet n = bounds.values(program.symbols[0].var);
  EXPECT_EQ(n.lo, 16);
  EXPECT_EQ(n.hi, 64);
  EXPECT_EQ(n.modulus, 16);
}

// Variables range over small boxes whose ends depend on each other; what is proven must be true of
// every point at which the assumptions hold.
TEST(Bounds, NeverProvesWhatIsFalse) {
  int proven = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    for (const DType dtype : {i64, u8, i8}) {
      const Var a = Var::make("a", dtype), b = Var::make("b", dtype), c = Var::make("c", dtype);
      testing::RandomExprs random(seed, dtype, {a, b, c});
      const auto constant = [&](int64_t v) { return ir::int_const(dtype, v); };
      const int64_t low = dtype == u8 ? 0 : random.number(-3, 2), high = low + random.number(1, 6);
      const int64_t step = random.number(1, 3), limit = random.number(1, 8);
      Bounds bounds;
      bounds.bind(a, constant(low), constant(high), step);
      bounds.bind(b, constant(0), a);
      bounds.bind(c, a, constant(limit));
      const Expr assumed = random.condition(1), condition = random.condition(2);
      bounds.assume(assumed);
      const bool proves = bounds.proves(condition), disproves = bounds.disproves(condition);
      proven += (proves || disproves) ? 1 : 0;
      if (!proves && !disproves) continue;
      for (int64_t x = low; x < high; x += step) {
        for (int64_t y = 0; y < x; ++y) {
          for (int64_t z = x; z < limit; ++z) {
            const testing::Values at{
                {a, encode(x, dtype)}, {b, encode(y, dtype)}, {c, encode(z, dtype)}};
            if (testing::evaluate(assumed, at) == 0) continue;
            ASSERT_EQ(testing::evaluate(condition, at), proves ? 1U : 0U)
                << "seed " << seed << ", " << to_text(dtype) << ": " << ir::print(condition)
                << " under " << ir::print(assumed) << " at a = " << x << ", b = " << y
                << ", c = " << z;
          }
        }
      }
    }
  }
  EXPECT_GT(proven, 1000);
}

TEST(Bounds, AProductOfNarrowValuesDoesNotWrapInTheirType) {
  const Bounds bounds;
  EXPECT_FALSE(bounds.proves(
      ir::parse_expr("given x: i32\ngiven s: u8\n0 <= cast(s, i32) * truncmod(x, 327)")));
  EXPECT_FALSE(
      bounds.proves(ir::parse_expr("given s: u8\ngiven t: u8\ncast(s, i32) * cast(t, i32) < 300")));
}

}  // namespace
}  // namespace tw::pass
