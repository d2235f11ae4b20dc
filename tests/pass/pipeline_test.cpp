#include "tilewright/pass/pipeline.h"

#include "tests/ir/ir_testing.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/registry.h"

namespace tw::pass {
namespace {

using ir::Level;
using ir::Program;

Program example() {
  return ir::parse_program(R"(tilewright ir 1 program "p" { output Y: f32[4]
      launch bx in 4 { Y[bx] = 1.0 } })");
}
/// Multiplies every stored value by 2.
Program twice(const Program& program) {
  return ir::rewrite(program, [](auto&, const ir::Store& n) -> ir::Stmt {
    return ir::store(n.buffer, n.indices,
                     ir::op(ir::OpCode::mul, f32, {n.value, ir::float_const(f32, 2)}));
  });
}
Program spoil(const Program& program) {
  return ir::rewrite(program, [](auto&, const ir::Store& n) -> ir::Stmt {
    return ir::store(n.buffer, n.indices, ir::index(1));
  });
}
const Pass kTwice = {"twice", Level::tile, Level::tile, twice};
const Pass kSpoil = {"spoil", Level::tile, Level::tile, spoil};
const Pass kLower = {"lower", Level::tile, Level::loop, [](const Program& p) { return p; }};

std::string message(const std::vector<Pass>& passes, const RunOptions& options) {
  try {
    run(example(), passes, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Pipeline, RunsPassesInOrderAndTimesEach) {
  const RunResult result = run(example(), {kTwice, kTwice, kLower});
  EXPECT_IR_EQ(result.program, twice(twice(example())));
  ASSERT_EQ(result.times.size(), 3U);
  EXPECT_EQ(result.times[2].name, "lower");
  EXPECT_THAT(to_text(result.times), testing::HasSubstr("total"));
}

TEST(Pipeline, VerifiesAfterEachPass) {
  EXPECT_EQ(message({kTwice, kSpoil, kTwice}, {}),
            "internal error: p is no valid tile IR after spoil; please report it\n"
            "  `Y[bx] = i64(1)`: the value is i64, must be f32");
  EXPECT_EQ(message({kSpoil}, {.verify = false}), "");
}

TEST(Pipeline, LeavesPassesOut) {
  EXPECT_IR_EQ(run(example(), {kTwice, kLower}, {.skip = {"twice"}}).program, example());
  EXPECT_EQ(message({kTwice}, {.skip = {"thrice"}}),
            "pipeline: there is no pass 'thrice' to leave out\n  note: the passes are twice");
  EXPECT_EQ(message({kLower}, {.skip = {"lower"}}),
            "pipeline: lower can't be left out, it goes from tile to loop IR");
}

TEST(Pipeline, RefusesAPassOfAnotherLevel) {
  EXPECT_EQ(message({kLower, kLower}, {}), "pipeline: lower needs tile IR, it is loop");
}

TEST(Pipeline, ShowsTheProgramAfterEachPass) {
  std::vector<std::pair<std::string, std::string>> seen;
  RunOptions options;
  options.observe = [&](const std::string& name, const Program& p) {
    seen.emplace_back(name, print(p));
  };
  run(example(), {kTwice, kLower}, options);
  EXPECT_THAT(seen, testing::ElementsAre(std::pair("00_input", print(example())),
                                         std::pair("01_twice", print(twice(example()))),
                                         std::pair("02_lower", print(twice(example())))));
}

TEST(Registry, FindsPassesByName) {
  Diagnostics diagnostics;
  const std::vector<Pass> passes = passes_named({"lower_tile_ops", "guard_bounds"}, diagnostics);
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].name, "lower_tile_ops");
  EXPECT_THROW(passes_named({"lower"}, diagnostics), Error);
}

}  // namespace
}  // namespace tw::pass
