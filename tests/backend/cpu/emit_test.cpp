// What each statement and access of loop IR becomes: programs that run on every target of this
// machine and on the interpreter.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/backend/cpu/run.h"
#include "tilewright/ir/text.h"

namespace tw::cpu::test {
namespace {

void expect_launch(const std::string& tensors, const std::string& body, int blocks = 1) {
  expect_text_as_interpreted(tensors + "\n launch b in " + std::to_string(blocks) + " {\n" + body +
                             "\n}");
}

TEST(Emit, RunsSeveralBlocksOverVectors) {
  expect_launch("input x: f32[128] input y: f32[128] output z: f32[128]",
                "for l in 0:32 vectorized { z![b * 32 + l] = x![b * 32 + l] + y![b * 32 + l] }", 4);
}

TEST(Emit, BlocksKeepTheOtherElementOfAByte) {
  const std::string body = "y![b] = cast(x![b], e2m1)";
  expect_launch("input x: f32[4096] inout y: e2m1[4096]", body, 4096);
  const ir::Program program = ir::parse_program(
      "tilewright ir 1 program \"p\" { input x: f32[8] inout y: e2m1[8] launch b in 8 { " + body +
      " } }");
  EXPECT_NE(text_of(program, target_named("host"), "llvm").find("atomicrmw or"), std::string::npos);
}

TEST(Emit, NumbersBlocksWithTheFirstIndexFastest) {
  expect_text_as_interpreted(
      "output z: i64[3, 4, 5] launch i in 3, j in 4, k in 5 { z![i, j, k] = i * 100 + j * 10 + k "
      "}");
}

TEST(Emit, AnIntegerConditionHoldsUnlessItIsZero) {
  expect_launch("input x: i8[32] output y: i32[32] output z: u8[1]",
                R"(for l in 0:32 vectorized { if x![l] % 4 { y![l] = 1 } else { y![l] = 2 } }
                   var n: u8 = 5
                   while n { n = n - 1 }
                   assert n + 1, "it is 1"
                   if 2 { z![0] = n })");
}

TEST(Emit, VectorsOfAnyLength) {
  for (const int n : {2, 3, 5, 7, 8, 17, 24, 31, 64, 100}) {
    const std::string s = std::to_string(n);
    expect_launch("input x: f32[" + s + "] output y: f32[" + s + "] output z: u8[" + s + "]",
                  "for l in 0:" + s + " vectorized { y![l] = x![l] * 2.0; z![l] = cast(l, u8) }");
  }
}

TEST(Emit, AccessesOfEveryPattern) {
  for (const char* type : {"f32", "u8", "bf16", "f64", "bool"}) {
    const std::string t = type;
    expect_launch("input x: " + t + "[200] output same: " + t + "[32] output reverse: " + t +
                      "[32] output stride: " + t + "[32] output groups: " + t +
                      "[32] output far: " + t + "[32] output spread: " + t +
                      "[200] output one: " + t + "[1]",
                  R"(for l in 0:32 vectorized {
             same![l] = x![7]
             reverse![l] = x![60 - l]
             stride![l] = x![l * 3 + 1]
             groups![l] = x![l // 4 + 5]
             far![l] = x![l * 6]
             spread![l * 5] = x![l]
             one![0] = x![l]
           }
           for l in 0:32 vectorized { spread![199 - l] = x![l + l % 8] })");
  }
}

TEST(Emit, GathersAndScattersThroughIndices) {
  expect_launch("input x: f32[256] input i: u8[32] output y: f32[32] inout z: f32[256]",
                R"(for l in 0:32 vectorized { y![l] = x![cast(i![l], i64)] }
                   for l in 0:32 vectorized { z![cast(i![l], i64)] = x![l] })");
}

TEST(Emit, MasksStoresAndLoads) {
  for (const char* type : {"f32", "i8", "bf16", "f64", "e2m1", "bool"}) {
    const std::string t = type;
    expect_launch(
        "input x: " + t + "[64] input c: bool[64] inout y: " + t + "[64] inout z: " + t + "[64]",
        R"(for l in 0:32 vectorized {
             if c![l] { y![l] = x![l + 1] } else { y![l] = x![63 - l]; z![l] = x![l] }
             if l < 13 { y![l + 32] = x![l] if c![l + 3] { z![l + 32] = x![2 * l] } }
           })");
  }
}

TEST(Emit, MasksOfRestsOfEveryLength) {
  for (int n = 0; n <= 16; ++n) {
    const std::string s = std::to_string(n);
    expect_launch("input x: f32[16] inout y: f32[16] inout z: i16[16]",
                  "for l in 0:16 vectorized { if l < " + s + " { y![l] = x![l] } if l >= " + s +
                      " { z![l] = 3 } if " + s + " < l { y![l] = 1.0 } if " + s +
                      " <= l { z![l] = z![l] + 1 } }");
  }
}

TEST(Emit, MasksWithConstantParts) {
  for (const char* type : {"f32", "i64", "u8", "f64"}) {
    const std::string t = type;
    expect_launch(
        "input x: " + t + "[4] output y: " + t + "[32] output z: " + t + "[5] scalar n: i64",
        R"(for l in 0:16 vectorized { y![l] = if_else(0 < n && l < 3, x![l], 0) }
                     for l in 0:16 vectorized { y![16 + l] = if_else(n < 0 && l < 3, x![l], 0) }
                     for l in 0:5 vectorized { z![l] = if_else(l < n, x![l], 0) })");
  }
}

TEST(Emit, LazyOperandsTouchNothingWhenNotChosen) {
  // Indices below 0 and beyond the end are behind conditions.
  expect_launch("input x: f32[32] input c: bool[32] output y: f32[32] output z: bool[32]",
                R"(for l in 0:32 vectorized {
                     y![l] = if_else(l >= 8 && l < 24, x![l + select(l >= 8 && l < 24, 0, 1000000000000)], 2.0)
                     z![l] = l < 4 && c![l + select(l < 4, 0, 1000000000000)] || l > 30 && x![l] > 0.0
                   }
                   for i in 0:32 {
                     y![i] = if_else(i >= 8, x![i - select(i >= 8, 8, 1000000000000)], y![i])
                     z![i] = i < 16 && c![i] || z![i]
                   })");
}

