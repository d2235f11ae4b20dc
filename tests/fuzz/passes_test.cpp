// Every pass keeps the meaning of random programs: after each pass of the CPU's list the
// interpreter gives what it gave before.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/check.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/verify.h"
#include "tilewright/pass/loop_pipeline.h"

namespace tw::fuzz {
namespace {

using pass::Pass;

/// Runs the passes one after the other, and in the interpreter what each has made. Throws what is
/// wrong after which pass.
Executor running(std::vector<Pass> passes) {
  return [passes = std::move(passes)](const ir::Program& program, Case& one) {
    const Case before = one;
    interpreter()(program, one);
    ir::Program current = program;
    for (const Pass& pass : passes) {
      current = pass.run(current);
      ir::verify(current, pass.to, pass.name);
      Case after = before;
      const std::string wrong = [&] {
        try {
          interpreter()(current, after);
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
        return difference(one, after);
      }();
      if (!wrong.empty()) throw std::runtime_error(format("after {}: {}", pass.name, wrong));
    }
  };
}

void expect_meaning_kept(const std::vector<Pass>& passes, int64_t most) {
  expect_agreement(running(passes), static_cast<uint64_t>(env::fuzz_seed.get()),
                   std::min(env::fuzz_programs.get(), most));
}

TEST(FuzzPasses, KeepTheMeaningForWideVectors) {
  expect_meaning_kept(pass::loop_pipeline({64, 32}, true), 200);
}
TEST(FuzzPasses, KeepTheMeaningForNarrowVectors) {
  expect_meaning_kept(pass::loop_pipeline({16, 16}, false), 200);
}

TEST(FuzzPasses, KeepTheMeaningOfTileProgramsByThemselves) {
  for (const Pass& pass : pass::loop_pipeline({}, true)) {
    if (pass.from == ir::Level::tile) expect_meaning_kept({pass}, 50);
  }
}

}  // namespace
}  // namespace tw::fuzz
