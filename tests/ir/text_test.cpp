#include "tilewright/ir/text.h"

#include <cmath>
#include <limits>

#include "tests/ir/ir_testing.h"
#include "tilewright/ir/build.h"

namespace tw::ir {
namespace {

/// The text prints as itself.
void expect_stable(const std::string& text) {
  const Stmt stmt = parse(text);
  EXPECT_EQ(print(stmt), text);
  EXPECT_IR_EQ(parse_stmt(print(stmt, {.free = true})), stmt);
}

const char* const kScale = R"(tilewright ir 1
program "scale add" {
  symbol n: i64 with multiple_of=16, max=65536
  symbol m: i64
  input X: bf16[n, 64] with strides=[m, 1], align=16
  output Y: bf16[n, 64]
  inout Z: f32[n, 64] with safe_value=1.5, l2_persist=f64(0.25), may_alias, nullable
  pointer P: u8[9223372036854775807]
  scalar a: f32
  scalar m: i64
  workspace W: f32[n] with zero
  option fast_math="on"
  launch bx in (n + 63) // 64, by in 2 with name="main", threads=[128], raster=row {
    alloc t: f32[64, 64] fragment with layout="f"
    view v: f32[4096] fragment of t
    var sum: f32 = 0.0
    alloc r: f32[64] reducer with reduce=max
    copy X[bx * 64 :+ 64, 0 :+ 64] -> t with prefer=tma, evict=first
    for i in 0:n:2 unrolled with factor=4 {
      sum = sum + a * cast(X[i, 0], f32)
    }
    parallel i in 64, j in 64 with max_vector=4 {
      let v_1: f32 = exp.fast(t[i, j])
      t![i, j] = max(v_1, 2.0 * W[i])
    }
    for k in 0:n pipelined with stages=3, stage=[0, 1], order=[0, 1] {
      if k == 0 {
        fill t = 0.0
      } else {
        continue
      }
    }
    init r = 1.0
    update r[3] = v[7] + 1.0
    finalize r -> t[0, 0 :+ 64]
    gemm t, t -> t with trans_b, clear=bx == 0, policy=full_row
    reduce sum t -> t[0 :+ 64, 0] over [1] with clear=false
    scan sum t -> t along 1 with reverse
    atomic add W[bx], 1.0 with order=acq_rel, result=old: f32
    Z[bx, 0] = old with streaming
    while sum < 3.0 {
      sum = sum + 1.0
      break
    }
    print "sum\n" [sum, bx] with buffer=t
    assert bx < n, "inside" [bx]
    assume n % 64 == 0
    barrier with id=1, threads=64, arrive_only
    async bulk X[bx, 0 :+ 64] -> t[0, 0 :+ 64] on W[bx] with evict=first
    async elements X[bx, 0 :+ 4] -> t[0, 0 :+ 4] with valid=bx < n
    sync copies_commit
    sync bulk_wait, 0
    sync phase_try_wait on W[0], bx % 2 with result=over: bool
  }
}
)";

TEST(Text, PrintsAProgramAsItWasWritten) {
  const Program program = parse_program(kScale);
  EXPECT_EQ(print(program), kScale);
  EXPECT_IR_EQ(parse_program(print(program)), program);
}

TEST(Text, WritesOperatorsWithAsFewBracketsAsPossible) {
  for (const char* text : {
           "s[a + b * c] = 1.0",
           "s[(a + b) * c] = 1.0",
           "s[a - (b - c)] = 1.0",
           "s[a - b - c] = 1.0",
           "s[-a // -(b + 1) % c] = 1.0",
           "s[a << 2 | b & ~c ^ 1] = 1.0",
           "s[select(a < b && !(b == c) || a >= 0, a, b)] = 1.0",
           "s[min(a, 0)] = s[0] / s[1] * 2.0 - -s[2]",
           "s[0] = fma.ieee.rz(s[0], 2.0, s[1]) + neg(1.0)",
           "s[0] = add.fast(s[0], 1.0)",
           "s[0] = cast(popcount(a), f32)",
           "s[0] = cast(s[1] * 3.0, f32, rounding=rs, saturate=false, rbits=7)",
           "s[bitcast(s[0], i32)] = if_else(isnan(s[0]), 0.0, s![1])",
           "s[0] = cast((a < b) == (b < c), f32)",
           "s[truncdiv(a, 7)] = s[a] with streaming",
       }) {
    expect_stable(text);
  }
}

