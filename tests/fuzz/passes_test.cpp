// Every pass keeps the meaning of random programs: after each pass of the CPU's list the
// interpreter gives what it gave before.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/fuzz/check.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/verify.h"
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/pack_gemm_operands.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/unroll_loops.h"

namespace tw::fuzz {
namespace {

using ir::Level;
using ir::Program;

struct Row {
  Level level;  // of the result
  std::function<Program(const Program&)> pass;
};

/// The interpreter on the result of the passes, in turn.
Executor after(std::vector<Row> rows) {
  return [rows = std::move(rows)](const Program& program, Case& one) {
    Program lowered = program;
    for (const Row& row : rows) {
      lowered = row.pass(lowered);
      ir::verify(lowered, row.level);
    }
    interpreter()(lowered, one);
  };
}

std::vector<Row> list(const pass::VectorShape& shape, bool bf16_dot) {
  return {
      {Level::tile, pass::unroll_loops},
      {Level::tile, [=](const Program& p) { return pass::pack_gemm_operands(p, bf16_dot); }},
      {Level::tile, pass::plan_prefetch},
      {Level::tile, [=](const Program& p) { return pass::lower_tile_ops(p, shape); }},
      {Level::tile, pass::guard_bounds},
      {Level::loop, [=](const Program& p) { return pass::lower_parallel(p, shape); }},
  };
}

void expect_meaning_kept(const std::vector<Row>& rows, size_t first, size_t count) {
  const int64_t programs = std::min<int64_t>(env::fuzz_programs.get(), 150);
  expect_agreement(after({rows.begin() + static_cast<std::ptrdiff_t>(first),
                          rows.begin() + static_cast<std::ptrdiff_t>(first + count)}),
                   static_cast<uint64_t>(env::fuzz_seed.get()), programs);
}

TEST(FuzzPasses, UnrollLoopsKeepsTheMeaning) { expect_meaning_kept(list({}, false), 0, 1); }
TEST(FuzzPasses, PackGemmOperandsKeepsTheMeaning) {
  expect_meaning_kept(list({}, false), 1, 1);
  expect_meaning_kept(list({}, true), 1, 1);
}
TEST(FuzzPasses, PlanPrefetchKeepsTheMeaning) { expect_meaning_kept(list({}, false), 2, 1); }
TEST(FuzzPasses, LowerTileOpsKeepsTheMeaning) { expect_meaning_kept(list({16, 16}, false), 3, 1); }
TEST(FuzzPasses, GuardBoundsKeepsTheMeaning) { expect_meaning_kept(list({64, 32}, false), 3, 2); }
TEST(FuzzPasses, LoopsOfWideVectorsKeepTheMeaning) {
  expect_meaning_kept(list({64, 32}, true), 0, 6);
}
TEST(FuzzPasses, LoopsOfNarrowVectorsKeepTheMeaning) {
  expect_meaning_kept(list({16, 16}, false), 0, 6);
}

}  // namespace
}  // namespace tw::fuzz
