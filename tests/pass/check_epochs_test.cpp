#include "tilewright/pass/check_epochs.h"

#include "tests/pass/check_testing.h"

namespace tw::pass {
namespace {

std::string found(const std::string& body) {
  return findings(check_epochs, "alloc r: f32[8] reducer alloc d: f32[8] fragment\n" + body);
}

TEST(CheckEpochs, AcceptsEpochsOneAfterAnother) {
  EXPECT_EQ(found("for k in 0:n { init r for i in 0:8 { update r[i] = 1 } finalize r -> d } "
                  "init r = 0.0 finalize r -> d"),
            "");
}

TEST(CheckEpochs, FindsUsesOutsideAnEpoch) {
  EXPECT_EQ(found("update r[0] = 1"),
            "k.tw:2: error[E-RDC-02]: p: update of r outside an epoch\n"
            "  help: open one with init(r)");
  EXPECT_EQ(found("finalize r -> d"),
            "k.tw:2: error[E-RDC-03]: p: finalize of r without init\n"
            "  help: open an epoch with init(r)");
}

TEST(CheckEpochs, FindsReadsAndStores) {
  EXPECT_EQ(found("init r\ncopy r -> d\nfinalize r -> d"),
            "k.tw:3: error[E-RDC-01]: p: r is a reducer, it can't be read\n"
            "  help: finalize it into another buffer");
  EXPECT_EQ(found("init r\nfill r = 0\nfinalize r -> d"),
            "k.tw:3: error[E-RDC-01]: p: r is a reducer, it can't be written\n"
            "  help: finalize it into another buffer");
}

TEST(CheckEpochs, FindsPathsThatDisagree) {
  EXPECT_EQ(found("if bx == 0 {\n  init r\n}"),
            "k.tw:2: error[E-RDC-04]: p: paths disagree about the epoch of r after the branches "
            "of an if\n"
            "  note: it is opened at k.tw:3\n"
            "  help: init and finalize it on all paths, or on none");
  EXPECT_EQ(found("init r\nfor i in 0:4 {\n  finalize r -> d\n}\nfinalize r -> d"),
            "k.tw:3: error[E-RDC-04]: p: paths disagree about the epoch of r before and after an "
            "iteration of a loop\n"
            "  note: it is opened at k.tw:2\n"
            "  help: init and finalize it on all paths, or on none");
  EXPECT_EQ(found("for i in 0:4 {\n  init r\n  if i == 2 { break }\n  finalize r -> d\n}"),
            "k.tw:4: error[E-RDC-04]: p: paths disagree about the epoch of r where a loop is left\n"
            "  note: it is opened at k.tw:3\n"
            "  help: init and finalize it on all paths, or on none");
}

TEST(CheckEpochs, FindsEpochsThatNothingFinalizes) {
  const std::string message =
      "k.tw:2: warning[W-RDC-01]: p: the epoch of r is never finalized\n"
      "  help: fold it into a buffer with finalize(r, dst)";
  EXPECT_EQ(found("init r"), message);
  EXPECT_EQ(found("init r\ninit r\nfinalize r -> d"), message);
}

}  // namespace
}  // namespace tw::pass
