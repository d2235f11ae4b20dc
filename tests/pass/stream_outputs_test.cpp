#include "tilewright/pass/stream_outputs.h"

#include "tests/ir/ir_testing.h"

namespace tw::pass {
namespace {

ir::Program launch(const std::string& body) {
  return ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  symbol n: i64\n  input X: f32[n, 64]\n  output Y: "
      "f32[n, 64]\n"
      "  launch b in n {\n" +
      body + "\n}\n}\n");
}

TEST(StreamOutputs, ChoosesByTheSizeOfTheOutput) {
  EXPECT_IR_EQ(stream_outputs(launch("parallel j in 64 { Y![b, j] = X![b, j] }")),
               launch("if 4194304 <= n * 64 {\n"
                      "  parallel j in 64 { Y![b, j] = X![b, j] with streaming=true }\n"
                      "} else {\n  parallel j in 64 { Y![b, j] = X![b, j] }\n}"));
}

TEST(StreamOutputs, LeavesAnOutputThatIsRead) {
  const ir::Program program = launch("parallel j in 64 { Y![b, j] = X![b, j] + Y![b, j] }");
  EXPECT_IR_EQ(stream_outputs(program), program);
}

TEST(StreamOutputs, LeavesMaskedStores) {
  const ir::Program program =
      launch("parallel j in 64 { if b + j < n { Y![b + j, j] = X![b, j] } }");
  EXPECT_IR_EQ(stream_outputs(program), program);
}

}  // namespace
}  // namespace tw::pass
