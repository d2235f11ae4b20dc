#include "tilewright/pass/thread/spread_loops.h"

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"

namespace tw::pass {
namespace {

/// Where a buffer of that name lives: its layout, or its memory space.
std::string place_of(const ir::Program& program, const std::string& name) {
  std::string place = "nowhere";
  ir::for_each_stmt(program.launches[0], [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc == nullptr || alloc->buffer.name() != name) return;
    place = alloc->layout.empty() ? std::string(enum_name(alloc->buffer.space())) : alloc->layout;
  });
  return place;
}
std::string place_of(const std::string& name, const std::string& body) {
  return place_of(after(block_program(body), "spread_loops"), name);
}

// A loop over all of it, each element in its own iteration.
const char* const kUseX = "parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] * x[i, j] } ";
const char* const kUseY = "parallel i in 8, j in 64 { Y[b + i, j] = y[i, j] * y[i, j] } ";

TEST(SpreadLoops, FollowsTheLoopThatWritesAFragment) {
  EXPECT_EQ(place_of("x", std::string("parallel i in 8, j in 64 { x[i, j] = X[b, j] }") + kUseX),
            "[8, 64] -> 64 threads, 8 slots: i % 4 * 16 + j / 4, i / 4 * 4 + j % 4");
}

TEST(SpreadLoops, GivesSeveralFragmentsOfALoopTheSameOwners) {
  const ir::Program program =
      after(block_program("parallel i in 8, j in 64 { x[i, j] = X[b, j] } "
                          "parallel i in 8, j in 64 { y[i, j] = x[i, j] * x[i, j] }" +
                          std::string(kUseY)),
            "spread_loops");
  EXPECT_EQ(place_of(program, "x"), place_of(program, "y"));
}

TEST(SpreadLoops, HoldsWhatIsReadElsewhereInSharedMemory) {
  EXPECT_EQ(place_of("x",
                     "parallel i in 8, j in 64 { x[i, j] = X[b, j] } "
                     "parallel i in 8, j in 64 { y[i, j] = x[i, 63 - j] + x[i, j] }" +
                         std::string(kUseY)),
            "shared");
  EXPECT_EQ(place_of("x",
                     "parallel i in 8, j in 64 { x[i, j] = X[b, j] } let v = x[3, 5] "
                     "parallel j in 64 { Y[b, j] = v }"),
            "shared");
}

// Several threads have a sum of a row, and the one that writes memory may not be the last to read.
TEST(SpreadLoops, AnIterationThatReadsAndWritesMemoryHasOneThread) {
  const std::string sums =
      "parallel i in 8, j in 64 { x[i, j] = X[b, j] } alloc m: f32[8] fragment "
      "reduce sum x -> m over [1] ";
  const std::string use = " parallel i in 8, j in 64 { Y[b + i, j] = x[i, j] + m[i] }";
  const std::string reads = "parallel i in 8 { m[i] = m[i] + s[i] }",
                    writes = "parallel i in 8 { s[i] = m[i] }",
                    both = "parallel i in 8 { m[i] = m[i] + s[i] s[i] = m[i] }",
                    by_one = "parallel i in 8 { m[i] = m[i] + 1.0 s[i] = s[i] + m[i] }",
                    other = "parallel i in 8 { m[i] = m[i] + s[i] Y[b + i, 0] = m[i] }";
  for (const std::string& loop : {reads, writes, by_one, other}) {
    EXPECT_NE(place_of("m", sums + loop + use), "shared") << loop;
  }
  EXPECT_EQ(place_of("m", sums + both + use), "shared");
}

TEST(SpreadLoops, ReadsNeighborsOfARunInTheirOwnThread) {
  const auto place_where = [](const std::string& read) {
    const ir::Program program = ir::parse_program(
        "tilewright ir 1 program \"p\" { symbol n input X: f32[n, 256] output Y: f32[n, 64] "
        "launch b in n with threads=[64] { alloc x: f32[256] fragment "
        "parallel j in 256 { x[j] = X[b, j] } parallel r in 64 { Y[b, r] = " +
        read + " } } }");
    return place_of(after(program, "spread_loops"), "x");
  };
  const std::string own = "[256] -> 64 threads, 4 slots: i / 4, i % 4";
  EXPECT_EQ(place_where("x[r * 4] + x[r * 4 + 3]"), own);
  EXPECT_EQ(place_where("x[r * 4 + 4]"), "shared");  // of the next run
  EXPECT_EQ(place_where("x[r * 2 + 1]"), "shared");
}

TEST(SpreadLoops, CopiesASumToAllThreadsThatShareIt) {
  EXPECT_EQ(place_of("sum",
                     "parallel i in 8, j in 64 { x[i, j] = X[b, j] } "
                     "alloc m: f32[8] fragment reduce sum x -> m over [1]"),
            "[8, 1] x 16 -> 64 threads, 2 slots: i % 4 * 16 + r, i / 4");
}

TEST(SpreadLoops, KeepsTheAuthorsThreads) {
  const ir::Program program =
      after(block_program("parallel i in 8, j in 64 { x[i, j] = X[b, j] }", "with threads=[96]"),
            "spread_loops");
  EXPECT_EQ(program.launches[0].as<ir::Launch>().threads, std::vector<int64_t>{96});
}

}  // namespace
}  // namespace tw::pass