TEST(Text, KeepsTheDifferenceBetweenABlockAndItsOnlyStatement) {
  const Stmt store = parse("s[0] = 1");
  const Stmt single = make<Seq>({}, [&](Seq& n) { n.stmts = {store}; });
  const Stmt empty = seq({});
  for (const Stmt& body : {store, single, empty, seq({store, store}),
                           make<Seq>({}, [&](Seq& n) { n.stmts = {single}; }),
                           make<Seq>({}, [&](Seq& n) { n.stmts = {empty, single}; })}) {
    const Stmt loop = for_(Var::make("i", i64), index(0), index(4), body);
    EXPECT_IR_EQ(parse_stmt(print(loop, {.free = true})), loop);
    EXPECT_IR_EQ(parse_stmt(print(body, {.free = true})), body);
  }
}

TEST(Text, KeepsEveryLiteralExactly) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {
      0.0,   -0.0,     1,   0.1,  1.0 / 3,      5e-324,        1e-45,
      1e300, 16777217, inf, -inf, std::nan(""), -std::nan(""), std::nan("0x123")};
  for (const DType dtype : all_dtypes()) {
    if (!dtype.is_float()) continue;
    for (const double value : values) {
      const Expr e = float_const(dtype, value);
      EXPECT_IR_EQ(parse_expr(print(e)), e);
      const Stmt s =
          store(make_buffer("s", dtype, MemSpace::shared, std::vector<int64_t>{4}), {index(1)}, e);
      EXPECT_IR_EQ(parse_stmt(print(s, {.free = true})), s);
    }
  }
  for (const DType dtype : all_dtypes()) {
    if (!dtype.is_int()) continue;
    for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
      const Expr e = int_const(dtype, value);
      EXPECT_IR_EQ(parse_expr(print(e)), e);
    }
  }
  EXPECT_EQ(print(int_const(u64, -1)), "u64(18446744073709551615)");
  EXPECT_EQ(print(float_const(f32, 0.1)), "0.1");
  EXPECT_EQ(print(float_const(bf16, -0.0)), "bf16(-0.0)");
}

TEST(Text, GivesLiteralsTheTypeOfTheirPlace) {
  EXPECT_IR_EQ(parse_expr("given x: bf16; 1 + x * 2 < 3"),
               parse_expr("given x: bf16; bf16(1.0) + x * bf16(2.0) < bf16(3.0)"));
  EXPECT_IR_EQ(parse("given s: i8[4]; s[1] = 1"), parse("given s: i8[4]; s[i64(1)] = i8(1)"));
  EXPECT_EQ(print(parse_expr("given x: i32; x + i64(1)")), "x + i64(1)");
  EXPECT_EQ(print(parse_expr("2 + 3")), "2 + 3");
  EXPECT_EQ(print(parse_expr("u8(2) < u8(3)")), "u8(2) < u8(3)");
}

TEST(Text, PrintsVariablesOfOneNameApart) {
  const Var a = Var::make("x", i64), b = Var::make("x", i64), c = Var::make("x_1", i64);
  const Buffer s = make_buffer("x", f32, MemSpace::shared, std::vector<int64_t>{4});
  const Var copy = Var::make("copy", i64), odd = Var::make("2 b", i64);
  const Stmt stmt = seq({let(a, index(1)), let(b, add(a, index(1))), let(c, add(a, b)),
                         let(copy, c), let(odd, copy), store(s, {add(b, odd)}, zero(f32))});
  EXPECT_EQ(print(stmt), R"(let x: i64 = 1
let x_1: i64 = x + 1
let x_1_1: i64 = x + x_1
let copy_1: i64 = x_1_1
let _2_b: i64 = copy_1
x_2[x_1 + _2_b] = 0.0)");
  EXPECT_IR_EQ(parse_stmt("given x_2: f32[4] shared\n" + print(stmt)),
               parse_stmt("given x_2: f32[4] shared let a = 1 let b = a + 1 let c = a + b "
                          "let d = c let e = d x_2[b + e] = 0"));
}

