// Types of operators and numbers (language 2.2), constants, positions in the author's source.
#include "tests/lang/lang_testing.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw {
namespace {

/// The text of what an expression over the test tensors becomes.
std::string text(const std::function<Expr(const Tensors&)>& f) {
  std::string result;
  trace_tensors([&](const Tensors& t) {
    result = ir::print(f(t).ir());
    t.a(0) = 0;
  });
  return result;
}
DType type(const std::function<Expr(const Tensors&)>& f) {
  DType result;
  trace_tensors([&](const Tensors& t) {
    result = f(t).dtype();
    t.a(0) = 0;
  });
  return result;
}

/// A variable of a type.
Expr of(DType dtype) { return Expr(ir::Var::make(to_text(dtype), dtype)); }

TEST(Operators, PromoteAsTheTableSays) {
  const std::vector<std::tuple<DType, DType, DType>> table = {
      {i32, i64, i64},   {i32, u32, u32},     {u8, i32, i32},          {i64, f16, f16},
      {u64, bf16, bf16}, {f32, bf16, f32},    {f16, f64, f64},         {bf16, bf16, bf16},
      {f16, f16, f16},   {f8_e4m3, f16, f32}, {f8_e4m3, f8_e5m2, f32}, {i32, f8_e5m2, f32},
      {tf32, f32, f32},  {bool_, i8, i8},
  };
  for (const auto& [a, b, result] : table) {
    EXPECT_EQ((of(a) + of(b)).dtype(), result) << to_text(a) + " + " + to_text(b);
    EXPECT_EQ((of(b) * of(a)).dtype(), result) << to_text(b) + " * " + to_text(a);
    EXPECT_EQ((of(a) < of(b)).dtype(), bool_) << to_text(a) + " < " + to_text(b);
  }
}

TEST(Operators, GiveNumbersTheTypeOfTheOtherOperand) {
  for (const DType dtype : {i8, u16, i32, i64, f16, bf16, f32, f64}) {
    EXPECT_EQ((of(dtype) * 2).dtype(), dtype);
    EXPECT_EQ((2 - of(dtype)).dtype(), dtype);
    EXPECT_EQ((of(dtype) == 1).dtype(), bool_);
  }
  EXPECT_EQ((of(bf16) * 0.5).dtype(), bf16);
  EXPECT_EQ((of(i8) + 127).dtype(), i8);
  EXPECT_EQ((of(i32) * 2.0).dtype(), i32);
  EXPECT_EQ((of(f8_e4m3) * 2.f).dtype(), f32);
}

TEST(Operators, RoundANumberToTheTypeItTakes) {
  const Expr tenth = of(bf16) + 0.1;
  EXPECT_EQ(tenth.ir().as<ir::Op>().args[1].as<ir::Const>().f, 0.10009765625);
}

TEST(Operators, OnNumbersAloneAreComputedWhileTracing) {
  const Expr e = Expr(65536) * 65536 + 1;
  EXPECT_TRUE(e.is_const());
  EXPECT_EQ(e.as_int(), 4294967297);
  EXPECT_EQ((of(i8) + (Expr(3) - 1)).dtype(), i8);
  EXPECT_EQ(cdiv(100, 64), 2);
  EXPECT_EQ(cdiv(Expr(100), 64).as_int(), 2);
}

TEST(Operators, DivideIntegersTowardZero) {
  EXPECT_EQ((Expr(-7) / 2).as_int(), -3);
  EXPECT_EQ((Expr(-7) % 2).as_int(), -1);
  EXPECT_EQ(floordiv(Expr(-7), 2).as_int(), -4);
  EXPECT_EQ(floormod(Expr(-7), 2).as_int(), 1);
  EXPECT_EQ(text([](const Tensors& t) { return t.b / 4 + t.b % 3; }),
            "truncdiv(bx, 4) + truncmod(bx, 3)");
  EXPECT_EQ(text([](const Tensors& t) { return floordiv(t.b, 4) + floormod(t.b, 3); }),
            "bx // 4 + bx % 3");
  EXPECT_EQ(text([](const Tensors& t) { return t.s / 4; }), "s / 4.0");
}

TEST(Operators, CastWhereTypesDiffer) {
  EXPECT_EQ(text([](const Tensors& t) { return t.ids(0) + t.n; }), "cast(ids[0], i64) + n");
  EXPECT_EQ(text([](const Tensors& t) { return t.half(0) * t.s; }), "cast(half[0], f32) * s");
  EXPECT_EQ(text([](const Tensors& t) { return t.n * t.s; }), "cast(n, f32) * s");
}

TEST(Operators, ShiftKeepsTheTypeOfTheLeftOperand) {
  EXPECT_EQ((of(u32) >> of(i64)).dtype(), u32);
  EXPECT_EQ((of(i8) << 3).dtype(), i8);
}

TEST(Operators, DropNeutralElementsOfIndices) {
  EXPECT_EQ(text([](const Tensors& t) { return (t.b * 1 + 0) / 1; }), "bx");
  EXPECT_EQ(text([](const Tensors& t) { return t.b < t.n && true; }), "bx < n");
}

TEST(Operators, TakeAnyIntegerAsACondition) {
  EXPECT_EQ(text([](const Tensors& t) { return t.ids(0) && !t.n; }), "ids[0] != 0 && !(n != 0)");
}

TEST(Functions, KeepTheTypeOfSixteenBitFloats) {
  EXPECT_EQ(exp(of(bf16)).dtype(), bf16);
  EXPECT_EQ(max(of(f16), 0).dtype(), f16);
  EXPECT_EQ(exp(of(f8_e4m3)).dtype(), f32);
  EXPECT_EQ(type([](const Tensors& t) { return gelu(t.half(0)); }), f16);
}

TEST(Functions, OfTheLibraryExpand) {
  EXPECT_EQ(text([](const Tensors& t) { return sigmoid(t.s); }), "rcp(1.0 + exp(-s))");
  EXPECT_EQ(text([](const Tensors& t) { return clamp(t.s, 0, 6); }),
            "select(select(s < 0.0, 0.0, s) > 6.0, 6.0, select(s < 0.0, 0.0, s))");
  EXPECT_EQ(text([](const Tensors& t) { return gelu(t.s); }),
            "s * 0.5 * (1.0 + erf(s * 0.70710677))");
  EXPECT_EQ(text([](const Tensors& t) { return softplus(t.s); }),
            "max(s, 0.0) + log1p(exp(-abs(s)))");
}

TEST(Functions, HaveFastAndExactForms) {
  EXPECT_EQ(text([](const Tensors& t) { return fast::exp(t.s); }), "exp.fast(s)");
  EXPECT_EQ(text([](const Tensors& t) { return fast::sigmoid(t.s); }),
            "fdiv.fast(1.0, 1.0 + exp.fast(-s))");
  EXPECT_EQ(text([](const Tensors& t) { return ieee::fma(t.s, t.s, 1, Rounding::rz); }),
            "fma.ieee.rz(s, s, 1.0)");
}

TEST(Cast, SaysHowItRounds) {
  EXPECT_EQ(text([](const Tensors& t) { return cast(t.s, bf16, {.round = Rounding::rz}); }),
            "cast(s, bf16, rounding=rz)");
  EXPECT_EQ(text([](const Tensors& t) {
              return cast(t.s, f8_e4m3, {.round = Rounding::rs, .rbits = 7u});
            }),
            "cast(s, e4m3, rounding=rs, rbits=7)");
  EXPECT_EQ(text([](const Tensors& t) { return bitcast(t.s, i32); }), "bitcast(s, i32)");
}

TEST(Constants, AreThoseOfTheType) {
  EXPECT_EQ(max_value(i8).as_int(), 127);
  EXPECT_EQ(min_value(i64).as_int(), INT64_MIN);
  EXPECT_EQ(max_value(f8_e4m3).ir().as<ir::Const>().f, 448);
  EXPECT_EQ(eps(bf16).ir().as<ir::Const>().f, 0x1p-7);
  EXPECT_EQ(eps(f32).ir().as<ir::Const>().f, 0x1p-23);
}

// ---- positions ----

/// Lines of all nodes of a kind in a program.
template <class T>
std::vector<int> lines(const ir::Program& p) {
  std::vector<int> result;
  for (const ir::Stmt& launch : p.launches) {
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      if (s.is<T>()) result.push_back(s.loc().line);
    });
    ir::for_each_expr(launch, [&](const ir::Expr& e) {
      if (e.is<T>()) result.push_back(e.loc().line);
    });
  }
  return result;
}

