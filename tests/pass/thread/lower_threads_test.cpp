// Whole kernels as thread IR, for the eye: tests/golden/thread/*.tw.
#include "tilewright/pass/thread/lower_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"
#include "tests/support/golden.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/verify.h"

namespace tw::pass {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_thread_ir(const std::string& name, const std::string& text) {
  const ir::Program lowered = after(ir::parse_program(text), "simplify_threads");
  test::expect_golden("thread/" + name + ".tw", ir::print(lowered));
}

TEST(LowerThreads, KeepsARowInRegistersAndSumsItThroughShuffles) {
  expect_thread_ir("rms_norm", R"(tilewright ir 1 program "rms_norm" {
  symbol n input X: bf16[n, 7168] input W: f32[7168] output Y: bf16[n, 7168] scalar eps: f32
  launch b in n {
    alloc x: bf16[7168] fragment
    copy X[b, 0 :+ 7168] -> x
    alloc square: f32[7168] fragment
    parallel j in 7168 { square[j] = cast(x[j], f32) * cast(x[j], f32) }
    alloc s: f32[1] fragment
    reduce sum square -> s over [0]
    parallel j in 7168 {
      Y[b, j] = cast(cast(x[j], f32) * rsqrt(s[0] / 7168.0 + eps) * W[j], bf16)
    }
  } })");
}

TEST(LowerThreads, FoldsGroupsInsideAWarp) {
  expect_thread_ir("group_cast", R"(tilewright ir 1 program "group_cast" {
  symbol n input X: bf16[n, 7168] output Q: e4m3[n, 7168] output S: f32[n, 56]
  launch b in n {
    alloc x: bf16[7168] fragment
    copy X[b, 0 :+ 7168] -> x
    alloc g: f32[56, 128] fragment
    parallel i in 56, j in 128 { g[i, j] = cast(x[i * 128 + j], f32) }
    alloc a: f32[56] fragment
    reduce abs_max g -> a over [1]
    parallel i in 56 { a[i] = max(a[i], 0.0001) }
    parallel i in 56 { S[b, i] = a[i] / 448.0 }
    parallel i in 56, j in 128 { Q[b, i * 128 + j] = cast(g[i, j] * (448.0 / a[i]), e4m3) }
  } })");
}

int barriers_of(const std::string& between) {
  const ir::Program lowered = after(ir::parse_program(R"(tilewright ir 1 program "sums" {
  symbol n input X: f32[n, 512] output Y: f32[n, 512]
  launch b in n {
    alloc x: f32[512] fragment copy X[b, 0 :+ 512] -> x
    alloc square: f32[512] fragment alloc s: f32[1] fragment alloc t: f32[1] fragment
    reduce sum x -> s over [0]
    )" + between + R"(
    reduce sum square -> t over [0]
    parallel j in 512 { Y[b, j] = x[j] * s[0] + t[0] }
  } })"),
                                    "simplify_threads");
  int barriers = 0;
  ir::for_each_stmt(lowered.launches[0],
                    [&](const ir::Stmt& s) { barriers += s.is<ir::Barrier>() ? 1 : 0; });
  return barriers;
}

TEST(LowerThreads, ExchangesSumsThatNeedNoOtherBehindOneBarrier) {
  EXPECT_EQ(barriers_of("parallel j in 512 { square[j] = x[j] * x[j] }"), 1);
  EXPECT_EQ(barriers_of("parallel j in 512 { square[j] = x[j] * s[0] }"), 2);
}

// What begins with a result waits for it as statements do.
TEST(LowerThreads, GivesVariablesTheWholeSum) {
  const std::string text = ir::print(after(ir::parse_program(R"(tilewright ir 1 program "p" {
  symbol n input X: f32[n, 64] output Y: f32[n, 64]
  launch b in n with threads=[64] {
    alloc x: f32[64] fragment copy X[b, 0 :+ 64] -> x
    alloc s: f32[1] fragment
    reduce sum x -> s over [0]
    alloc v: f32[] variable = s[0]
    parallel j in 64 { Y[b, j] = x[j] * v[] }
  } })"),
                                           "lower_threads"));
  ASSERT_NE(text.find("= s!"), std::string::npos) << text;
  EXPECT_LT(text.find("barrier"), text.find("= s!")) << text;
}

