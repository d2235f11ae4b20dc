// More of text_random_test.cpp.
#include "tests/ir/fuzz_text.h"

namespace tw::ir {
namespace {

TEST(TextRandomSlow, EveryProgramSurvivesPrintingAndParsing) {
  for (uint32_t seed = 1000; seed < 6000; ++seed) {
    expect_round_trip(RandomIr(seed).program());
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(TextRandomSlow, DamagedTextsGiveErrorsOrPrograms) { fuzz_text(1000000, 60000); }

}  // namespace
}  // namespace tw::ir
