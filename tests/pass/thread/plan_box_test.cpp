#include "tilewright/pass/thread/plan_box.h"

#include <gtest/gtest.h>

#include "tilewright/layout/algebra.h"
#include "tilewright/layout/query.h"

namespace tw::pass {
namespace {

using layout::Coords;

TEST(PlanBox, GivesEachPlaceOfThreadAndSlotOneElement) {
  for (const int64_t threads : {1, 32, 48, 96, 100, 128, 1024}) {
    for (const Coords& box : std::vector<Coords>{{1},
                                                 {7},
                                                 {64},
                                                 {100},
                                                 {257},
                                                 {4, 8},
                                                 {3, 5},
                                                 {1, 7168},
                                                 {56, 128},
                                                 {64, 1},
                                                 {2, 3, 5},
                                                 {8, 1, 33}}) {
      for (int fast = 0; fast < static_cast<int>(box.size()); ++fast) {
        const layout::Fragment plan = plan_box(box, threads, 8, fast);
        const auto inverse = layout::inverse(plan.map());
        ASSERT_TRUE(inverse.has_value() && inverse->total) << to_text(plan);
        ASSERT_EQ(plan.threads(), threads);
        for (size_t d = 0; d < box.size(); ++d) ASSERT_GE(plan.shape()[d], box[d]) << to_text(plan);
      }
    }
  }
}

TEST(PlanBox, PutsNeighborsIntoSlotsAndRunsIntoNeighboringThreads) {
  EXPECT_EQ(to_text(plan_box({1, 7168}, 128, 8, 1)),
            "[1, 7168] -> 128 threads, 56 slots: j / 8 % 128, j / 1024 * 8 + j % 8");
  EXPECT_EQ(to_text(plan_box({64, 128}, 128, 4, 1)),
            "[64, 128] -> 128 threads, 64 slots: i % 4 * 32 + j / 4, i / 4 * 4 + j % 4");
}

TEST(PlanBox, LetsAThreadScanWhatItCan) {
  EXPECT_EQ(
      to_text(plan_box({1, 7168}, 128, 8, 1, 128, /*scanned=*/1)),
      "[1, 7168] -> 128 threads, 56 slots: j / 1792 * 32 + j / 8 % 32, j / 256 % 7 * 8 + j % 8");
  EXPECT_EQ(to_text(plan_box({64, 128}, 128, 4, 1, 128, /*scanned=*/0)),
            "[64, 128] -> 128 threads, 64 slots: i / 16 * 32 + j / 4, i % 16 * 4 + j % 4");
}

TEST(PlanBox, PadsWhatDoesNotDivide) {
  const layout::Fragment plan = plan_box({7, 100}, 96, 4, 1);
  EXPECT_EQ(plan.shape(), (Coords{9, 128}));
  EXPECT_EQ(plan.slots(), 12);
}

TEST(PlanBox, TakesNarrowerRunsWhereTheExtentAsksForThem) {
  EXPECT_EQ(to_text(plan_box({100}, 16, 8, 0)),
            "[128] -> 16 threads, 8 slots: i / 4 % 16, i / 64 * 4 + i % 4");
  EXPECT_EQ(plan_box({257}, 32, 8, 0).slots(), 9);
}

TEST(PlanBox, RepeatsIterationsOnThreadsThatAreLeft) {
  EXPECT_EQ(to_text(plan_box({8}, 32, 4, 0)), "[8] x 4 -> 32 threads, 1 slots: r * 8 + i, 0");
}

}  // namespace
}  // namespace tw::pass