TEST(Emit, UniformLoadsUnderAMaskAreGuarded) {
  expect_launch("input x: f32[4] inout y: f32[32] scalar n: i64",
                R"(for l in 0:32 vectorized {
                     if l < n - 3 { y![l] = x![n * 1000000000000] }
                     if l < n { y![l] = x![n] }
                   })");
}

TEST(Emit, LoopsOfEveryKind) {
  expect_launch("inout x: i64[64]",
                R"(for i in 3:20:4 { x![i] = i }
                   for i in 20:3:-3 { x![i] = -i }
                   for i in 5:5 { x![0] = 99 }
                   for i in 0:64 pipelined with stages=2 { if i == 40 { break } if i % 2 == 0 { continue } x![i] = x![i] + 7 }
                   var n: i64 = 0
                   while n < 10 { n = n + 3 if n == 9 { break } }
                   x![1] = n)");
}

TEST(Emit, BlockBuffersOnTheStackAndInScratch) {
  expect_launch("input x: f32[64] output y: f32[128]",
                R"(alloc small: f32[64] fragment
                   alloc large: f32[40, 64] shared
                   for l in 0:64 vectorized { small[l] = x![l] * 2.0 }
                   for i in 0:40 { for l in 0:64 vectorized { large[i, l] = small[l] + cast(i, f32) } }
                   for l in 0:64 vectorized { y![b * 64 + l] = large[l % 40, 63 - l] })",
                2);
}

