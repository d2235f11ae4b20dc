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
#include "tilewright/pass/guard_bounds.h"
#include "tilewright/pass/infer_layouts.h"
#include "tilewright/pass/lower_parallel.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/pack_gemm_operands.h"
#include "tilewright/pass/plan_prefetch.h"
#include "tilewright/pass/simplify.h"
#include "tilewright/pass/unroll_loops.h"

namespace tw::fuzz {
namespace {

using ir::Level;
using ir::Program;

struct Row {
  const char* name;
  Level level;  // of the result
  std::function<Program(const Program&)> pass;
};

/// The passes of the CPU backend (backend/cpu/compile.cpp), in order.
std::vector<Row> list(const pass::VectorShape& shape, bool bf16_dot) {
  const auto with_shape = [&](Program (*pass)(const Program&, const pass::VectorShape&)) {
    return [=](const Program& p) { return pass(p, shape); };
  };
  const auto simplify = [](const Program& p) { return pass::simplify(p); };
  return {
      {"simplify", Level::tile, simplify},
      {"pack_gemm_operands", Level::tile,
       [=](const Program& p) { return pass::pack_gemm_operands(p, bf16_dot); }},
      {"infer_layouts", Level::scheduled, with_shape(pass::infer_layouts)},
      {"plan_prefetch", Level::scheduled, pass::plan_prefetch},
      {"lower_tile_ops", Level::scheduled, with_shape(pass::lower_tile_ops)},
      {"guard_bounds", Level::scheduled, pass::guard_bounds},
      {"unroll_loops", Level::scheduled, pass::unroll_loops},
      {"lower_parallel", Level::loop, with_shape(pass::lower_parallel)},
      {"apply_layouts", Level::loop, pass::apply_layouts},
      {"simplify_loops", Level::loop, simplify},
  };
}

/// Runs the passes one after the other, and in the interpreter what each has made. Throws what is
/// wrong after which pass.
Executor passes(std::vector<Row> rows) {
  return [rows = std::move(rows)](const Program& program, Case& one) {
    const Case before = one;
    interpreter()(program, one);
    Program current = program;
    for (const Row& row : rows) {
      current = row.pass(current);
      ir::verify(current, row.level, row.name);
      Case after = before;
      const std::string wrong = [&] {
        try {
          interpreter()(current, after);
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
        return difference(one, after);
      }();
      if (!wrong.empty()) throw std::runtime_error(format("after {}: {}", row.name, wrong));
    }
  };
}

void expect_meaning_kept(const pass::VectorShape& shape, bool bf16_dot) {
  expect_agreement(passes(list(shape, bf16_dot)), static_cast<uint64_t>(env::fuzz_seed.get()),
                   std::min<int64_t>(env::fuzz_programs.get(), 200));
}

TEST(FuzzPasses, KeepTheMeaningForWideVectors) { expect_meaning_kept({64, 32}, true); }
TEST(FuzzPasses, KeepTheMeaningForNarrowVectors) { expect_meaning_kept({16, 16}, false); }

TEST(FuzzPasses, KeepTheMeaningByThemselves) {
  const pass::VectorShape shape;
  for (const Row& row : list(shape, true)) {
    if (row.level == Level::loop || row.name == std::string("guard_bounds")) continue;
    expect_agreement(passes({row}), static_cast<uint64_t>(env::fuzz_seed.get()),
                     std::min<int64_t>(env::fuzz_programs.get(), 50));
  }
}

}  // namespace
}  // namespace tw::fuzz
