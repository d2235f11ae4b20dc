#include "tilewright/pass/check_init.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

std::string found(const std::string& body) { return findings(check_init, body); }

TEST(CheckInit, FindsAReadBeforeAnyWrite) {
  EXPECT_EQ(found("alloc t: f32[8] fragment\n"
                  "copy t -> Y[bx, 0 :+ 8]"),
            "k.tw:2: warning[W-INIT-01]: p: t is read before it is written\n"
            "  note: it is read by `copy t -> Y[bx, 0 :+ 8]`\n"
            "  note: t is f32[8] fragment, declared at k.tw:1\n"
            "  help: write it first, for example with fill(t, 0)");
  EXPECT_EQ(found("var v: f32\nY[bx, 0] = v + 1"),
            "k.tw:2: warning[W-INIT-01]: p: v is read before it is written\n"
            "  note: it is read by `Y[bx, 0] = v + 1.0`\n"
            "  note: v is f32 variable, declared at k.tw:1\n"
            "  help: give it an initial value, as in var(f32, 0)");
}

TEST(CheckInit, NamesAnElementThatIsMissing) {
  const std::string rest =
      "  note: it is read by `reduce sum t -> s over [1]`\n"
      "  note: t is f32[8, 4] fragment, declared at k.tw:1\n"
      "  help: write it first, for example with fill(t, 0)";
  const std::string head = "alloc t: f32[8, 4] fragment alloc s: f32[8] fragment\n";
  EXPECT_EQ(found(head + "fill t[0 :+ 7, 0 :+ 4] = 1.0\nreduce sum t -> s over [1]"),
            "k.tw:3: warning[W-INIT-01]: p: t[7, 0] is read before it is written\n" + rest);
  EXPECT_EQ(found(head + "parallel i in 8, j in 3 { t[i, j] = 1 }\nreduce sum t -> s over [1]"),
            "k.tw:3: warning[W-INIT-01]: p: t[0, 3] is read before it is written\n" + rest);
  EXPECT_EQ(found(head + "parallel i in 8, j in 4 { t[i, j] = 1 } reduce sum t -> s over [1]"), "");
}

TEST(CheckInit, FindsAnAccumulatorThatNothingClears) {
  const std::string head = "alloc a: f32[8, 8] shared alloc c: f32[8, 8] fragment fill a = 1.0\n";
  const std::string message =
      "k.tw:2: warning[W-INIT-01]: p: c is read before it is written\n"
      "  note: it is read by `gemm a, a -> c`\n"
      "  note: c is f32[8, 8] fragment, declared at k.tw:1\n"
      "  help: write it first, for example with fill(c, 0)";
  EXPECT_EQ(found(head + "for k in 0:n { gemm a, a -> c }"), message);
  EXPECT_EQ(found(head + "fill c = 0 for k in 0:n { gemm a, a -> c }"), "");
  EXPECT_EQ(found(head + "for k in 0:n { gemm a, a -> c with clear=k == 0 }"), "");
  EXPECT_EQ(found(head + "gemm a, a -> c with clear=true"), "");
}

TEST(CheckInit, LetsAnEarlierIterationWriteWhatIsReadConditionally) {
  const std::string head = "var v: f32 alloc x: f32[8] shared\n";
  EXPECT_EQ(found(head + "for i in 0:n { if i > 0 { Y[bx, i] = v } v = 1 }"), "");
  EXPECT_EQ(found(head + "for i in 0:8 { for k in 0:i { Y[bx, 0] = x[k] } x[i] = 1 }"), "");
  EXPECT_NE(found(head + "for i in 0:8 { Y[bx, i] = v v = 1 }"), "");
  EXPECT_NE(found(head + "for i in 0:n { if i > 0 { Y[bx, i] = v } }"), "");
}

TEST(CheckInit, KnowsThatAnAllocationInALoopIsNewInEachIteration) {
  EXPECT_NE(found("for i in 0:n { alloc t: f32[8] shared if i > 0 { Y[bx, 0] = t[0] } t[0] = 1 }"),
            "");
}

TEST(CheckInit, TakesAConditionalWriteAsAWrite) {
  EXPECT_EQ(found("var v: f32 if bx == 0 { v = 1 } Y[bx, 0] = v"), "");
}

TEST(CheckInit, FollowsViewsToTheirStorage) {
  EXPECT_EQ(found("alloc t: f32[8] shared view v: f32[2, 4] shared of t fill v = 0.0 "
                  "copy t -> Y[bx, 0 :+ 8]"),
            "");
  EXPECT_NE(found("alloc t: f32[8] shared view v: f32[2, 4] shared of t Y[bx, 0] = v[1, 1]"), "");
}

TEST(CheckInit, ReportsABufferOnce) {
  const std::string text = found("alloc t: f32[8] shared Y[bx, 0] = t[0] Y[bx, 1] = t[1]");
  EXPECT_EQ(text.find("W-INIT"), text.rfind("W-INIT"));
}

TEST(CheckInit, ObeysItsOption) {
  const std::string body = "var v: f32\nY[bx, 0] = v";
  EXPECT_EQ(findings(check_init, body, "check_init", "off"), "");
  EXPECT_EQ(findings(check_init, body, "check_init", "error").substr(0, 24),
            "k.tw:2: error[W-INIT-01]");
}

}  // namespace
}  // namespace tw::pass