TEST(Emit, BuffersThatAreNotNeededTogetherShareScratch) {
  expect_launch("input x: f32[2048] output y: f32[2048]",
                R"(for r in 0:2 {
                     alloc a: f32[2048] shared
                     for i in 0:64 { for l in 0:32 vectorized { a[i * 32 + l] = x![i * 32 + l] } }
                     alloc c: f32[2048] shared
                     for i in 0:64 { for l in 0:32 vectorized { c[2047 - i * 32 - l] = a[i * 32 + l] } }
                     alloc d: f32[2048] shared
                     for i in 0:64 { for l in 0:32 vectorized { d[i * 32 + l] = c[i * 32 + l] + 1.0 } }
                     for i in 0:64 { for l in 0:32 vectorized { y![i * 32 + l] = d[i * 32 + l] } }
                   })");
}

TEST(Emit, ViewsReadTheSameMemory) {
  expect_launch("inout x: f32[8, 16] output y: i32[128]",
                R"(view t: f32[16, 8] of x with strides=[1, 16]
                   view w: i32[128] of x
                   for i in 0:16 { for l in 0:8 vectorized { t![i, l] = t![i, l] + 1.0 } }
                   for l in 0:64 vectorized { y![l] = w![l + 64] })");
}

TEST(Emit, PackedElementsShareBytes) {
  expect_launch("input x: f32[64] inout y: e2m1[64] inout z: e2m1[64] output w: f32[64]",
                R"(for l in 0:32 vectorized { y![l] = cast(x![l], e2m1) }
                   for l in 0:31 vectorized { y![l + 32] = cast(x![l], e2m1) }
                   for i in 5:20 { z![i] = y![i + 1] }
                   alloc t: e2m1[64] shared
                   for l in 0:64 vectorized { t[l] = y![l] }
                   for l in 0:64 vectorized { w![l] = cast(t[63 - l], f32) })");
}

TEST(Emit, AtomicsOfEveryTypeAndKind) {
  for (const char* type : {"i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16", "i16"}) {
    const std::string t = type;
    const auto result = [&](const char* name) { return std::string(" result=") + name + ": " + t; };
    expect_launch("inout x: " + t + "[8] input v: " + t + "[8] output old: " + t + "[8]",
                  "atomic add x[0], v![0] with" + result("a") +            //
                      " atomic max x[1], v![1] with" + result("c") +       //
                      " atomic min x[2], v![2] with" + result("d") +       //
                      " atomic exchange x[3], v![3] with" + result("e") +  //
                      " atomic load x[4] with" + result("f") +             //
                      " atomic store x[5], v![5]" +
                      " old![0] = a; old![1] = c; old![2] = d; old![3] = e; old![4] = f");
  }
  expect_launch("inout x: u32[8] input v: u32[8] output old: u32[8]",
                R"(let same: u32 = x![3]
                   atomic bit_and x[0], v![0] with result=a: u32
                   atomic bit_or x[1], v![1] with result=c: u32
                   atomic bit_xor x[2], v![2]
                   atomic compare_exchange x[3], v![3] with compare=same, order=acq_rel, result=e: u32
                   atomic compare_exchange x[4], v![4] with compare=v![5], result=f: u32
                   old![0] = a; old![1] = c; old![3] = e; old![4] = f)");
}

TEST(Emit, DotProductsOfPairs) {
  for (const int n : {1, 3, 8, 16, 32}) {
    const std::string s = std::to_string(n);
    expect_launch("input a: u32[32] input b2: u32[32] input c: i32[32] output d: i32[32]",
                  "for l in 0:" + s + " vectorized { d![l] = dot2_i16(c![l], a![l], b2![l]) }");
  }
}

TEST(Emit, MaximaOfMagnitudesSurviveTheOptimizer) {
  expect_launch("input x: f32[32] output y: f32[32]",
                "for l in 0:32 vectorized { y![l] = max_nan(0.0, abs(x![l])) }");
}

