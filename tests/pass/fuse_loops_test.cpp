#include "tilewright/pass/fuse_loops.h"

#include "tests/ir/ir_testing.h"

namespace tw::pass {
namespace {

ir::Program launch(const std::string& body) {
  return ir::parse_program(
      "tilewright ir 1\nprogram \"p\" {\n  input X: f32[8]\n  output Y: f32[8]\n  launch b in 1 "
      "{\n" +
      body + "\n}\n}\n");
}

TEST(FuseLoops, PassesAValueFromLoopToLoop) {
  EXPECT_IR_EQ(fuse_loops(launch("alloc t: f32[8] fragment\n"
                                 "parallel i in 8 { t[i] = X[i] * 2.0 }\n"
                                 "parallel j in 8 { Y[j] = t[j] + 1.0 }")),
               launch("{ }\nparallel i in 8 { let t: f32 = X[i] * 2.0\n { }\n Y[i] = t + 1.0 }"));
}

TEST(FuseLoops, KeepsLoopsApartThatMeetInOtherElements) {
  const ir::Program program = launch(
      "alloc t: f32[8] fragment\n"
      "parallel i in 8 { t[i] = X[i] }\n"
      "parallel j in 8 { Y[j] = t[7 - j] }");
  EXPECT_IR_EQ(fuse_loops(program), program);
}

TEST(FuseLoops, AConditionalStoreEndsWhatIsKnown) {
  EXPECT_IR_EQ(
      fuse_loops(launch("alloc t: f32[8] fragment\n"
                        "parallel i in 8 { t[i] = 1.0 }\n"
                        "parallel i in 8 { if X[i] > 0.0 { t[i] = 0.0 } }\n"
                        "parallel i in 8 { Y[i] = t[i] }")),
      launch("alloc t: f32[8] fragment\n"
             "parallel i in 8 { t[i] = 1.0\n if X[i] > 0.0 { t[i] = 0.0 }\n Y[i] = t[i] }"));
}

TEST(FuseLoops, ALoopMovesPastWhatDoesntTouchIt) {
  const std::string between = "alloc s: f32[1] fragment\nparallel k in 1 { s[0] = X[3] }\n";
  EXPECT_IR_EQ(
      fuse_loops(launch("alloc t: f32[8] fragment\nparallel i in 8 { t[i] = X[i] }\n" + between +
                        "parallel j in 8 { Y[j] = t[j] * s[0] }")),
      launch("{ }\n" + between + "parallel i in 8 { let t: f32 = X[i]\n { }\n Y[i] = t * s[0] }"));
}

TEST(FuseLoops, ALoopStaysBeforeWhatReadsIt) {
  const ir::Program program = launch(
      "alloc t: f32[8] fragment\nalloc s: f32[1] fragment\n"
      "parallel i in 8 { t[i] = X[i] }\n"
      "parallel k in 1 { s[0] = t[3] }\n"
      "parallel j in 8 { Y[j] = t[j] * s[0] }");
  EXPECT_IR_EQ(fuse_loops(program), program);
}

TEST(FuseLoops, ALoopStaysBeforeWhatWritesWhatItReads) {
  const ir::Program program = launch(
      "alloc t: f32[8] fragment\nalloc s: f32[8] fragment\nfill s = 0.0\n"
      "parallel i in 8 { t[i] = s[i] }\n"
      "parallel k in 1 { s[3] = 1.0 }\n"
      "parallel j in 8 { Y[j] = t[j] + s[0] }");
  EXPECT_IR_EQ(fuse_loops(program), program);
}

TEST(FuseLoops, FoldsWhatIsJustComputed) {
  EXPECT_IR_EQ(
      fuse_loops(launch("alloc t: f32[8] fragment\nalloc s: f32[1] reducer\n"
                        "parallel i in 8 { t[i] = X[i] }\ninit s\n"
                        "parallel j in 8 { update s[0] = t[j] }\nfinalize s -> Y[0 :+ 1]")),
      launch("{ }\nalloc s: f32[1] reducer\ninit s\n"
             "parallel i in 8 { let t: f32 = X[i]\n { }\n update s[0] = t }\n"
             "finalize s -> Y[0 :+ 1]"));
}

}  // namespace
}  // namespace tw::pass
