// Which mutants count as equivalent, and which don't.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mutate/mutants.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/text.h"

namespace tw {
namespace {

using ::testing::ElementsAre;

/// `the change: why it changes nothing` of each mutant that counts as equivalent.
std::vector<std::string> equivalent(const std::string& body, std::vector<std::string> facts = {}) {
  const std::string text =
      "tilewright ir 1 program \"p\" { symbol n: i64 input X: f32[n] output Y: f32[n] launch b in "
      "(n + 63) // 64 with threads=[64], thread=t: i64, shared_bytes=1024 {\n" +
      body + "\n} }";
  test::LibraryLaunch launch{.program = ir::parse_program(text), .facts = std::move(facts)};
  std::vector<std::string> list;
  for (const sim::Mutant& mutant : sim::mutants(launch.program)) {
    const std::string why = test::why_equivalent(launch, mutant);
    if (!why.empty()) list.push_back(mutant.name + ": " + why);
  }
  return list;
}

TEST(Equivalent, AConditionThatOthersImply) {
  EXPECT_THAT(equivalent("let i: i64 = b * 64 + t if 0 <= i && i < n { Y[i] = X[i] }"),
              ElementsAre("0 <= i && i < n without 0 <= i: the condition holds in the same cases"));
  EXPECT_THAT(equivalent("if b * 64 + t < n { if t < n - b * 64 { Y[b * 64 + t] = 1.0 } }"),
              ElementsAre("no guard: the condition holds in the same cases",
                          "no guard: the guard always holds"));
}

TEST(Equivalent, ATurnInWhichNothingHappens) {
  EXPECT_THAT(
      equivalent("for s in 0:2 { let i: i64 = s * 64 + t if i < 100 && i < n { Y[i] = 1.0 } }"),
      ElementsAre("end of the loop over s plus 1: the turn at the end does nothing"));
  EXPECT_THAT(
      equivalent("for s in 0:3 { let i: i64 = s * 64 + t if i < 100 && i < n { Y[i] = 1.0 } }"),
      ElementsAre("end of the loop over s plus 1: the turn at the end does nothing",
                  "end of the loop over s minus 1: the turn at the end does nothing"));
}

TEST(Equivalent, ALoopWithoutTurnsInAnyCase) {
  const std::string clamp = "for s in 0:max(n - 99, 0) { Y[s] = 1.0 }";
  EXPECT_THAT(equivalent(clamp), ElementsAre("n - 99 instead of max(n - 99, 0): the same turns"));
  EXPECT_THAT(equivalent("for s in 0:max(n - 99, 1) { Y[s] = 1.0 }"), ElementsAre());
}

TEST(Equivalent, TheFirstOfAFoldWithoutItsLimit) {
  const std::string first = "alloc m: i32[2] local for s in 0:2 { m[s] = -2147483648 } ",
                    fold = "m[s] = max(m[s], cast(X[s], i32)) ",
                    result = "Y[t] = cast(m[0] + m[1], f32)",
                    why = "the first of a fold is compared with the limit";
  EXPECT_THAT(equivalent(first + "for s in 0:2 { " + fold + "} " + result),
              ElementsAre("cast(X[s], i32) instead of max(m[s], cast(X[s], i32)): " + why));
  // The second of each, a fold of the second, and one that doesn't begin at the limit.
  const std::string twice = "for s in 0:2 { " + fold + "m[s] = max(m[s], 7) } ";
  EXPECT_THAT(equivalent(first + twice + result), ElementsAre());
  const std::string turns = "for u in 0:2 { for s in 0:2 { " + fold + "} } ";
  EXPECT_THAT(equivalent(first + turns + result), ElementsAre());
  const std::string other = "alloc m: i32[2] local for s in 0:2 { m[s] = -7 } ";
  EXPECT_THAT(equivalent(other + "for s in 0:2 { " + fold + "} " + result), ElementsAre());
  EXPECT_THAT(equivalent(first + "m[t % 2] = 5 for s in 0:2 { " + fold + "} " + result),
              ElementsAre());
}

TEST(Equivalent, WhatIsWrittenToRegistersThatNobodyReads) {
  // t = 63 writes r[1], which only lower threads read.
  const std::string write = "alloc r: f32[2] local r[0] = 1.0 if t < 50 { r[1] = 2.0 } ";
  EXPECT_THAT(equivalent(write + "if t < 50 && b * 64 + t < n { Y[b * 64 + t] = r[0] + r[1] }"),
              ElementsAre("no guard: what the guard keeps off does nothing"));
  EXPECT_THAT(equivalent(write + "if t < 51 && b * 64 + t < n { Y[b * 64 + t] = r[0] + r[1] }"),
              ElementsAre());
}

TEST(Equivalent, CodeThatNoRunComesTo) {
  EXPECT_THAT(equivalent("if n < 0 { Y[t] = 1.0 }"),
              ElementsAre("index 0 of Y plus 1: no run comes here"));
  EXPECT_THAT(equivalent("if n % 4 == 0 { Y[b] = 1.0 }", {"n % 4 == 0"}),
              ElementsAre("no guard: the guard always holds"));
}

TEST(Equivalent, BranchesThatDoTheSame) {
  const std::string both =
      " { Y[b] = X[b] } else { if b < n { Y[b] = if_else(0 <= b, X[b], 0.0) } }";
  EXPECT_THAT(
      equivalent("if t == 0 { if b * 64 + 64 <= n" + both + " }"),
      ElementsAre("opposite guard: both branches do the same", "no guard: the guard always holds",
                  "X[b] instead of if_else(0 <= b, X[b], 0.0): the choice is always the same"));
}

TEST(Equivalent, AssertionsThatAnotherThreadMakes) {
  EXPECT_THAT(equivalent("if t == 0 { assert n < 100, \"too many\" }"),
              ElementsAre("no guard: more threads assert the same",
                          "opposite guard: another thread asserts the same"));
  EXPECT_THAT(
      equivalent("if t == 0 { assert b < 100, \"too far\" } if t == 1 { assert t < n, \"\" }"),
      ElementsAre("no guard: more threads assert the same",
                  "opposite guard: another thread asserts the same"));
}

TEST(Equivalent, SharedMemoryAndTensorsCount) {
  EXPECT_THAT(
      equivalent("alloc s: f32[64] shared with place=0 if t < 32 { s[t] = 1.0 } barrier if t "
                 "< 32 && b * 64 + t < n { Y[b * 64 + t] = s[t] }"),
      ElementsAre());
}

}  // namespace
}  // namespace tw
