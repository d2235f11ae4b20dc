#include "tilewright/ir/verify.h"

#include "tests/ir/ir_testing.h"
#include "tilewright/ir/build.h"

namespace tw::ir {
namespace {

using testing::AssertionResult;

/// A program around statements of a launch; n: i64, X and Y: f32[n, 64], t: f32[8, 8] fragment.
Program program(const std::string& body) {
  return parse_program(R"(tilewright ir 1 program "p" { symbol n input X: f32[n, 64]
      output Y: f32[n, 64] scalar a: f32 launch bx in n {
      alloc t: f32[8, 8] fragment )" +
                       body + " } }");
}

std::vector<std::string> found(const std::string& body, Level level = Level::tile) {
  return violations(program(body), level);
}
using Found = std::vector<std::string>;

TEST(Verify, AcceptsWhatIsWellFormed) {
  EXPECT_EQ(found(R"(var v: f32 = 1.0 alloc r: f32[8] reducer view u: f32[64] fragment of t
                     for i in 0:n { if i == 3 { break } v = v + X[i, 0] }
                     parallel i in 8, j in 8 { let e = t[i, j] * 2 t[i, j] = e update r[i] = e }
                     init r finalize r -> t[0, 0 :+ 8] copy X[bx, 0 :+ 8] -> t[0, 0 :+ 8]
                     gemm t, t -> t with clear=bx == 0 reduce max t -> r over [0]
                     atomic add Y[0, 0], 1.0 with result=old: f32 Y[bx, 1] = old)"),
            Found());
}

TEST(Verify, FindsOperandsOfWrongTypes) {
  const Var x = Var::make("x", f32), y = Var::make("y", i32);
  const auto with = [&](const Expr& value) {
    Program p = program("");
    const Launch& old = p.launches[0].as<Launch>();
    const Stmt body =
        seq({let(x, zero(f32)), let(y, zero(i32)), let(Var::make("z", value.dtype()), value)});
    p.launches = {make<Launch>({}, [&](Launch& n) {
      n.grid = old.grid;
      n.block_vars = old.block_vars;
      n.body = body;
    })};
    return violations(p, Level::tile);
  };
  EXPECT_EQ(with(op(OpCode::add, f32, {x, y})),
            Found({"`let z: f32 = x + y`: add of f32 and i32 in `x + y`"}));
  EXPECT_EQ(with(op(OpCode::add, i32, {x, x})),
            Found({"`let z: i32 = add(x, x, i32)`: add of f32 gives f32, not i32"}));
  EXPECT_EQ(with(op(OpCode::bit_and, f32, {x, x})),
            Found({"`let z: f32 = x & x`: bit_and is not defined for f32 in `x & x`"}));
  EXPECT_EQ(with(op(OpCode::exp, i32, {y})),
            Found({"`let z: i32 = exp(y)`: exp is not defined for i32 in `exp(y)`"}));
  EXPECT_EQ(with(op(OpCode::select, f32, {x, x, x})),
            Found({"`let z: f32 = select(x, x, x)`: select: the condition is f32"}));
  EXPECT_EQ(with(op(OpCode::bitcast, i64, {x})),
            Found({"`let z: i64 = bitcast(x, i64)`: bitcast of f32 as i64"}));
  EXPECT_EQ(with(op(OpCode::abs, f32, {x, x})),
            Found({"`let z: f32 = abs(x, x)`: abs with 2 operands"}));
  EXPECT_EQ(with(op(OpCode::add, f32, {x, Expr()})),
            Found({"`let z: f32 = x + null`: an element of a list is missing"}));
  EXPECT_EQ(with(make<Const>({}, [](Const& n) { n.dtype = i8, n.i = 200; })),
            Found({"`let z: i8 = 200`: 200 is not a value of i8"}));
}

TEST(Verify, FindsConversionsAndFoldsThatDoNotExist) {
  EXPECT_EQ(found("alloc c: bool[8] fragment alloc d: bool[1] fragment "
                  "reduce max c -> d over [0] reduce bit_or c -> d over [0]"),
            Found({"`reduce max c -> d over [0]`: no max from bool to bool"}));
  EXPECT_EQ(found("alloc u: f32[8] fragment "
                  "reduce bit_and t -> u over [0] reduce any t -> u over [0]"),
            Found({"`reduce bit_and t -> u over [0]`: no bit_and from f32 to f32",
                   "`reduce any t -> u over [0]`: no any from f32 to f32"}));
  EXPECT_EQ(found("alloc r: e4m3[8] reducer init r"),
            Found({"`init r`: no sum from e4m3 to e4m3"}));
  EXPECT_EQ(found("alloc c: bool[8] fragment scan sum c -> c along 0"),
            Found({"`scan sum c -> c along 0`: no sum from bool to bool"}));
  EXPECT_EQ(found("alloc e: e8m0[8] fragment alloc i: i32[8] fragment copy e -> i"),
            Found({"`copy e -> i`: no conversion from e8m0 to i32"}));
  EXPECT_EQ(found("alloc e: e8m0[8] fragment e[0] = cast(bx, e8m0)"),
            Found({"`e[0] = cast(bx, e8m0)`: no conversion from i64 to e8m0"}));
  EXPECT_EQ(found("alloc c: bool[8, 8] fragment gemm t, t -> c"),
            Found({"`gemm t, t -> c`: a sum of products in bool"}));
  EXPECT_EQ(found("alloc e: e2m1[8, 8] fragment alloc i: i32[8, 8] fragment gemm e, i -> i"),
            Found({"`gemm e, i -> i`: no conversion from e2m1 to i32"}));
  EXPECT_EQ(found("let z = byte_permute(bx, bx, bx)"),
            Found({"`let z: i64 = byte_permute(bx, bx, bx)`: byte_permute of i64"}));
}

TEST(Verify, FindsUsesOutsideTheScope) {
  EXPECT_EQ(found("if bx == 0 { let e = 1 let f = 2 } let g = bx"), Found());
  const Var e = Var::make("e", i64);
  const Buffer s = make_buffer("s", f32, MemSpace::shared, std::vector<int64_t>{4});
  const auto body = [&](std::vector<Stmt> stmts) {
    Program p = program("");
    const Launch& old = p.launches[0].as<Launch>();
    p.launches = {make<Launch>({}, [&](Launch& n) {
      n.grid = old.grid;
      n.block_vars = old.block_vars;
      n.body = make<Seq>({}, [&](Seq& list) { list.stmts = std::move(stmts); });
    })};
    return violations(p, Level::tile);
  };
  const Stmt use = store(s, {e}, zero(f32));
  EXPECT_EQ(body({use}), Found({"`s[e] = 0.0`: s is used outside its scope",
                                "`s[e] = 0.0`: e is used outside its scope"}));
  EXPECT_EQ(body({alloc(s), for_(e, index(0), index(4), use), use}),
            Found({"`s[e] = 0.0`: e is used outside its scope"}));
  EXPECT_EQ(
      body({if_(eq(Var::of(program("").symbols[0].var), index(0)), seq({alloc(s)})), use}).size(),
      3U);
  EXPECT_EQ(body({alloc(s), let(e, index(0)), let(e, index(1)), use}),
            Found({"`let e: i64 = 1`: e is defined a second time"}));
  EXPECT_EQ(body({alloc(s), alloc(s)}),
            Found({"`alloc s: f32[4] shared`: s is declared a second time"}));
}

TEST(Verify, ChecksEachStatement) {
  const std::vector<std::pair<std::string, Found>> cases = {
      {"t[0.0, 1] = 1", {}},
      {"break", {"`break`: outside a serial loop"}},
      {"parallel i in 8 { break }", {"`break`: outside a serial loop"}},
      {"for i in 0:8 vectorized { continue }", {"`continue`: outside a serial loop"}},
      {"for i in 0:n vectorized { }",
       {"`for i in 0:n vectorized {`: a vectorized loop has constant bounds"}},
      {"for i in 0:n:0 { }", {"`for i in 0:n:0 {`: the step is 0"}},
      {"parallel i in 8 { fill t = 1.0 }", {"`fill t = 1.0`: a tile operation in a parallel loop"}},
      {"copy X[0, 0 :+ 4] -> t[0 :+ 8, 0]",
       {"`copy X[0, 0 :+ 4] -> t[0 :+ 8, 0]`: copy: extents [4] and [8]"}},
      {"copy X[0, 0 :+ 2 << 2] -> t[0, 0 :+ 4]",
       {"`copy X[0, 0 :+ 2 << 2] -> t[0, 0 :+ 4]`: copy: extents [8] and [4]"}},
      {"alloc r: f32[6] reducer\nfinalize r -> t[0, 0]",
       {"`finalize r -> t[0, 0]`: finalize: extents [6] and []"}},
      {"gemm t[0 :+ 8, 0 :+ 4], t -> t",
       {"`gemm t[0 :+ 8, 0 :+ 4], t -> t`: [8, 4] times [8, 8] is not [8, 8]"}},
      {"reduce sum t -> t[0, 0 :+ 4] over [1]",
       {"`reduce sum t -> t[0, 0 :+ 4] over [1]`: reduce: extents [8] and [4]"}},
      {"reduce sum t -> t[0, 0] over [2]",
       {"`reduce sum t -> t[0, 0] over [2]`: dimensions [2]",
        "`reduce sum t -> t[0, 0] over [2]`: reduce: extents [8, 8] and []"}},
      {"scan sum t -> t along 2", {"`scan sum t -> t along 2`: no dimension 2"}},
      {"init t", {"`init t`: t is no reducer"}},
      {"atomic load t[0, 0], 1.0", {"`atomic load t[0, 0], 1.0`: all but a load have a value"}},
      {"alloc u: f32[0] shared", {"`alloc u: f32[0] shared`: u has extent `0`"}},
      {"alloc u: f32[4] shared = 1.0",
       {"`alloc u: f32[4] shared = 1.0`: only a variable has a value"}},
      {"launch by in 4 { }", {"`launch by in 4 {`: a launch inside a launch"}},
      {"let x = cast(a, f16, rounding=rs)",
       {"`let x: f16 = cast(a, f16, rounding=rs)`: a random word goes with rs rounding"}},
      {"let x = exp.rz(a)", {"`let x: f32 = exp.rz(a)`: exp: a rounding goes with ieee"}},
      {"if a { }", {"`if a {`: the condition is f32, must be bool or an integer"}},
  };
  for (const auto& [body, expected] : cases) {
    if (expected.empty()) continue;
    EXPECT_EQ(found(body), expected) << body;
  }
  EXPECT_THROW(program("t[0.0, 1] = 1"), Error);
}

TEST(Verify, FindsExtentsThatNoPassCanLower) {
  EXPECT_EQ(found("copy X[bx, 0 :+ -8] -> t[0, 0 :+ 8]"),
            (Found{"`copy X[bx, 0 :+ -8] -> t[0, 0 :+ 8]`: extent `-8` is negative"}));
  EXPECT_EQ(found("copy X[0 :+ n, 0 :+ 8] -> t[0, 0 :+ 8]"),
            (Found{"`copy X[0 :+ n, 0 :+ 8] -> t[0, 0 :+ 8]`: copy: extents [-1, 8] and [8]"}));
}

TEST(Verify, KnowsWhatEachLevelLacks) {
  const std::string box = "parallel i in 8 { t[i, 0] = 1 }";
  EXPECT_EQ(found(box, Level::scheduled), Found());
  EXPECT_EQ(found(box, Level::loop), Found({"`parallel i in 8 {`: not in loop IR"}));
  EXPECT_EQ(found("fill t = 0", Level::loop), Found({"`fill t = 0.0`: not in loop IR"}));
  EXPECT_EQ(found("for i in 0:4 unrolled { }", Level::loop),
            Found({"`for i in 0:4 unrolled {`: an unrolled loop in loop IR"}));
}

TEST(Verify, KnowsWhatThreadsDo) {
  const auto thread = [](const std::string& body) {
    return violations(parse_program(R"(tilewright ir 1 program "p" { input X: f32[64]
        launch bx in 4 with threads=[64], thread=t: i64, shared_bytes=256 {
        alloc s: f32[64] shared with place=0 alloc r: f32[4] local )" +
                                    body + " } }"),
                      Level::thread);
  };
  EXPECT_EQ(thread(R"(move X[t * 4] -> r[0] x 4 move r[0] -> s[t * 4] x 4 barrier
                      for i in 0:4 unrolled { r[i] = s[t] }
                      warp shfl_xor [r[0], i32(1)] with result=v: f32 r[1] = v
                      warp vote_any [v > 0.0] with width=32, result=p: bool barrier with id=1, threads=32
                      warp reduce_max [u32(3)] with result=m: u32 warp sync_warp)"),
            Found());
  EXPECT_EQ(thread("move X[0] -> s[0] x 4"),
            Found({"`move X[0] -> s[0] x 4`: it moves between memory and a local array"}));
  EXPECT_EQ(thread("move r[0] -> s[0] x 4 with fold=add"),
            Found({"`move r[0] -> s[0] x 4 with fold=add`: add of 4 elements of f32 in shared"}));
  EXPECT_EQ(thread("move X[0] -> r[0] x 3"),
            Found({"`move X[0] -> r[0] x 3`: 3 elements of f32 to f32"}));
  EXPECT_EQ(thread("warp shfl [r[0]] with result=v: f32"),
            Found({"`warp shfl [r[0]] with result=v: f32`: 1 operands"}));
  EXPECT_EQ(thread("barrier with id=1"),
            Found({"`barrier with id=1`: the number of threads goes with a named barrier"}));
  EXPECT_EQ(found("warp sync_warp barrier"), Found());  // an author's
  EXPECT_EQ(found("warp sync_warp", Level::loop), Found({"`warp sync_warp`: not in loop IR"}));
  EXPECT_EQ(found("parallel i in 8 { barrier }"),
            Found({"`barrier`: an operation of threads in a parallel loop"}));
}

TEST(Verify, ThrowsWithTheNameOfThePass) {
  EXPECT_NO_THROW(verify(program(""), Level::tile));
  try {
    verify(program("break"), Level::tile, "simplify");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(),
                 "internal error: p is no valid tile IR after simplify; please report it\n"
                 "  `break`: outside a serial loop");
  }
}

}  // namespace
}  // namespace tw::ir