TEST(LowerThreads, FoldsWideIntegersOfAWarpByTwoInstructions) {
  const ir::Program lowered = after(ir::parse_program(R"(tilewright ir 1 program "widest" {
  symbol n input X: i64[n, 32] output Y: i64[n, 1]
  launch b in n with threads=[32] {
    alloc x: i64[32] fragment copy X[b, 0 :+ 32] -> x
    alloc m: i64[1] fragment
    reduce max x -> m over [0]
    parallel j in 1 { Y[b, j] = m[j] }
  } })"),
                                    "simplify_threads");
  int folds = 0;
  ir::for_each_stmt(lowered.launches[0],
                    [&](const ir::Stmt& s) { folds += s.is<ir::WarpOp>() ? 1 : 0; });
  EXPECT_EQ(folds, 2);
}

TEST(LowerThreads, FoldsIntegersOfAWarpByOneInstruction) {
  const ir::Program program = after(ir::parse_program(R"(tilewright ir 1 program "p" {
  input X: i32[256] output Y: i32[1]
  launch b in 1 with threads=[32] {
    alloc x: i32[256] fragment
    copy X[0 :+ 256] -> x
    alloc m: i32[1] fragment
    reduce max x -> m over [0]
    copy m -> Y[0 :+ 1]
  } })"),
                                    "simplify_threads");
  const std::string text = ir::print(program);
  EXPECT_NE(text.find("reduce_max"), std::string::npos) << text;
  EXPECT_EQ(text.find("shfl"), std::string::npos) << text;
}

std::string adds_of(const std::string& dtype, const std::string& more = "") {
  return ir::print(after(ir::parse_program(R"(tilewright ir 1 program "p" {
  symbol n input X: )" + dtype +
                                           "[n, 1024] inout Y: " + dtype + R"([n, 1024]
  launch b in n with threads=[128] {
    parallel j in 1024 { atomic add Y[b, j], X[b, j])" +
                                           more + " } } }"),
                         "simplify_threads"));
}

TEST(LowerThreads, AddsNeighborsByOneAtomicAccess) {
  EXPECT_THAT(adds_of("f32"), HasSubstr("x 4 with fold=add"));
  EXPECT_THAT(adds_of("bf16"), HasSubstr("x 8 with fold=add"));
  for (const char* ordered :
       {" with result=old: f32", " with order=release", " with scope=block"}) {
    EXPECT_THAT(adds_of("f32", ordered), Not(HasSubstr("fold=add"))) << ordered;
  }
  EXPECT_THAT(adds_of("i32"), Not(HasSubstr("fold=add")));
}

TEST(LowerThreads, GuardsWhatMayLieOutside) {
  expect_thread_ir("axpy", R"(tilewright ir 1 program "axpy" {
  symbol n input X: f32[n] inout Y: f32[n]
  launch b in (n + 1023) // 1024 {
    parallel i in 1024 { Y[b * 1024 + i] = Y[b * 1024 + i] * 2.0 + X[b * 1024 + i] }
  } })");
}

TEST(LowerThreads, LoadsInVectorsWhatAStoreIsMadeOf) {
  expect_thread_ir("silu", R"(tilewright ir 1 program "silu" {
  symbol n input X: bf16[n] output Y: bf16[n]
  launch b in (n + 1023) // 1024 {
    let first = b * 1024
    parallel j in min(n - first, 1024) {
      let x = cast(X[first + j], f32)
      Y[first + j] = cast(x * (rcp(1.0 + exp(-x))), bf16)
    }
  } })");
}

// Each thread has one vector: no version without guards, and one by one only in the last vector.
TEST(LowerThreads, GuardsOneVectorOfAThread) {
  expect_thread_ir("gated", R"(tilewright ir 1 program "gated" {
  symbol n input X: bf16[n] input G: bf16[n] output Y: bf16[n]
  launch b in (n + 1023) // 1024 with guard=n >= 64 {
    parallel j in 1024 {
      let g = cast(G[b * 1024 + j], f32)
      Y[b * 1024 + j] = cast(cast(X[b * 1024 + j], f32) * (rcp(1.0 + exp(-g))) * g, bf16)
    }
  } })");
}

