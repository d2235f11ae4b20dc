#include "tilewright/pass/plan_prefetch.h"

#include "tests/ir/ir_testing.h"

namespace tw::pass {
namespace {

/// Rows of x are copied, transformed in one loop and written by another.
ir::Program rows(const std::string& first, const std::string& second) {
  return ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  input x: f32[64, 512]\n  output y: f32[64, 512]\n"
      "  launch b in 64 {\n"
      "    alloc t: f32[512] fragment\n"
      "    copy x[b, 0 :+ 512] -> t\n" +
      first + "\n" + second + "\n  }\n}\n");
}

const std::string next = " with prefetch=[x[b + 1, 0 :+ 512]]";

TEST(PlanPrefetch, TheLastLoopThatWritesCarriesThem) {
  const auto plan = [](const std::string& attribute) {
    return rows("parallel i in 512 { t[i] = t[i] * 2.0 }",
                "parallel i in 512" + attribute + " { y[b, i] = t[i] }");
  };
  EXPECT_IR_EQ(plan_prefetch(plan("")), plan(next));
}

TEST(PlanPrefetch, ALoopWithAnElementaryFunctionCarriesThem) {
  const auto plan = [](const std::string& attribute) {
    return rows("parallel i in 512" + attribute + " { t[i] = exp(t[i]) }",
                "parallel i in 512 { y[b, i] = t[i] }");
  };
  EXPECT_IR_EQ(plan_prefetch(plan("")), plan(next));
}

TEST(PlanPrefetch, ATileThatStaysIsNotFetchedAgain) {
  const ir::Program program = ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  input x: f32[512]\n  output y: f32[64, 512]\n"
      "  launch b in 64 {\n    alloc t: f32[512] fragment\n    copy x -> t\n"
      "    parallel i in 512 { y[b, i] = t[i] }\n  }\n}\n");
  EXPECT_IR_EQ(plan_prefetch(program), program);
}

// The multiply carries the tiles of the next turn; a copy asks for its own rows some rows early.
TEST(PlanPrefetch, TilesOfAMultiply) {
  const auto plan = [](const std::string& copy, const std::string& multiply) {
    return ir::parse_program(
        "tilewright ir 1\nprogram \"p\" {\n  input a: f32[64, 512]\n  input b: f32[512, 64]\n"
        "  launch x in 1 {\n    alloc sums: f32[64, 64] fragment\n"
        "    alloc s: f32[64, 32] shared\n    alloc row: f32[1, 64] shared\n"
        "    for i in 0:16 pipelined {\n"
        "      copy a[0 :+ 64, i * 32 :+ 32] -> s" +
        copy +
        "\n      copy b[i :+ 1, 0 :+ 64] -> row\n      gemm s, b[i * 32 :+ 32, 0 :+ 64] -> sums" +
        multiply + "\n    }\n  }\n}\n");
  };
  EXPECT_IR_EQ(plan_prefetch(plan("", "")),
               plan(" with prefetch=[a[4 :+ 64, i * 32 :+ 32]]",
                    " with prefetch=[a[0 :+ 64, (i + 1) * 32 :+ 32]]"));
}

}  // namespace
}  // namespace tw::pass
