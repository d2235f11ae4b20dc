// What programs compute.
#include "tilewright/sim/interpreter.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/text_run.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::NanSensitiveDoubleEq;

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

std::vector<double> iota(size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// ---- copies and bounds

TEST(Interpreter, CopiesTilesBlockByBlockAndClipsTheLastOne) {
  TextRun p(R"(
    symbol n: i64
    input X: f32[n]
    output Y: f32[n]
    launch b in (n + 3) // 4 {
      alloc t: f32[4] fragment
      copy X[b * 4 :+ 4] -> t
      parallel i in 4 { t[i] = t[i] + t[i] }
      copy t -> Y[b * 4 :+ 4]
    })");
  p.tensor("X", {6}, iota(6)).tensor("Y", {6});
  EXPECT_THAT(p.elements("Y"), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST(Interpreter, ReadsTheSafeValueOutsideAndWritesNothingThere) {
  TextRun p(R"(
    input X: i32[3] with safe_value=7
    inout Y: i32[3]
    launch b in 1 {
      alloc t: i32[5] shared
      copy X[-1 :+ 5] -> t
      copy t -> Y[1 :+ 5]
    })");
  p.tensor("X", {3}, {1, 2, 3}).tensor("Y", {3}, {10, 20, 30});
  EXPECT_THAT(p.elements("Y"), ElementsAre(10, 7, 1));
}

TEST(Interpreter, DropsDimensionsOfExtentOneAndConverts) {
  TextRun p(R"(
    input X: f32[2, 1, 3]
    output Y: i8[1, 2, 3]
    launch b in 1 { copy X -> Y })");
  p.tensor("X", {2, 1, 3}, {1.9, -1.9, 300, kNan, -300, 0}).tensor("Y", {1, 2, 3});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, -1, 127, 0, -128, 0));
}

TEST(Interpreter, ExchangesTheLastTwoDimensionsOfATransposingCopy) {
  TextRun p(R"(
    input X: f32[2, 3]
    output Y: f32[3, 2]
    launch b in 1 { copy X -> Y with transpose })");
  p.tensor("X", {2, 3}, iota(6)).tensor("Y", {3, 2});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Interpreter, FollowsTheStridesOfArguments) {
  TextRun p(R"(
    symbol s: i64
    input X: f32[2, 2] with strides=[s, 1]
    output Y: f32[2, 2]
    launch b in 1 { copy X -> Y })");
  p.tensor("X", {2, 2}, iota(5), {3, 1}).tensor("Y", {2, 2});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, 2, 4, 5));
}

TEST(Interpreter, PacksE2m1TwoToAByte) {
  TextRun p(R"(
    input X: e2m1[4]
    output Y: e2m1[4]
    launch b in 1 {
      alloc t: e2m1[4] shared
      copy X -> t
      parallel i in 4 { Y[i] = t[3 - i] }
    })");
  p.tensor("X", {4}, {0.5, -1.5, 6, -0.0}).tensor("Y", {4});
  EXPECT_THAT(p.elements("Y"), ElementsAre(-0.0, 6, -1.5, 0.5));
}

// ---- views

TEST(Interpreter, ViewsAddressTheElementsOfTheirRoot) {
  TextRun p(R"(
    output Y: i32[6]
    launch b in 1 {
      alloc t: i32[2, 6] shared
      parallel i in 2, j in 6 { t[i, j] = cast(i * 10 + j, i32) }
      view v: i32[3, 2] shared of t with strides=[1, 6], offset=2
      parallel i in 3, j in 2 { Y[i * 2 + j] = v[i, j] }
    })");
  p.tensor("Y", {6});
  EXPECT_THAT(p.elements("Y"), ElementsAre(2, 12, 3, 13, 4, 14));
}

TEST(Interpreter, ViewsOfAnotherTypeSeeTheBytes) {
  TextRun p(R"(
    output Y: u8[8]
    launch b in 1 {
      alloc t: u32[2] shared
      t[0] = 67305985
      t[1] = 4294967295
      view v: u8[8] shared of t
      copy v -> Y
    })");
  p.tensor("Y", {8});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, 2, 3, 4, 255, 255, 255, 255));
}

