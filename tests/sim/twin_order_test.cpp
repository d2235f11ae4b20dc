// What a thread knows of the others: clocks, one operation at a time.
#include <gtest/gtest.h>

#include "tilewright/sim/twin/order.h"

namespace tw::sim::twin {
namespace {

struct Order : ::testing::Test {
  Intervals intervals;
  BlockOrder a{intervals, 0, 64}, b{intervals, 1, 64};
};

TEST_F(Order, AThreadKnowsItselfAndNobodyElse) {
  const IntervalId then = a.now(3);
  EXPECT_EQ(a.now(3), then);
  EXPECT_TRUE(a.knows(3, then));
  EXPECT_FALSE(a.knows(4, then));
  EXPECT_FALSE(b.knows(3, then));
}

TEST_F(Order, ABarrierOfTheBlockTellsAll) {
  const IntervalId then = a.now(3);
  a.meet();
  EXPECT_TRUE(a.knows(63, then));
  EXPECT_FALSE(b.knows(63, then));
  EXPECT_FALSE(a.knows(4, a.now(3)));  // what comes after the barrier is new again
}

TEST_F(Order, WhoMeetsKnowsWhatTheOthersKnew) {
  const IntervalId then = a.now(3);
  a.meet({3, 4});
  const IntervalId later = a.now(3);
  a.meet({4, 40});
  EXPECT_TRUE(a.knows(40, then));
  EXPECT_FALSE(a.knows(40, later));
  EXPECT_FALSE(a.knows(5, then));
  a.meet();
  EXPECT_TRUE(a.knows(5, later));
}

TEST_F(Order, AReleaseReachesWhoAcquires) {
  const IntervalId then = a.now(3);
  a.meet();
  const IntervalId between = a.now(7);
  Clocks location;
  a.release(7, &location, false);
  const IntervalId after = a.now(7);
  b.acquire(9, location, false);
  EXPECT_TRUE(b.knows(9, then));
  EXPECT_TRUE(b.knows(9, between));
  EXPECT_FALSE(b.knows(9, after));
  EXPECT_FALSE(b.knows(10, then));
  b.meet();
  EXPECT_TRUE(b.knows(10, then));
}

TEST_F(Order, WhatIsForTheBlockStaysInIt) {
  const IntervalId then = a.now(3);
  Clocks location;
  a.release(3, &location, false);
  b.acquire(9, location, true);
  EXPECT_FALSE(b.knows(9, then));
  a.acquire(9, location, true);
  EXPECT_TRUE(a.knows(9, then));
}

}  // namespace
}  // namespace tw::sim::twin
