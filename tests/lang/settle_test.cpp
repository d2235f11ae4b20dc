// What of language 2.2 says about loads: bound where they are written, evaluated under their guard,
// computed once.
#include "tests/lang/lang_testing.h"

namespace tw {
namespace {

TEST(Settle, ALoadKeepsTheValueOfItsPoint) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const auto v = t.a(0);
              t.a(0) = 0;
              t.a(1) = v;
            }),
            "let t: f32 = a[0]\n"
            "a[0] = 0.0\n"
            "a[1] = t\n");
}

TEST(Settle, ALoadThatNothingChangesStaysInItsExpression) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.x(0, 1);
              t.a(0) = 0;
              t.a(1) = v;
            }),
            "a[0] = 0.0\n"
            "a[1] = x[0, 1]\n");
}

TEST(Settle, OnlyTheIndexIsBoundIfOnlyItMayChange) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer at = local(i32, {4}, "at");
              const Expr v = t.a(at(1));
              at(1) = 0;
              t.y(0, 0) = v;
            }),
            "alloc at: i32[4] local\n"
            "let t: i32 = at[1]\n"
            "at[1] = 0\n"
            "y[0, 0] = a[cast(t, i64)]\n");
}

TEST(Settle, AWriteToAViewChangesItsBase) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = shared(f32, {8}, "f"), g = reshape(f, {2, 4});
              const Expr v = f(3);
              clear(g);
              t.a(0) = v;
            }),
            "alloc f: f32[8] shared\n"
            "view f_reshape: f32[2, 4] shared of f\n"
            "let t: f32 = f[3]\n"
            "fill f_reshape = 0.0\n"
            "a[0] = t\n");
}

TEST(Settle, TensorsAliasOnlyWhereTheAuthorSaysSo) {
  EXPECT_EQ(traced([](const Tensors& t) {
              no_restrict({t.x, t.y});
              const Expr v = t.x(0, 0), w = t.a(0);
              t.y(0, 0) = 1;
              t.a(1) = v + w;
            }),
            "let t: f32 = x[0, 0]\n"
            "y[0, 0] = 1.0\n"
            "a[1] = t + a[0]\n");
}

TEST(Settle, ALoadInFrontOfALoopIsBoundThere) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(0);
              serial(4, [&](Expr i) {
                t.y(i, 0) = v;
                t.a(0) = 1;
              });
            }),
            "let t: f32 = a[0]\n"
            "for i in 0:4 {\n"
            "  y[i, 0] = t\n"
            "  a[0] = 1.0\n"
            "}\n");
}

TEST(Settle, AWriteInABranchCounts) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(0);
              if_(t.b < 3, [&] { t.a(0) = 1; });
              t.a(1) = v;
            }),
            "let t: f32 = a[0]\n"
            "if bx < 3 {\n"
            "  a[0] = 1.0\n"
            "}\n"
            "a[1] = t\n");
}

TEST(Settle, AWriteInTheOtherBranchDoesNot) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(0);
              if_(t.b < 3, [&] { t.a(0) = 1; }, [&] { t.a(1) = v; });
            }),
            "if bx < 3 {\n"
            "  a[0] = 1.0\n"
            "} else {\n"
            "  a[1] = a[0]\n"
            "}\n");
}

TEST(Settle, AVariableGivesItsPresentValue) {
  EXPECT_EQ(traced([](const Tensors& t) {
              Variable v = var(i32, 1, "v");
              const Expr old = v;
              v += 2;
              t.a(v) = cast(old, f32);
            }),
            "var v: i32 = 1\n"
            "let t: i32 = v\n"
            "v = v + 2\n"
            "a[cast(v, i64)] = cast(t, f32)\n");
}

// ---- guards ----

TEST(Settle, TheRightOperandOfAndKeepsItsLoad) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr i = t.b + 1;
              if_(i < t.n && t.a(i) > 0, [&] { t.y(0, 0) = 1; });
            }),
            "if bx + 1 < n && a[bx + 1] > 0.0 {\n"
            "  y[0, 0] = 1.0\n"
            "}\n");
}

TEST(Settle, AGuardedLoadThatChangesIsReadAtItsPointUnderItsGuard) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr c = t.b < t.n && t.a(t.b) > 0;
              t.a(0) = 5;
              if_(c, [&] { t.y(0, 0) = 1; });
            }),
            "let t: f32 = if_else(bx < n, a[bx], 0.0)\n"
            "a[0] = 5.0\n"
            "if bx < n && t > 0.0 {\n"
            "  y[0, 0] = 1.0\n"
            "}\n");
}

TEST(Settle, TheRightOperandOfOrAndBothBranchesAreGuarded) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr outside = t.b >= t.n || t.a(t.b) > 0;
              const Expr chosen = if_else(t.b > 7, t.a(t.b), t.a(t.b + 1));
              t.a(0) = 5;
              t.a(1) = select(outside, chosen, 2);
            }),
            "let t: f32 = if_else(!(bx >= n), a[bx], 0.0)\n"
            "let t_1: f32 = if_else(bx > 7, a[bx], 0.0)\n"
            "let t_2: f32 = if_else(!(bx > 7), a[bx + 1], 0.0)\n"
            "a[0] = 5.0\n"
            "a[1] = select(bx >= n || t > 0.0, if_else(bx > 7, t_1, t_2), 2.0)\n");
}

TEST(Settle, SelectGuardsNothing) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = select(t.b > 7, t.a(t.b), 0);
              t.a(0) = 5;
              t.a(1) = v;
            }),
            "let t: f32 = a[bx]\n"
            "a[0] = 5.0\n"
            "a[1] = select(bx > 7, t, 0.0)\n");
}