TEST(Emit, ElementsThatAreVectors) {
  // The interpreter has none, so the results are compared with those of plain loops.
  const DType f32x4(Scalar::f32, 4);
  ProgramBuilder p;
  const auto x = p.tensor("x", f32x4, {32}), y = p.tensor("y", f32x4, {32}),
             z = p.tensor("z", f32x4, {32});
  const auto c = p.tensor("c", bool_, {32});
  const auto sum = [&](const ir::Expr& i, const ir::Expr& j) {
    return put(z, {i}, ir::op(ir::OpCode::add, f32x4, {at(x, {j}), at(y, {i})}));
  };
  const ir::Program program = p.build(ir::seq({
      lanes(8, [&](const ir::Var& l) { return sum(l, l); }),
      lanes(8,
            [&](const ir::Var& l) {
              const ir::Expr i = ir::add(l, ir::index(8));
              return ir::if_(at(c, {i}), sum(i, ir::index(5)));
            }),
      serial(16, [&](const ir::Var& i) { return sum(ir::add(i, ir::index(16)), i); }),
  }));
  for (const Target& target : targets_here()) {
    const std::vector<OwnedTensor> tensors = random_tensors(program, 1);
    const auto* a = tensors[0]->data_as<float>();
    const auto* b = tensors[1]->data_as<float>();
    const auto* chosen = tensors[3]->data_as<uint8_t>();
    const std::vector<float> before(tensors[2]->data_as<float>(),
                                    tensors[2]->data_as<float>() + 128);
    run(program, target, tensors);
    for (int64_t i = 0; i < 128; ++i) {
      const int64_t element = i / 4, lane = i % 4;
      const int64_t from = element < 8 ? element : element < 16 ? 5 : element - 16;
      const bool written = element < 8 || element >= 16 || chosen[element] != 0;
      const float want = written ? a[from * 4 + lane] + b[i] : before[static_cast<size_t>(i)];
      const float got = tensors[2]->data_as<float>()[i];
      EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << i << target.name();
    }
  }
}

TEST(Emit, SymbolsAndScalarsOfEveryType) {
  ProgramBuilder p;
  const DType types[] = {bool_, i8, u16, i32, u64, f16, bf16, f32, f64, f8_e4m3};
  std::vector<ir::Stmt> stmts;
  std::vector<ir::Var> scalars;
  for (const DType type : types) {
    const ir::Buffer y = p.tensor("y_" + to_text(type), type, {1});
    scalars.push_back(p.scalar("s_" + to_text(type), type));
    stmts.push_back(put(y, {ir::index(0)}, scalars.back()));
  }
  const ir::Program program = p.build(ir::seq(stmts));
  const std::vector<OwnedTensor> tensors = random_tensors(program, 1);
  run(program, target_named("host"), tensors,
      {Arg(true), Arg(-5), Arg(60000), Arg(-70000), Arg(uint64_t{1} << 63), Arg(1.5), Arg(-2.0),
       Arg(0.1), Arg(0.1), Arg(3.0)});
  EXPECT_EQ(*tensors[0]->data_as<uint8_t>(), 1);
  EXPECT_EQ(*tensors[1]->data_as<int8_t>(), -5);
  EXPECT_EQ(*tensors[2]->data_as<uint16_t>(), 60000);
  EXPECT_EQ(*tensors[3]->data_as<int32_t>(), -70000);
  EXPECT_EQ(*tensors[4]->data_as<uint64_t>(), uint64_t{1} << 63);
  EXPECT_EQ(*tensors[5]->data_as<uint16_t>(), 0x3E00);
  EXPECT_EQ(*tensors[6]->data_as<uint16_t>(), 0xC000);
  EXPECT_EQ(*tensors[7]->data_as<float>(), 0.1F);
  EXPECT_EQ(*tensors[8]->data_as<double>(), 0.1);
  EXPECT_EQ(*tensors[9]->data_as<uint8_t>(), 0x44);
}

}  // namespace
}  // namespace tw::cpu::test
