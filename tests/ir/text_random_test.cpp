// The text form on random programs, and on random damage to their texts.
#include "tests/ir/fuzz_text.h"

namespace tw::ir {
namespace {

TEST(TextRandom, EveryProgramSurvivesPrintingAndParsing) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Program program = RandomIr(seed).program();
    ASSERT_EQ(violations(program, Level::tile), std::vector<std::string>()) << print(program);
    expect_round_trip(program);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << "\n" << print(program);
  }
}

TEST(TextRandom, DamagedTextsGiveErrorsOrPrograms) { fuzz_text(0, 2000); }

}  // namespace
}  // namespace tw::ir
