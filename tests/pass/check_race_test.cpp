#include "tilewright/pass/check_race.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

std::string found(const std::string& body, const std::string& level = "warn") {
  return findings(check_race, "alloc s: f32[64] shared alloc t: f32[8, 8] shared\n" + body,
                  "check_race", level);
}

TEST(CheckRace, NamesTwoIterationsThatWriteOneElement) {
  EXPECT_EQ(
      found("parallel i in 8, j in 8 {\n  s[j] = 1\n}"),
      "k.tw:2: warning[W-RACE-01]: p: iterations of a parallel loop conflict: iteration (0, 0) "
      "writes s[j], iteration (1, 0) writes s[j]\n"
      "  note: in `s[j] = 1.0` at k.tw:3\n"
      "  note: in `s[j] = 1.0` at k.tw:3\n"
      "  help: write each element in one iteration, or use atomics or a reducer");
}

TEST(CheckRace, NamesAReaderOfWhatAnotherIterationWrites) {
  EXPECT_EQ(found("parallel i in 63 {\n  s[i] = s[i + 1]\n}"),
            "k.tw:2: warning[W-RACE-01]: p: iterations of a parallel loop conflict: iteration (0) "
            "reads s[i + 1], iteration (1) writes s[i]\n"
            "  note: in `s[i] = s[i + 1]` at k.tw:3\n"
            "  note: in `s[i] = s[i + 1]` at k.tw:3\n"
            "  help: write each element in one iteration, or use atomics or a reducer");
}

TEST(CheckRace, FollowsComputedIndicesLoopsAndConditions) {
  EXPECT_NE(found("parallel i in 64 { s[i % 32] = 1 }"), "");
  EXPECT_NE(found("parallel i in 64 { let k = i // 2 s[k] = 1 }"), "");
  EXPECT_NE(found("parallel i in 8 { for k in 0:8 { s[i + k] = 1 } }"), "");
  EXPECT_NE(found("parallel i in n { Y[bx, i // 2] = 1 }"), "");
  EXPECT_NE(found("parallel i in n { if bx * 4 + i < n { Y[bx, 0] = 1 } }"), "");
  EXPECT_NE(found("parallel i in 8 { if i % 2 == 0 { t[0, i // 4] = 1 } }"), "");
  EXPECT_NE(found("parallel i in 8 { parallel j in 8 { t[j, 0] = 1 } }"), "");
}

TEST(CheckRace, AcceptsDisjointIterations) {
  EXPECT_EQ(found("parallel i in 8, j in 8 { t[j, i] = t[j, i] + s[i * 8 + j] }"), "");
  EXPECT_EQ(found("parallel i in 64 { s[i] = s[i] * 2 }"), "");
  EXPECT_EQ(found("parallel i in 8 { for k in 0:8 { s[i * 8 + k] = 1 } }"), "");
  EXPECT_EQ(found("parallel i in 64 { s[63 - i] = 1 }"), "");
  EXPECT_EQ(found("parallel i in 32 { s[2 * i] = s[2 * i + 1] }"), "");
  EXPECT_EQ(found("parallel i in n { if i == 3 { s[0] = 1 } }"), "");
  EXPECT_EQ(found("parallel i in n { if i == n - 1 { s[0] = 1 } }"), "");
  EXPECT_EQ(found("parallel i in n, j in 64 { Y[bx * 8 + i, j] = X[bx * 8 + i, j] }"), "");
}

TEST(CheckRace, AcceptsWhatItCannotDecide) {
  EXPECT_EQ(found("parallel i in 64 { s[cast(X[bx, i], i64)] = 1 }"), "");
  EXPECT_EQ(found("parallel i in 8 { if X[bx, i] == 1.0 { s[0] = 1 } }"), "");
}

TEST(CheckRace, AcceptsAtomicsReducersAndPrivateData) {
  EXPECT_EQ(found("parallel i in 64 { atomic add s[0], 1.0 }"), "");
  EXPECT_EQ(found("alloc r: f32[1] reducer init r parallel i in 64 { update r[0] = 1 }"), "");
  EXPECT_EQ(found("parallel i in 64 { alloc p: f32[4] local var v: f32 p[0] = 1 v = 1 }"), "");
  EXPECT_EQ(found("parallel i in 64 { Y[bx, i] = s[0] }"), "");
}

TEST(CheckRace, SeesAPlainStoreBesideAtomics) {
  EXPECT_NE(found("parallel i in 64 { atomic add s[0], 1.0 if i == 3 { s[0] = 1 } }"), "");
}

TEST(CheckRace, ObeysItsOption) {
  const std::string body = "parallel i in 8 { s[0] = 1 }";
  EXPECT_EQ(found(body, "off"), "");
  EXPECT_EQ(found(body, "error").substr(0, 24), "k.tw:2: error[W-RACE-01]");
}

}  // namespace
}  // namespace tw::pass