TEST(Interpreter, ViewsAtAddressesReachArguments) {
  TextRun p(R"(
    input T: u64[1]
    input X: f32[4]
    output Y: f32[2]
    launch b in 1 {
      view v: f32[2] global with address=T[0] + 8
      copy v -> Y
    })");
  p.tensor("X", {4}, {1, 2, 3, 4}).tensor("Y", {2}).tensor("T", {1});
  *static_cast<uint64_t*>(const_cast<void*>(p.address("T"))) =
      reinterpret_cast<uintptr_t>(p.address("X"));
  EXPECT_THAT(p.elements("Y"), ElementsAre(3, 4));
}

// ---- folds

std::vector<double> reduced(const std::string& statement, const std::string& dtype = "f32") {
  TextRun p("input X: " + dtype + "[2, 3]\noutput Y: " + dtype + "[6]\nlaunch b in 1 {\n" +
            "alloc s: " + dtype + "[2, 3] fragment\nalloc d: " + dtype +
            "[2] fragment\ncopy X -> s\nfill d = 10\n" + statement + "\ncopy d -> Y[0 :+ 2]\n}");
  p.tensor("X", {2, 3}, {1, -5, 2, 3, kNan, 4}).tensor("Y", {6});
  std::vector<double> all = p.elements("Y");
  all.resize(2);
  return all;
}

TEST(Interpreter, ReducesAlongADimension) {
  EXPECT_THAT(reduced("reduce sum s -> d over [1]"), ElementsAre(-2, NanSensitiveDoubleEq(kNan)));
  EXPECT_THAT(reduced("reduce abs_sum s -> d over [1]")[0], 8);
  EXPECT_THAT(reduced("reduce max s -> d over [1]"), ElementsAre(2, 4));
  EXPECT_THAT(reduced("reduce min s -> d over [1]"), ElementsAre(-5, 3));
  EXPECT_THAT(reduced("reduce abs_max s -> d over [1]"), ElementsAre(5, 4));
  EXPECT_THAT(reduced("reduce prod s -> d over [1]")[0], -10);
}

TEST(Interpreter, AnUnsignedResultHoldsTheMagnitudeOfTheLowestValue) {
  TextRun p(
      "input X: i8[3] output Y: u8[2] launch b in 1 { alloc s: i8[3] fragment copy X -> s "
      "alloc d: u8[1] fragment reduce abs_max s -> d over [0] copy d -> Y[0 :+ 1] "
      "reduce abs_sum s -> d over [0] copy d -> Y[1 :+ 1] }");
  p.tensor("X", {3}, {-128, -1, 5}).tensor("Y", {2});
  EXPECT_THAT(p.elements("Y"), ElementsAre(128, 134));
}

TEST(Interpreter, CombinesAReductionWithWhatWasThereUnlessCleared) {
  EXPECT_THAT(reduced("reduce sum s -> d over [1] with clear=false")[0], 8);
  EXPECT_THAT(reduced("reduce max s -> d over [1] with clear=false"), ElementsAre(10, 10));
}

TEST(Interpreter, PropagatesNanThroughMaxOnDemand) {
  EXPECT_THAT(reduced("reduce max s -> d over [1] with propagate_nan"),
              ElementsAre(2, NanSensitiveDoubleEq(kNan)));
}

TEST(Interpreter, ReducesHalfPrecisionInSinglePrecisionUnlessToldOtherwise) {
  const auto sum = [](const std::string& with) {
    TextRun p(R"(
      output Y: bf16[1]
      launch b in 1 {
        alloc s: bf16[512] fragment
        alloc d: bf16[1] fragment
        fill s = 1.0
        reduce sum s -> d over [0])" +
              with + R"(
        copy d -> Y
      })");
    p.tensor("Y", {1});
    return p.elements("Y")[0];
  };
  EXPECT_EQ(sum(""), 512);
  EXPECT_EQ(sum(" with low_precision"), 256);  // 256 + 1 rounds to 256
}