TEST(Text, ReusesANameWhereItIsNotVisible) {
  const Var i = Var::make("i", i64), j = Var::make("i", i64);
  const Buffer s = make_buffer("s", f32, MemSpace::shared, std::vector<int64_t>{4});
  const Stmt two = seq({for_(i, index(0), index(4), store(s, {i}, zero(f32))),
                        for_(j, index(0), index(4), store(s, {j}, zero(f32)))});
  const std::string loop = "for i in 0:4 {\n  s[i] = 0.0\n}";
  EXPECT_EQ(print(two), loop + "\n" + loop);
}

TEST(Text, CanonicalTextIsWithoutNamesAndPositions) {
  std::string other = kScale;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"bx", "block"},
                                 {"old", "bx"},
                                 {"scale add", "x"},
                                 {"\"main\"", "\"q\""}}) {
    for (size_t at = 0; (at = other.find(from, at)) != other.npos; at += to.size()) {
      other.replace(at, from.size(), to);
    }
  }
  const Program a = parse_program(kScale), b = parse_program(other, {.locate = true});
  EXPECT_NE(print(a), print(b));
  EXPECT_IR_EQ(a, b);
  EXPECT_EQ(canonical_text(a), canonical_text(b));
  other.replace(other.find("max_vector=4"), 12, "max_vector=8");
  EXPECT_NE(canonical_text(a), canonical_text(parse_program(other)));
}

TEST(Text, KeepsPositions) {
  const std::string text = R"(let x: i64 = (2 * a @ "b.cpp":3) + 1 @ "dir/a.cpp":7
for i in 0:n @ "a.cpp":8 {
  s[i] = (s[0] @ "b.cpp":9) * 2.0
  s[i] = s[1] @ "a.cpp":10
})";
  const Stmt stmt = parse(text);
  EXPECT_EQ(print(stmt, {.locations = true}), text);
  const auto& list = stmt.as<Seq>().stmts;
  EXPECT_EQ(list[0].loc().text(), "a.cpp:7");
  const auto& body = list[1].as<For>().body.as<Seq>().stmts;
  EXPECT_EQ(body[0].loc().text(), "a.cpp:8");
  const auto& product = body[0].as<Store>().value.as<Op>();
  EXPECT_EQ(product.loc.text(), "a.cpp:8");
  EXPECT_EQ(product.args[0].loc().text(), "b.cpp:9");
  EXPECT_EQ(body[1].as<Store>().value.loc().text(), "a.cpp:10");
}

TEST(Text, LocatesWhatHasNoPositionInTheTextItself) {
  const Stmt stmt = parse_stmt("var x: f32\n\nx = 1", {.file = "k.tw", .locate = true});
  EXPECT_EQ(stmt.as<Seq>().stmts[1].loc().text(), "k.tw:3");
  EXPECT_EQ(stmt.as<Seq>().stmts[0].as<Alloc>().buffer.loc().text(), "k.tw:1");
}

