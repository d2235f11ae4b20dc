// More of text_random_test.cpp; TW_FUZZ_PROGRAMS says how much.
#include "tests/ir/fuzz_text.h"
#include "tilewright/base/env.h"

namespace tw::ir {
namespace {

TEST(TextRandomSlow, EveryProgramSurvivesPrintingAndParsing) {
  const auto count = static_cast<uint32_t>(env::fuzz_programs.get() / 2);
  for (uint32_t seed = 1000; seed < 1000 + count; ++seed) {
    expect_round_trip(RandomIr(seed).program());
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(TextRandomSlow, DamagedTextsGiveErrorsOrPrograms) {
  fuzz_text(1000000, static_cast<uint32_t>(env::fuzz_programs.get() * 6));
}

}  // namespace
}  // namespace tw::ir