TEST(Interpreter, AnyAndAllTellWhetherElementsAreNotZero) {
  TextRun p(R"(
    output Y: bool[4]
    launch b in 1 {
      alloc s: i32[3] fragment
      alloc d: bool[1] fragment
      parallel i in 3 { s[i] = cast(i, i32) }
      reduce any s -> d over [0]
      copy d -> Y[0 :+ 1]
      reduce all s -> d over [0]
      copy d -> Y[1 :+ 1]
      parallel i in 3 { s[i] = 5 }
      reduce all s -> d over [0]
      copy d -> Y[2 :+ 1]
      parallel i in 3 { s[i] = 0 }
      reduce any s -> d over [0]
      copy d -> Y[3 :+ 1]
    })");
  p.tensor("Y", {4});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, 0, 1, 0));
}

std::vector<double> scanned(const std::string& with, const std::string& kind = "sum") {
  TextRun p(
      "input X: f32[4]\noutput Y: f32[4]\nlaunch b in 1 {\nalloc t: f32[4] shared\ncopy X -> "
      "t\nscan " +
      kind + " t -> t along 0" + with + "\ncopy t -> Y\n}");
  p.tensor("X", {4}, {1, 3, 2, 4}).tensor("Y", {4});
  return p.elements("Y");
}

TEST(Interpreter, ScansInPlaceInBothDirections) {
  EXPECT_THAT(scanned(""), ElementsAre(1, 4, 6, 10));
  EXPECT_THAT(scanned(" with reverse"), ElementsAre(10, 9, 6, 4));
  EXPECT_THAT(scanned(" with exclusive"), ElementsAre(0, 1, 4, 6));
  EXPECT_THAT(scanned(" with reverse, exclusive"), ElementsAre(9, 6, 4, 0));
  EXPECT_THAT(scanned("", "max"), ElementsAre(1, 3, 3, 4));
  EXPECT_THAT(scanned("", "min"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(scanned("", "prod"), ElementsAre(1, 3, 6, 24));
}

TEST(Interpreter, MultipliesTransposedOperands) {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      TextRun p(std::string("input A: f32") + (trans_a ? "[3, 2]" : "[2, 3]") + "\ninput B: f32" +
                (trans_b ? "[2, 3]" : "[3, 2]") +
                "\ninout C: f32[2, 2]\nlaunch b in 1 { gemm A, B -> C with trans_a=" +
                (trans_a ? "true" : "false") + ", trans_b=" + (trans_b ? "true" : "false") +
                ", clear=false }");
      using Values = std::vector<double>;
      p.tensor("A", trans_a ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3},
               trans_a ? Values{1, 4, 2, 5, 3, 6} : Values{1, 2, 3, 4, 5, 6});
      p.tensor("B", trans_b ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{3, 2},
               trans_b ? Values{1, 0, 2, 0, 1, 3} : Values{1, 0, 0, 1, 2, 3});
      p.tensor("C", {2, 2}, {100, 200, 300, 400});
      EXPECT_THAT(p.elements("C"), ElementsAre(107, 211, 316, 423))
          << "trans_a " << trans_a << ", trans_b " << trans_b;
    }
  }
}

TEST(Interpreter, MultipliesBytesIntoWrappingWords) {
  TextRun p(R"(
    input A: i8[1, 2]
    input B: u8[2, 1]
    output C: i32[1, 1]
    launch b in 1 { gemm A, B -> C with clear=true })");
  p.tensor("A", {1, 2}, {-128, 127}).tensor("B", {2, 1}, {255, 255}).tensor("C", {1, 1});
  EXPECT_THAT(p.elements("C"), ElementsAre(-255));
}

TEST(Interpreter, AReducerTakesEachContributionAndTheInitialValueOnce) {
  TextRun p(R"(
    input X: f32[2, 8]
    output Y: f32[2]
    launch b in 1 {
      alloc r: f32[2] reducer with reduce=max
      alloc d: f32[2] fragment
      init r = 3.0
      parallel i in 2, j in 8 { update r[i] = X[i, j] }
      finalize r -> d
      copy d -> Y
    })");
  p.tensor("X", {2, 8}, iota(16)).tensor("Y", {2});
  EXPECT_THAT(p.elements("Y"), ElementsAre(8, 16));
}

