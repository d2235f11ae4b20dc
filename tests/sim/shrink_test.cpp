// What shrink leaves of a failing program.
#include "tilewright/sim/shrink.h"

#include <gtest/gtest.h>

#include "tests/ir/ir_testing.h"
#include "tilewright/ir/visit.h"

namespace tw::sim {
namespace {

/// Whether some multiplication of floats is left.
bool has_multiply(const ir::Program& program) {
  bool found = false;
  for (const ir::Stmt& launch : program.launches) {
    ir::for_each_expr(launch, [&](const ir::Expr& e) {
      const auto* op = e.try_as<ir::Op>();
      found = found || (op != nullptr && op->code == ir::OpCode::mul && op->dtype.is_float());
    });
  }
  return found;
}

const ir::Program& sample() {
  static const ir::Program program = ir::parse_program(R"(tilewright ir 1
program "sample" {
  symbol n: i64
  input X: f32[n, 64]
  output Y: f32[n, 64]
  workspace W: f32[64]
  launch a in 4 {
    fill W[a * 16 :+ 16] = 1.0
  }
  launch b in n {
    alloc t: f32[64] shared
    copy X[b, 0 :+ 64] -> t
    if b > 3 {
      for k in 0:8 {
        parallel i in 64 { t[i] = exp(t[i] + 1.0) * (W[i] + 2.0) }
      }
    }
    copy t -> Y[b, 0 :+ 64]
  }
}
)");
  return program;
}

TEST(Shrink, LeavesOnlyWhatTheFailureNeeds) {
  EXPECT_IR_EQ(shrink(sample(), has_multiply), ir::parse_program(R"(tilewright ir 1
program "sample" {
  launch b in 0 {
    alloc t: f32[1] shared
    t[0] = 0.0 * 0.0
  }
}
)"));
}

TEST(Shrink, KeepsWhatItMayNotChange) {
  const auto never_smaller = [](const ir::Program& program) {
    return structurally_equal(program, sample());
  };
  EXPECT_IR_EQ(shrink(sample(), never_smaller), sample());
}

TEST(Shrink, StopsAfterTheGivenNumberOfTrials) {
  int trials = 0;
  const auto count = [&](const ir::Program&) {
    ++trials;
    return true;
  };
  shrink(sample(), count, ir::Level::tile, 3);
  EXPECT_EQ(trials, 3);
}

}  // namespace
}  // namespace tw::sim