TEST(Settle, ALoadUsedTwiceUnderOneGuardIsReadOnceUnderIt) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(t.b);
              if_(t.b < t.n && v > 0 && v < 5, [&] { t.y(0, 0) = 1; });
            }),
            "let t: f32 = if_else(bx < n, a[bx], 0.0)\n"
            "if bx < n && t > 0.0 && t < 5.0 {\n"
            "  y[0, 0] = 1.0\n"
            "}\n");
}

TEST(Settle, ALoadUsedWithAndWithoutGuardIsReadWithout) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(t.b);
              t.a(0) = 3;
              t.a(1) = if_else(t.b < 4, v, 0) + v;
            }),
            "let t: f32 = a[bx]\n"
            "a[0] = 3.0\n"
            "a[1] = if_else(bx < 4, t, 0.0) + t\n");
}

TEST(Settle, AGuardThatWasWrittenLaterIsReplacedByTheBounds) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = local(f32, {8}, "f");
              const Expr v = f(t.b);
              f(0) = 5;
              const Expr guard = f(1) > 0;
              t.a(0) = if_else(guard, v, 0);
            }),
            "alloc f: f32[8] local\n"
            "let t: f32 = if_else(0 <= bx && bx < 8, f[bx], 0.0)\n"
            "f[0] = 5.0\n"
            "a[0] = if_else(f[1] > 0.0, t, 0.0)\n");
}

TEST(Settle, ADivisionIsNotPulledOutOfItsGuard) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr q = t.n / t.ids(0);
              t.a(0) = cast(if_else(t.ids(0) != 0, q * q, 0), f32);
            }),
            "let t: i64 = if_else(ids[0] != 0, truncdiv(n, cast(ids[0], i64)), 0)\n"
            "a[0] = cast(if_else(ids[0] != 0, t * t, 0), f32)\n");
}

TEST(Settle, UnderOtherGuardsALoadIsReadForEach) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = local(f32, {4}, "f");
              const Expr v = f(t.b);
              f(0) = 0;
              t.a(0) = if_else(t.b < 4, v, 0) + if_else(t.n > 4, v, 0);
            }),
            "alloc f: f32[4] local\n"
            "let t: f32 = if_else(bx < 4, f[bx], 0.0)\n"
            "let t_1: f32 = if_else(n > 4, f[bx], 0.0)\n"
            "f[0] = 0.0\n"
            "a[0] = if_else(bx < 4, t, 0.0) + if_else(n > 4, t_1, 0.0)\n");
}

TEST(Settle, InBothBranchesALoadIsReadAnyway) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = t.a(t.b);
              t.y(0, 0) = if_else(t.b < 4, v * 2, v * 3);
            }),
            "let t: f32 = a[bx]\n"
            "y[0, 0] = if_else(bx < 4, t * 2.0, t * 3.0)\n");
}

TEST(Settle, UnderManyGuardsALoadChecksItsOwnBounds) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Buffer f = local(i32, {4}, "f");
              const Expr v = f(t.b);
              Expr sum = if_else(t.n > 0, v, 0);
              for (int n = 1; n < 5; ++n) sum = sum + if_else(t.n > n, v, 0);
              f(0) = 0;
              t.a(sum) = 1;
            }),
            "alloc f: i32[4] local\n"
            "let t: i32 = if_else(0 <= bx && bx < 4, f[bx], 0)\n"
            "f[0] = 0\n"
            "a[cast(if_else(n > 0, t, 0) + if_else(n > 1, t, 0) + if_else(n > 2, t, 0) + "
            "if_else(n > 3, t, 0) + if_else(n > 4, t, 0), i64)] = 1.0\n");
}

TEST(Settle, NestedChoicesDoNotMultiply) {
  const ir::Program p = trace_tensors([](const Tensors& t) {
    Expr v = t.a(t.b);
    for (int n = 0; n < 60; ++n) v = if_else(t.n > n, v + n, v * n);
    t.y(0, 0) = v;
  });
  EXPECT_LT(ir::print(p).size(), 10000u);
}

// ---- sharing ----

TEST(Settle, APartUsedTwiceIsComputedOnce) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = exp(t.s);
              t.a(0) = v * v + v;
            }),
            "let t: f32 = exp(s)\n"
            "a[0] = t * t + t\n");
}

TEST(Settle, RepeatedSquaringStaysSmall) {
  const ir::Program p = trace_tensors([](const Tensors& t) {
    Expr v = t.s;
    for (int n = 0; n < 200; ++n) v = v * v + 1;
    t.a(0) = v;
  });
  EXPECT_LT(ir::print(p).size(), 10000u);
}

TEST(Settle, ShortIndicesAreRepeated) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr row = t.b * 4 + 1;
              t.y(row, 0) = t.x(row, 1);
            }),
            "y[bx * 4 + 1, 0] = x[bx * 4 + 1, 1]\n");
}

TEST(Settle, AWhileConditionReadsAnew) {
  EXPECT_EQ(traced([](const Tensors& t) {
              Variable v = var(f32, 0, "v");
              const Expr now = v;
              while_(now * now < 9, [&] { v += t.a(0); });
            }),
            "var v: f32 = 0.0\n"
            "while v * v < 9.0 {\n"
            "  v = v + a[0]\n"
            "}\n");
}

TEST(Settle, LetEvaluatesWhereItStands) {
  EXPECT_EQ(traced([](const Tensors& t) {
              const Expr v = let(t.a(0) + 1, "v");
              t.a(0) = v;
              t.a(1) = v;
            }),
            "let v: f32 = a[0] + 1.0\n"
            "a[0] = v\n"
            "a[1] = v\n");
}

}  // namespace
}  // namespace tw