// ---- expressions and control flow

TEST(Interpreter, EvaluatesOnlyTheOperandsThatDecide) {
  TextRun p(R"(
    output Y: i32[3]
    launch b in 1 {
      alloc t: i32[1] shared
      t[0] = 5
      for i in 0:3 {
        Y[i] = if_else(i < 1 && t[i] > 3, t[i], if_else(i >= 1 || t[i] > 3, -1, t[i]))
      }
    })");
  p.tensor("Y", {3});
  EXPECT_THAT(p.elements("Y"), ElementsAre(5, -1, -1));
}

TEST(Interpreter, TellsTheTwoDivisionsApart) {
  TextRun p(R"(
    input X: i32[2]
    output Y: i32[4]
    launch b in 1 {
      Y[0] = X[0] // X[1]
      Y[1] = X[0] % X[1]
      Y[2] = truncdiv(X[0], X[1])
      Y[3] = truncmod(X[0], X[1])
    })");
  p.tensor("X", {2}, {-7, 2}).tensor("Y", {4});
  EXPECT_THAT(p.elements("Y"), ElementsAre(-4, 1, -3, -1));
}

TEST(Interpreter, BindsALoadWhereItIsWritten) {
  TextRun p(R"(
    inout A: f32[1]
    output Y: f32[1]
    launch b in 1 {
      let v: f32 = A[0]
      A[0] = 0.0
      Y[0] = v
    })");
  p.tensor("A", {1}, {4}).tensor("Y", {1});
  EXPECT_THAT(p.elements("Y"), ElementsAre(4));
}

TEST(Interpreter, RunsLoopsWithStepsBreakAndContinue) {
  TextRun p(R"(
    output Y: i64[8]
    launch b in 1 {
      var n: i64 = 0
      for i in 5:-2:-2 {
        Y[n] = i
        n = n + 1
      }
      for i in 0:100 unrolled with factor=3 {
        if i % 2 == 0 { continue }
        if i > 4 { break }
        Y[n] = i * 10
        n = n + 1
      }
      while n < 8 {
        Y[n] = n * 100
        n = n + 1
        if n == 7 { break }
      }
    })");
  p.tensor("Y", {8});
  EXPECT_THAT(p.elements("Y"), ElementsAre(5, 3, 1, -1, 10, 30, 600, 0));
}

TEST(Interpreter, AVariableInALoopStartsAnewEachTime) {
  TextRun p(R"(
    output Y: i32[3]
    launch b in 1 {
      for i in 0:3 {
        var v: i32 = 1
        v = v + cast(i, i32)
        Y[i] = v
      }
    })");
  p.tensor("Y", {3});
  EXPECT_THAT(p.elements("Y"), ElementsAre(1, 2, 3));
}

TEST(Interpreter, AtomicsGiveThePreviousValueAndZeroOutside) {
  TextRun p(R"(
    inout A: i32[2]
    output Y: i32[4]
    launch b in 1 {
      atomic add A[0], 5 with result=r0: i32
      Y[0] = r0
      atomic compare_exchange A[0], 9 with compare=15, result=r1: i32
      Y[1] = r1
      atomic max A[5], 9 with result=r2: i32
      Y[2] = r2
      atomic load A[1] with result=r3: i32
      Y[3] = r3
    })");
  p.tensor("A", {2}, {10, 20}).tensor("Y", {4});
  EXPECT_THAT(p.elements("Y"), ElementsAre(10, 15, 0, 20));
  EXPECT_THAT(p.memory("A"), ElementsAre(9, 20));
}

TEST(Interpreter, CollectsWhatIsPrinted) {
  TextRun p(R"(
    input X: f32[2]
    launch b in 2 {
      print "block" [b, X[0]]
      if b == 1 { print "X" with buffer=X }
    })");
  p.tensor("X", {2}, {0.5, kInf});
  EXPECT_THAT(p.run().printed,
              ElementsAre("block 0 0.5", "block 1 0.5", "X", "X[0] = 0.5", "X[1] = inf"));
}

