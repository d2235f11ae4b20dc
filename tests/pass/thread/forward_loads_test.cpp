#include "tilewright/pass/thread/forward_loads.h"

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"

namespace tw::pass {
namespace {

/// How many loops are left in the launch.
int loops(const std::string& body) {
  int count = 0;
  ir::for_each_stmt(after(block_program(body), "forward_loads").launches[0],
                    [&](const ir::Stmt& s) { count += s.is<ir::Parallel>() ? 1 : 0; });
  return count;
}

const std::string kFill = "parallel i in 8, j in 64 { x[i, j] = X[b + i, j] } ";

TEST(ForwardLoads, ReadsATensorWhereItsElementsAreUsed) {
  EXPECT_EQ(loops(kFill + "parallel i in 8, j in 64 { Y[b + i, j] = x[i, 63 - j] }"), 1);
}

TEST(ForwardLoads, KeepsWhatIsReadTwice) {
  EXPECT_EQ(loops(kFill + "parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] * x[i, j] }"), 2);
}

TEST(ForwardLoads, KeepsWhatMoreIterationsRead) {
  EXPECT_EQ(loops("alloc w: f32[64] fragment parallel j in 64 { w[j] = X[0, j] } "
                  "parallel i in 8, j in 64 { Y[b + i, j] = w[j] }"),
            2);
}

TEST(ForwardLoads, MovesNoLoadPastOtherWork) {
  EXPECT_EQ(loops(kFill + "parallel j in 64 { s[j] = Y[b, 63 - j] } "
                          "parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] + s[j] }"),
            3);
}

TEST(ForwardLoads, MovesALoadPastWhatComputesInRegisters) {
  EXPECT_EQ(loops("alloc f: f32[8] fragment parallel i in 8 { f[i] = 1.0 } " + kFill +
                  "parallel i in 8 { f[i] = rsqrt(f[i]) } "
                  "parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] * f[i] }"),
            3);
}

TEST(ForwardLoads, KeepsLoadsOfWhatTheProgramWrites) {
  EXPECT_EQ(loops("parallel i in 8, j in 64 { x[i, j] = Y[b + i, j] } "
                  "parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] + 1.0 }"),
            2);
}

}  // namespace
}  // namespace tw::pass