TEST(Positions, ReachEveryNode) {
  int first = 0;
  const ir::Program p = trace_tensors([&](const Tensors& t) {
    first = __LINE__;
    t.a(t.b) = t.s + exp(t.x(t.b, 1));
    if_(t.b < 3, [&] {
      const Buffer f = fragment(f32, {4});
      fill(f, 2 * t.s);
      copy(f, t.a(at(0, 4)));
    });
    serial(4, [&](Expr i) { t.a(i) *= 2; });
  });
  const auto at = [&](int line) { return first + line; };
  EXPECT_EQ(lines<ir::If>(p), std::vector{at(2)});
  EXPECT_EQ(lines<ir::Alloc>(p), std::vector{at(3)});
  EXPECT_EQ(lines<ir::Fill>(p), std::vector{at(4)});
  EXPECT_EQ(lines<ir::Copy>(p), std::vector{at(5)});
  EXPECT_EQ(lines<ir::For>(p), std::vector{at(7)});
  EXPECT_EQ(lines<ir::Store>(p), (std::vector{at(1), at(7)}));
  EXPECT_EQ(lines<ir::Load>(p), (std::vector{at(1), at(7)}));
  ir::for_each_expr(p.launches[0], [&](const ir::Expr& e) {
    if (!e.is<ir::Op>()) return;
    EXPECT_TRUE(std::string(e.loc().file).ends_with("expr_test.cpp")) << ir::print(e);
    EXPECT_GT(e.loc().line, first) << ir::print(e);
  });
}

}  // namespace
}  // namespace tw