// ---- programs

TEST(Interpreter, LaunchesFollowEachOtherAndShareWorkspaces) {
  TextRun p(R"(
    symbol n: i64
    input X: f32[n]
    output Y: f32[n]
    workspace W: f32[n]
    workspace Z: i32[1] with zero
    launch b in n { W[b] = X[b] * 2.0 }
    launch b in n { Y[b] = W[n - 1 - b] + cast(Z[0], f32) }
    launch b in 0 { Y[0] = 99.0 }
  )");
  p.tensor("X", {3}, {1, 2, 3}).tensor("Y", {3});
  EXPECT_THAT(p.elements("Y"), ElementsAre(6, 4, 2));
}

TEST(Interpreter, TheFirstLaunchWhoseGuardHoldsStandsForItsVariants) {
  const auto run = [](int64_t n) {
    TextRun p(R"(
      symbol n: i64
      output Y: i32[n]
      launch b in 1 with guard=n % 4 == 0 { Y[0] = 4 }
      launch b in 1 with guard=n % 2 == 0 { Y[0] = 2 }
      launch b in 1 { Y[0] = 1 }
      launch b in 1 { atomic add Y[0], 10 }
    )");
    p.tensor("Y", {n});
    return p.elements("Y")[0];
  };
  EXPECT_EQ(run(8), 14);
  EXPECT_EQ(run(6), 12);
  EXPECT_EQ(run(3), 11);
}

TEST(Interpreter, OrderDoesNotShowInALegalProgram) {
  TextRun p(R"(
    input X: f32[4, 8]
    output Y: f32[4, 8]
    launch a in 2, b in 2 {
      alloc t: f32[8] shared
      copy X[a * 2 + b, 0 :+ 8] -> t
      parallel i in 8 { Y[a * 2 + b, i] = t[7 - i] }
    })");
  p.tensor("X", {4, 8}, iota(32)).tensor("Y", {4, 8});
  const std::vector<double> wanted = p.elements("Y");
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_THAT(p.elements("Y", {.seed = seed}), ElementsAreArray(wanted));
  }
}

// ---- symbols

TEST(SolveSymbols, SolvesShapesThatAreAffineInOneUnknown) {
  TextRun p(R"(
    symbol n: i64
    symbol m: i64
    input X: f32[2 * n + 1, m]
    input Y: f32[n + m]
    output Z: i64[2]
    launch b in 1 {
      Z[0] = n
      Z[1] = m
    })");
  p.tensor("X", {7, 4}).tensor("Y", {7}).tensor("Z", {2});
  EXPECT_THAT(p.elements("Z"), ElementsAre(3, 4));
}

std::string error_of(TextRun& p) {
  try {
    p.run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SolveSymbols, RefusesWhatDoesNotFit) {
  TextRun p(R"(symbol n: i64 with multiple_of=2, max=8
    input X: f32[2 * n]
    input Y: f32[n]
    launch b in n { print "" [b] })");
  p.tensor("X", {8}).tensor("Y", {3});
  EXPECT_EQ(error_of(p), "error[E-HOST-05]: p: extent 0 of Y is 3, it must be 4");
  p.tensor("X", {7}).tensor("Y", {3});
  EXPECT_EQ(error_of(p),
            "p.tw:1: error[E-HOST-05]: p: n is 3, promised are 0 to 8, a multiple of 2");
  p.tensor("X", {7}).tensor("Y", {4});
  EXPECT_EQ(error_of(p), "error[E-HOST-05]: p: extent 0 of X is 7, it must be 8");
  p.tensor("X", {8, 1}).tensor("Y", {4});
  EXPECT_EQ(error_of(p), "p: X is [8, 1], it must have rank 1");
}

TEST(SolveSymbols, RefusesASymbolThatNoShapeDetermines) {
  TextRun p(R"(symbol n: i64
    input X: f32[n * n]
    launch b in n { print "" [b] })");
  p.tensor("X", {9});
  EXPECT_EQ(error_of(p), "p.tw:1: error[E-PROG-06]: p: n can't be determined from the arguments");
}

}  // namespace
}  // namespace tw::sim
