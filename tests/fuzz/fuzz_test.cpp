#include <cstdio>

#include <gtest/gtest.h>

#include "tests/fuzz/generator.h"
#include "tilewright/base/env.h"

namespace tw::fuzz {
TEST(Fuzz, ProgramsAreLegal) {
  const auto count = static_cast<uint64_t>(env::fuzz_programs.get());
  const auto first = static_cast<uint64_t>(env::fuzz_seed.get());
  int bad = 0;
  for (uint64_t seed = first; seed < first + count && bad < 10; ++seed) {
    Case one = generate(seed), two = one;
    sim::RunOptions options;
    options.check_overflow = true;
    const auto a = sim::interpret(one.program, one.arguments(), options);
    if (!a.findings.empty()) {
      ++bad;
      ADD_FAILURE() << "seed " << seed << "\n" << sim::to_text(a.findings);
      continue;
    }
    options.seed = seed;
    const auto b = sim::interpret(two.program, two.arguments(), options);
    if (!b.findings.empty()) {
      ++bad;
      ADD_FAILURE() << "shuffled seed " << seed << "\n" << sim::to_text(b.findings);
      continue;
    }
    for (size_t i = 0; i < one.values.size(); ++i)
      if (one.values[i].memory != two.values[i].memory) {
        ++bad;
        ADD_FAILURE() << "seed " << seed << " param " << i << " differs";
        break;
      }
  }
}
}  // namespace tw::fuzz
