#include "tilewright/pass/thread/lower_block_ops.h"

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"

namespace tw::pass {
namespace {

/// The padding of the shared buffer p.
int64_t padding_of_p(const std::string& body) {
  int64_t padding = -1;
  const ir::Program program =
      after(block_program("alloc p: f32[8, 8] shared with padding=4 " + body), "lower_block_ops");
  ir::for_each_stmt(program.launches[0], [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc != nullptr && alloc->buffer.name() == "p") padding = alloc->buffer->padding;
  });
  return padding;
}

TEST(LowerBlockOps, DropsPaddingUnderAView) {
  const std::string write = "parallel i in 8, j in 8 { p[i, j] = X[b, i * 8 + j] } ";
  EXPECT_EQ(padding_of_p(write + "parallel i in 8, j in 8 { Y[b, i * 8 + j] = p[j, i] }"), 4);
  EXPECT_EQ(
      padding_of_p(write + "view v: f32[64] shared of p parallel j in 64 { Y[b, j] = v[63 - j] }"),
      0);
}

/// The extents of the loops in the launch, in order.
std::vector<std::string> boxes(const std::string& body) {
  std::vector<std::string> found;
  ir::for_each_stmt(after(block_program(body), "lower_block_ops").launches[0],
                    [&](const ir::Stmt& s) {
                      const auto* loop = s.try_as<ir::Parallel>();
                      if (loop == nullptr) return;
                      std::string text;
                      for (const ir::Expr& e : loop->extents) text += " " + ir::print(e);
                      found.push_back(text);
                    });
  return found;
}
using Boxes = std::vector<std::string>;

TEST(LowerBlockOps, GivesEachLoopAConstantBox) {
  EXPECT_EQ(boxes("parallel i in 8 { parallel j in 64 { Y[b, j] = x[i, j] } }"), Boxes({" 8 64"}));
  EXPECT_EQ(boxes("parallel j in n { Y[b, j] = X[b, j] }"), Boxes({" 1024"}));
  // Where all iterations exist, and where some do.
  EXPECT_EQ(boxes("parallel j in min(n, 64) { Y[b, j] = X[b, j] }"), Boxes({" 64", " 64"}));
  EXPECT_EQ(boxes("Y[b, 0] = 1.0"), Boxes({" 1"}));
}

}  // namespace
}  // namespace tw::pass
