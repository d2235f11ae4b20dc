#include <gtest/gtest.h>

#include "tests/backend/cpu/run.h"

namespace tw::cpu::test {
namespace {

using ir::add;
using ir::Expr;
using ir::index;
using ir::mul;
using ir::OpCode;
using ir::Var;

Expr plus(const Expr& a, const Expr& b) { return ir::op(OpCode::add, a.dtype(), {a, b}); }

TEST(Emit, AddsVectorsOfSeveralBlocks) {
  ProgramBuilder p;
  const auto x = p.tensor("x", f32, {128}), y = p.tensor("y", f32, {128}),
             z = p.tensor("z", f32, {128});
  expect_as_interpreted(p.build(lanes(32,
                                      [&](const Var& l) {
                                        const Expr i = add(mul(p.block, index(32)), l);
                                        return put(z, {i}, plus(at(x, {i}), at(y, {i})));
                                      }),
                                4));
}

}  // namespace
}  // namespace tw::cpu::test