// A row's number is in a register, and the same for all neighbors: what it decides stays a vector.
TEST(LowerThreads, MovesVectorsWhereRegistersDecide) {
  const auto lowered = [](const char* body) {
    return ir::print(after(ir::parse_program(tw::format(
                               R"(tilewright ir 1 program "p" {{
  symbol n symbol m input X: bf16[n, 1024] input I: i32[m] output Y: bf16[m, 1024]
  launch b in m with threads=[128] {{
    alloc i: i32[1] fragment parallel r in 1 {{ i[r] = I[b] }}
    alloc x: bf16[1, 1024] fragment
    {}
  }} }})",
                               body)),
                           "simplify_threads"));
  };
  const std::string gathered = lowered(R"(
    parallel r in 1, j in 1024 { x[r, j] = X[i[r], j] }
    parallel r in 1, j in 1024 { Y[b, j] = x[r, j] })");
  EXPECT_THAT(gathered, HasSubstr("move X[i![0], thread * 8] -> x[0] x 8"));
  const std::string chosen = lowered(R"(
    parallel r in 1, j in 1024 { x[r, j] = X[b, j] }
    parallel r in 1, j in 1024 { if i[r] > 3 { Y[b, j] = x[r, j] } })");
  EXPECT_THAT(chosen, HasSubstr("move x[0] -> Y[b, thread * 8] x 8"));
}

// A tile that is stored in fewer bits: both loads of a thread lie beside each other, so its store
// is one vector too, also of halves of bytes.
TEST(LowerThreads, LoadsTwoVectorsForOneThatIsStoredNarrower) {
  const auto lowered = [](const char* format, int64_t columns) {
    return ir::print(after(
        ir::parse_program(tw::format(R"(tilewright ir 1 program "p" {{
  symbol n input X: bf16[n, {}] output Y: {}[n, {}]
  launch b in n with threads=[64] {{
    alloc x: f32[{}] fragment
    parallel j in {} {{ x[j] = cast(X[b, j], f32) }}
    alloc s: f32[1] fragment
    reduce max x -> s over [0]
    parallel j in {} {{ Y[b, j] = cast(x[j] - s[0], {}) }}
  }} }})",
                                     columns, format, columns, columns, columns, columns, format)),
        "simplify_threads"));
  };
  EXPECT_THAT(lowered("e4m3", 1024), HasSubstr("move Y_1[0] -> Y[b, thread * 16] x 16"));
  EXPECT_THAT(lowered("e2m1", 1024), HasSubstr("move Y_1[0] -> Y[b, thread * 16] x 16"));
  EXPECT_THAT(lowered("bf16", 1024), HasSubstr("x 8"));
  EXPECT_THAT(lowered("bf16", 1024), Not(HasSubstr("x 16")));
  EXPECT_THAT(lowered("e4m3", 1536), Not(HasSubstr("x 16"))) << "some threads would have none";
}

TEST(LowerThreads, LeavesAnEmptyLoop) {
  const ir::Program lowered =
      after(block_program("parallel j in 64 { } s[0] = 1.0"), "lower_threads");
  EXPECT_TRUE(ir::violations(lowered, ir::Level::thread).empty());
}

TEST(LowerThreads, SharesOddExtentsAmongOddThreads) {
  expect_thread_ir("odd", R"(tilewright ir 1 program "odd" {
  symbol n input X: f32[n, 100] output Y: f32[n, 100] output Z: f32[n]
  launch b in (n + 6) // 7 with threads=[96] {
    alloc x: f32[7, 100] fragment
    copy X[b * 7 :+ 7, 0 :+ 100] -> x
    alloc c: f32[7, 100] fragment
    scan sum x -> c along 1
    alloc m: f32[7] fragment
    reduce max x -> m over [1]
    parallel i in 7, j in 100 { c[i, j] = c[i, j] - m[i] + x[i, 99 - j] }
    copy c -> Y[b * 7 :+ 7, 0 :+ 100]
    copy m -> Z[b * 7 :+ 7]
  } })");
}

}  // namespace
}  // namespace tw::pass
