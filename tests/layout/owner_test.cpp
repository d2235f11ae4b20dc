#include "tilewright/layout/owner.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/parse.h"

namespace tw::layout {
namespace {

using test::for_each;
using Owners = std::map<Coords, std::set<int64_t>>;

Owners owners_of(const Fragment& fragment) {
  Owners all;
  for_each(fragment.shape(), [&](const Coords& x) {
    const auto threads = owners(fragment, x);
    all[x] = {threads.begin(), threads.end()};
  });
  return all;
}

// Loops over a 16 x 16 box: 64 threads with vectors, an accumulator, replicated, with a small
// extent per thread, and one that mixes rows into the thread by exclusive or.
std::vector<Fragment> loops() {
  std::vector<Fragment> all;
  for (const char* text :
       {"[16, 16] -> 64 threads, 4 slots: i * 4 + j / 4, j % 4",
        "[16, 16] -> 32 threads, 8 slots: i % 8 * 4 + j / 2 % 4, j / 8 * 4 + i / 8 * 2 + j % 2",
        "[16, 16] x 2 -> 32 threads, 16 slots: i + r * 16, j",
        "[16, 16] -> 16 threads, 16 slots: j, i",
        "[16, 16] -> 32 threads from 96, 8 slots: (i % 8 ^ j / 2) + i / 8 * 8 + j % 2 * 16, j / 2",
        "replicated(16, 16, 4)"}) {
    all.push_back(parse_fragment(text));
  }
  return all;
}

std::vector<Layout> indices() {
  std::vector<Layout> all;
  for (const char* text :
       {"[16, 16] -> [16, 16]: i, j", "[16, 16] -> [16, 16]: j, i", "[16, 16] -> [16]: i",
        "[16, 16] -> [16]: j", "[16, 16] -> [256]: i * 16 + j", "[16, 16] -> [4]: i / 4",
        "[16, 16] -> [4, 16, 4]: i / 4, j, i % 4", "[16, 16] -> [1]: 0", "[16, 16] -> [31]: i + j",
        "[16, 16] -> [32, 16]: i * 2, j", "[16, 16] -> [16]: (i ^ j)"}) {
    all.push_back(parse_layout(text));
  }
  return all;
}

TEST(Owner, DeriveGivesEachElementTheThreadsOfItsIterations) {
  int found = 0;
  for (const Fragment& loop : loops()) {
    for (const Layout& index : indices()) {
      const auto derived = derive(loop, index);
      if (!derived) continue;
      ++found;
      Owners want;
      for_each(index.shape(), [&](const Coords& x) {
        for (const int64_t t : owners(loop, x)) want[index.apply(x)].insert(t);
      });
      ASSERT_EQ(owners_of(*derived), want) << to_text(loop) << " through " << to_text(index);
      ASSERT_TRUE(is_well_formed(*derived)) << to_text(*derived);
      ASSERT_TRUE(reads_own(loop, *derived, index));
    }
  }
  // 6 loops by 8 indices that are onto; the exclusive or of one of them can be taken apart by 4.
  EXPECT_GE(found, 5 * 8 + 4);
}

TEST(Owner, DeriveHasNoGapsInSlots) {
  const Fragment loop = parse_fragment("[16, 16] -> 16 threads, 16 slots: i, j");
  EXPECT_EQ(to_text(*derive(loop, parse_layout("[16, 16] -> [4, 4]: i / 4, j / 4"))),
            "[4, 4] x 4 -> 16 threads, 4 slots: i * 4 + r, j");
}

TEST(Owner, DeriveIsEmptyWhereTheIndexIsNotOnto) {
  const Fragment loop = parse_fragment("[4, 3] -> 4 threads, 3 slots: i, j");
  // In the first, y % 4 and y % 3 tell all y below 12 apart, but aren't the
  // iterations that reach them.
  for (const char* index :
       {"[4, 3] -> [12]: i + j", "[4, 3] -> [8, 3]: i * 2, j", "[4, 3] -> [4, 4]: i, i"}) {
    EXPECT_FALSE(derive(loop, parse_layout(index))) << index;
  }
}

TEST(Owner, LegalityIsThatOfTheDefinition) {
  int reads = 0, writes = 0, neither = 0;
  std::vector<Fragment> buffers;
  for (const Fragment& loop : loops()) {
    for (const Layout& index : indices()) {
      if (const auto derived = derive(loop, index)) buffers.push_back(*derived);
    }
  }
  for (const Fragment& loop : loops()) {
    for (const Layout& index : indices()) {
      for (const Fragment& buffer : buffers) {
        if (buffer.shape() != index.extents()) continue;
        bool subset = true, same = true, injective = true;
        std::set<Coords> seen;
        for_each(index.shape(), [&](const Coords& x) {
          const auto running = owners(loop, x), owning = owners(buffer, index.apply(x));
          injective = injective && seen.insert(index.apply(x)).second;
          same = same && running == owning;
          for (const int64_t t : running) subset = subset && contains(buffer, index.apply(x), t);
        });
        ASSERT_EQ(reads_own(loop, buffer, index), subset)
            << to_text(loop) << " reads " << to_text(buffer) << " at " << to_text(index);
        ASSERT_EQ(writes_own(loop, buffer, index), same && injective)
            << to_text(loop) << " writes " << to_text(buffer) << " at " << to_text(index);
        reads += subset;
        writes += same && injective;
        neither += !subset;
      }
    }
  }
  EXPECT_GT(reads, 60);
  EXPECT_GT(writes, 20);
  EXPECT_GT(neither, 60);
}

// Appendix A1 of the specification: the row sum of an accumulator.
TEST(Owner, ReduceOfTheWorkedExample) {
  const Fragment c = parse_fragment("accumulator(mma_c_16x8, 64, 64, 2, 2)");
  const Fragment sum = *reduce(c, 1);
  EXPECT_EQ(sum.replicas(), 8);
  EXPECT_EQ(sum.slots(), 4);
  EXPECT_EQ(owners(sum, {37}), (std::vector<int64_t>{52, 53, 54, 55, 116, 117, 118, 119}));
  const Layout row = parse_layout("[64, 64] -> [64]: i");
  EXPECT_TRUE(reads_own(c, sum, row));
  EXPECT_FALSE(writes_own(c, sum, row));
}

TEST(Owner, PartialReductionHasAnAddendPerThread) {
  const Fragment c = replicate(parse_fragment("mma_c_16x8"), 2);
  const Fragment sum = *reduce(c, 1, /*partial=*/true);
  EXPECT_EQ(to_text(sum),
            "[16] x 8 of 4 addends -> 64 threads, 2 slots: r / 4 * 32 + i % 8 * 4 + r % 4, i / 8");
  const Fragment scalar = *reduce(*reduce(c, 1), 0);
  EXPECT_EQ(scalar.shape(), Coords{1});
  EXPECT_EQ(scalar.replicas(), 64);
}

}  // namespace
}  // namespace tw::layout
