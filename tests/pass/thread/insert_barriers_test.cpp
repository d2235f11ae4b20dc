#include "tilewright/pass/thread/insert_barriers.h"

#include <gtest/gtest.h>

#include "tests/pass/thread/thread_testing.h"

namespace tw::pass {
namespace {

using Reasons = std::vector<std::string>;

Reasons reasons(const std::string& body) {
  return barriers(after(block_program(body), "insert_barriers"));
}

const char* const kWrite = "parallel j in 64 { s[j] = X[b, j] } ";
const char* const kRead = "parallel j in 64 { Y[b, j] = s[63 - j] } ";

TEST(InsertBarriers, OrdersAWriteAndAReadOfOtherThreads) {
  EXPECT_EQ(reasons(std::string(kWrite) + kRead), Reasons({"s is written before it is read"}));
}

TEST(InsertBarriers, OrdersAReadAndTheNextWrite) {
  EXPECT_EQ(reasons(std::string(kWrite) + kRead + kWrite),
            Reasons({"s is written before it is read", "s is read before it is written"}));
}

TEST(InsertBarriers, LeavesOutWhatOneThreadDoesInOrder) {
  EXPECT_EQ(reasons(std::string(kWrite) + "parallel j in 64 { Y[b, j] = s[j] }"), Reasons());
  EXPECT_EQ(reasons("parallel j in 64 { Y[b, j] = Y[b, j] + 1.0 } "
                    "parallel j in 64 { Y[b, j] = Y[b, j] * 2.0 }"),
            Reasons());
}

TEST(InsertBarriers, KnowsThatTurnsOfALoopMoveOn) {
  // The element that a thread touches depends on the turn.
  EXPECT_EQ(reasons("for t in 0:4 { parallel j in 32 { s[j + t] = s[j + t] + 1.0 } }"),
            Reasons({"s is written before it is read"}));
  EXPECT_EQ(reasons("for t in 0:4 { parallel j in 32 { s[j] = s[j] + 1.0 } }"), Reasons());
}

TEST(InsertBarriers, SeesWhatTheTurnBeforeLeft) {
  EXPECT_EQ(reasons("for t in 0:4 { " + std::string(kWrite) + kRead + "}"),
            Reasons({"s is read before it is written", "s is written before it is read"}));
}

TEST(InsertBarriers, SeesWhatABreakLeaves) {
  EXPECT_EQ(reasons("for t in 0:4 { " + std::string(kWrite) +
                    "if t == 2 { break } parallel j in 64 { Y[b, j] = s[j] } } " + kRead),
            Reasons({"s is written before it is read"}));
}

TEST(InsertBarriers, OrdersOneThreadsStoreAndEveryonesLoad) {
  EXPECT_EQ(reasons("s[3] = 1.0 let v = s[3] parallel j in 64 { Y[b, j] = v }"),
            Reasons({"s is written before it is read"}));
}

TEST(InsertBarriers, FollowsTheProgramInGlobalMemoryToo) {
  EXPECT_EQ(reasons("parallel j in 64 { Y[b, j] = 1.0 } parallel j in 64 { x[0, j] = Y[b, 63 - j] }"
                    "parallel j in 64 { Y[b, j] = x[0, j] }"),
            Reasons({"Y is written before it is read", "Y is read before it is written"}));
}

TEST(InsertBarriers, TakesTheBarrierOfAReductionForItsOwn) {
  const std::string body = std::string(kWrite) +
                           "alloc v: f32[64] fragment alloc m: f32[1] fragment "
                           "parallel j in 64 { v[j] = X[b, j] } reduce sum v -> m over [0] "
                           "parallel j in 64 { Y[b, j] = s[63 - j] + m[0] }";
  EXPECT_EQ(barriers(after(block_program(body, "with threads=[64]"), "insert_barriers")),
            Reasons());
  // Lanes of one warp exchange without.
  EXPECT_EQ(barriers(after(block_program(body, "with threads=[32]"), "insert_barriers")),
            Reasons({"s is written before it is read"}));
}

}  // namespace
}  // namespace tw::pass
