// The interpreter as a whole: what programs compute.
#include "tilewright/sim/interpreter.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/programs.h"

namespace tw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace tw::testing;

std::vector<float> iota(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(Interpreter, AddsTwoVectorsOfSymbolicLengthBlockByBlock) {
  TestProgram p;
  const ir::Var n = p.symbol("n"), block = index_var("block"), i = index_var("i");
  const ir::Buffer x = p.input("x", f32, {n}), y = p.output("y", f32, {n});
  const ir::Buffer t = ir::make_buffer("t", f32, ir::MemSpace::fragment, std::vector<int64_t>{4});
  const ir::Expr base = ir::mul(block, ir::index(4));
  p.launch(
      {ir::cdiv(n, ir::index(4))}, {block},
      ir::seq({ir::alloc(t), copy(region(x, {base}, {4}), whole(t)),
               parallel({i}, {4}, ir::store(t, {i}, ir::add(ir::load(t, {i}), ir::load(t, {i})))),
               copy(whole(t), region(y, {base}, {4}))}));
  std::vector<float> in = iota(6), out(6, -1.0F);
  const RunResult result = interpret(p.program(), {tensor(in, f32, {6}), tensor(out, f32, {6})});
  EXPECT_EQ(to_text(result.findings), "");
  EXPECT_THAT(out, ElementsAre(2, 4, 6, 8, 10, 12));
}

}  // namespace
}  // namespace tw::sim