std::string message(const std::string& text) {
  try {
    parse_stmt(text, {.file = "t.tw"});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, SaysWhereItStoppedAndWhatItExpected) {
  EXPECT_EQ(message("var x: f32\n  x = (1 + "),
            "t.tw:2: column 12: expected an expression, found the end\n  note: x = (1 + ");
  EXPECT_EQ(message("var x: f99"),
            "t.tw:1: column 8: expected a dtype, found 'f99'\n"
            "  note: var x: f99");
  EXPECT_EQ(message("y = 1"), "t.tw:1: column 1: unknown name 'y'\n  note: y = 1");
  EXPECT_EQ(message("given s: f32[2, 2] s[1] = 1"),
            "t.tw:1: column 20: s has 2 dimensions, found 1 indices\n"
            "  note: given s: f32[2, 2] s[1] = 1");
  EXPECT_EQ(message("given s: i8[2] s[1] = 300"),
            "t.tw:1: column 23: 300 is not a value of i8\n  note: given s: i8[2] s[1] = 300");
  EXPECT_EQ(message("given s: i8[2] s[1] = 1.5"),
            "t.tw:1: column 23: expected a literal of i8, found 1.5\n"
            "  note: given s: i8[2] s[1] = 1.5");
  EXPECT_EQ(message("break with width=3"),
            "t.tw:1: column 12: no field 'width' here\n  note: break with width=3");
  EXPECT_EQ(message("if 1 < 2 < 3 { }"),
            "t.tw:1: column 10: comparisons do not chain; write brackets\n"
            "  note: if 1 < 2 < 3 { }");
  EXPECT_EQ(message("print \"a"),
            "t.tw:1: column 7: expected '\"' at the end of the string\n  note: print \"a");
  EXPECT_EQ(message("for i in 0:4 { break"),
            "t.tw:1: column 21: expected a statement, found the end\n"
            "  note: for i in 0:4 { break");
  EXPECT_EQ(
      message("let x = f32(y)"),
      "t.tw:1: column 13: expected a literal of f32 (a conversion is cast(x, f32)), found 'y'\n"
      "  note: let x = f32(y)");
}

TEST(Text, RefusesAnotherVersionByName) {
  try {
    parse_program("tilewright ir 7\nprogram {}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "text:1: column 15: this is format version 7; only version 1 can be read\n"
                 "  note: tilewright ir 7");
  }
}

/// `n` times a text.
std::string times(int n, const std::string& text) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

TEST(Text, ReadsExpressionsAsHighAsTheyMayBe) {
  const std::vector<std::pair<std::string, std::string>> around = {
      {"a - (", ")"}, {"max(1, ", ")"}, {"cast(", ", i64)"}, {"s[", "]"}, {"-", ""}};
  for (const auto& [before, after] : around) {
    const std::string text = "given s: i64[4] shared\ngiven a: i64\n" +
                             times(kMaxHeight - 1, before) + "a" + times(kMaxHeight - 1, after);
    const Expr e = parse_expr(text);
    EXPECT_EQ(e->height, kMaxHeight) << before;
    const std::string printed = print(e, {.free = true});
    EXPECT_EQ(print(parse_expr(printed), {.free = true}), printed);
  }
  std::string located = "a";
  for (int i = 1; i < kMaxHeight; ++i)
    located = "(-" + located + " @ \"f\":" + std::to_string(i) + ")";
  EXPECT_EQ(print(parse_expr("given a: i64\n" + located), {.locations = true}), located);
}

TEST(Text, ReadsStatementsInsideEachOther) {
  const std::string text =
      times(2 * kMaxNesting - 1, "if a < 1 { ") + "s[0] = 1" + times(2 * kMaxNesting - 1, " }");
  const Stmt stmt = parse("given a: i64 given s: f32[4] shared " + text);
  EXPECT_IR_EQ(parse_stmt(print(stmt, {.free = true})), stmt);
}

TEST(Text, ReadsAnyNumberOfBrackets) {
  EXPECT_EQ(print(parse_expr(times(100'000, "(") + "1 + 2" + times(100'000, ")"))), "1 + 2");
}

TEST(Text, RefusesWhatIsNestedTooDeeply) {
  const std::string high =
      "more than 2000 operations on top of each other; bind a part of them with let\n  note: ";
  EXPECT_EQ(message("given x: i64 let y = " + times(100'000, "-") + "x"),
            "t.tw:1: column 100023: " + high + "given x: i64 let y = " + times(79, "-"));
  EXPECT_EQ(
      message("given x: i64 let y = x" + times(100'000, " + x")),
      "t.tw:1: column 8024: " + high + "given x: i64 let y = x" + times(78, " + x").substr(0, 78));
  EXPECT_EQ(message(times(100'000, "{ ")),
            "t.tw:1: column 1001: more than 500 statements inside each other\n  note: " +
                times(50, "{ "));
  EXPECT_EQ(message("given x: i64 let y = " + times(100'000, "(")),
            "t.tw:1: column 100022: expected an expression, found the end\n  note: given x: i64 "
            "let y = " +
                times(79, "("));
}

}  // namespace
}  // namespace tw::ir
