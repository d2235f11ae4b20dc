// Random programs, a few hundred of each kind; fuzz_slow_test.cpp runs many.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/fuzz/check.h"
#include "tests/fuzz/generator.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"

namespace tw::fuzz {
namespace {

uint64_t first_seed() { return static_cast<uint64_t>(env::fuzz_seed.get()); }
int64_t few() { return std::min<int64_t>(env::fuzz_programs.get(), 300); }

TEST(Fuzz, ProgramsAreLegalInAnyOrder) { expect_agreement(interpreter(17), first_seed(), few()); }

TEST(Fuzz, ProgramsAreWellFormed) {
  for (int64_t i = 0; i < few(); ++i) {
    const Case one = generate(first_seed() + static_cast<uint64_t>(i));
    const auto violations = ir::violations(one.program, ir::Level::tile);
    ASSERT_TRUE(violations.empty()) << "seed " << one.seed << ": " << violations[0];
  }
}

TEST(Fuzz, ProgramsAreTheSameAfterPrintingAndParsing) {
  for (int64_t i = 0; i < few(); ++i) {
    const Case one = generate(first_seed() + static_cast<uint64_t>(i));
    const std::string text = ir::print(one.program);
    const ir::Program parsed = ir::parse_program(text);
    ASSERT_TRUE(ir::structurally_equal(one.program, parsed)) << "seed " << one.seed << "\n" << text;
    ASSERT_EQ(ir::print(parsed), text) << "seed " << one.seed;
  }
}

TEST(Fuzz, TheSameSeedMakesTheSameProgramAndInputs) {
  const Case a = generate(first_seed()), b = generate(first_seed());
  EXPECT_EQ(ir::print(a.program), ir::print(b.program));
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t p = 0; p < a.values.size(); ++p) EXPECT_EQ(a.values[p].memory, b.values[p].memory);
}

}  // namespace
}  // namespace tw::fuzz
