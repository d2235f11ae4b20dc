#include "tilewright/layout/fragment.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/tensor_core.h"

namespace tw::layout {
namespace {

using test::for_each;

// Fragments of many kinds: tables of tensor cores, replicated, partial, with
// exclusive or, of odd sizes.
std::vector<Fragment> samples() {
  std::vector<Fragment> all;
  for (const TensorCoreTile& tile : tensor_core_tiles()) {
    all.push_back(*fragment_of(tile.thread_value_map));
  }
  all.push_back(fully_replicated({3, 5}, 4));
  all.push_back(replicate(all[0], 2));
  all.push_back(bind(all[0], 64, 96));
  all.push_back(Fragment(Layout::tight({12, 1}, {{{{0, 1}}, 4, 0, 1}, {{{0, 4}}, 3, 1, 1}}, 2)));
  all.push_back(Fragment(Layout::tight(
      {8, 8, 2}, {{{{0, 1}, {1, 1}}, 8, 0, 1}, {{{2, 1}}, 2, 0, 8}, {{{0, 1}}, 8, 1, 1}}, 2)));
  // A replica digit in an exclusive or, and one that nothing reads.
  all.push_back(
      Fragment(Layout::tight({4, 6}, {{{{0, 1}, {1, 3}}, 2, 0, 1}, {{{0, 1}}, 4, 1, 1}}, 2)));
  // Replicas in an order of their own; four addends on threads, two copies of the whole.
  const std::vector<Term> terms = {
      {{{0, 1}}, 8, 1, 1}, {{{1, 1}}, 2, 0, 8}, {{{1, 2}}, 2, 0, 2}, {{{1, 4}}, 2, 0, 4}};
  all.push_back(Fragment(Layout::tight({8, 8}, terms, 2)));
  all.push_back(Fragment(Layout::tight({8, 8}, terms, 2), 0, 4));
  return all;
}

std::map<Coords, std::set<int64_t>> owners_of(const Fragment& fragment) {
  std::map<Coords, std::set<int64_t>> all;
  for_each(fragment.shape(), [&](const Coords& x) {
    for (int64_t r = 0; r < fragment.replicas(); ++r) all[x].insert(fragment.thread(x, r));
  });
  return all;
}

TEST(Fragment, OwnersAreTheThreadsOfTheReplicas) {
  for (const Fragment& f : samples()) {
    for (const auto& [x, threads] : owners_of(f)) {
      ASSERT_EQ(owners(f, x), std::vector<int64_t>(threads.begin(), threads.end())) << to_text(f);
      for (int64_t t = 0; t < f.first_thread() + f.threads() + 2; ++t) {
        ASSERT_EQ(contains(f, x, t), threads.count(t) == 1) << to_text(f);
      }
    }
  }
}

TEST(Fragment, IsWellFormedIfASlotOfAThreadHoldsOneElement) {
  for (const Fragment& f : samples()) {
    std::map<std::pair<int64_t, int64_t>, std::set<Coords>> held;
    for_each(f.shape(), [&](const Coords& x) {
      for (int64_t r = 0; r < f.replicas(); ++r) held[{f.thread(x, r), f.slot(x, r)}].insert(x);
    });
    bool well_formed = true;
    for (const auto& [place, elements] : held) well_formed = well_formed && elements.size() == 1;
    EXPECT_EQ(is_well_formed(f), well_formed) << to_text(f);
  }
  EXPECT_FALSE(is_well_formed(Fragment(Layout::tight({4, 1}, {{{{0, 1}}, 2, 0, 1}}, 2))));
}

TEST(Fragment, CondenseKeepsOwnersAndIsANormalForm) {
  for (const Fragment& f : samples()) {
    const Fragment condensed = condense(f);
    EXPECT_EQ(owners_of(condensed), owners_of(f)) << to_text(f);
    EXPECT_EQ(condense(condensed), condensed) << to_text(f);
    EXPECT_LE(condensed.replicas(), f.replicas()) << to_text(f);
  }
  const Fragment unused(Layout::tight({4, 6}, {{{{0, 1}}, 4, 0, 1}}, 2));
  EXPECT_EQ(condense(unused).replicas(), 1);
  const std::vector<Fragment> all = samples();
  EXPECT_EQ(to_text(condense(all[all.size() - 2])), "[8] x 8 -> 15 threads, 8 slots: r * 2, i");
  EXPECT_EQ(
      to_text(condense(all.back())),
      "[8] x 8 of 4 addends -> 15 threads, 8 slots: r / 2 % 2 * 8 + r / 4 * 4 + r % 2 * 2, i");
}

TEST(Fragment, ReplicatePutsCopiesOnNewThreads) {
  for (const Fragment& f : samples()) {
    const Fragment copies = replicate(f, 3);
    for_each(f.shape(), [&](const Coords& x) {
      for (int64_t r = 0; r < f.replicas(); ++r) {
        for (int64_t j = 0; j < 3; ++j) {
          const int64_t replica = r + f.replicas() * j;
          ASSERT_EQ(copies.thread(x, replica), f.thread(x, r) + f.threads() * j) << to_text(f);
          ASSERT_EQ(copies.slot(x, replica), f.slot(x, r)) << to_text(f);
        }
      }
    });
  }
}

TEST(Fragment, RepeatTilesAlongADimension) {
  for (const Fragment& f : samples()) {
    for (int dim = 0; dim < f.rank(); ++dim) {
      const Fragment slots = repeat(f, dim, 2, On::slots), threads = repeat(f, dim, 2, On::threads);
      for_each(slots.shape(), [&](const Coords& x) {
        Coords inside = x;
        const int64_t tile = inside[dim] / f.shape()[dim];
        inside[dim] %= f.shape()[dim];
        for (int64_t r = 0; r < f.replicas(); ++r) {
          ASSERT_EQ(slots.thread(x, r), f.thread(inside, r)) << to_text(f);
          ASSERT_EQ(slots.slot(x, r), f.slot(inside, r) + f.slots() * tile) << to_text(f);
          ASSERT_EQ(threads.thread(x, r), f.thread(inside, r) + f.threads() * tile) << to_text(f);
          ASSERT_EQ(threads.slot(x, r), f.slot(inside, r)) << to_text(f);
        }
      });
    }
  }
}

TEST(Fragment, ThreadValueMapsGoBothWays) {
  for (const Fragment& f : samples()) {
    const auto map = thread_value_map(f);
    if (!map) continue;
    for_each(f.shape(), [&](const Coords& x) {
      for (int64_t r = 0; r < f.replicas(); ++r) {
        ASSERT_EQ(map->apply({f.thread(x, r) - f.first_thread(), f.slot(x, r)}), x) << to_text(f);
      }
    });
  }
  // 8 lanes of which pairs hold the same element.
  const Layout pairs = Layout::tight({8, 2}, {{{{0, 2}}, 4, 0, 1}, {{{1, 1}}, 2, 0, 4}}, 1);
  EXPECT_EQ(to_text(*fragment_of(pairs)), "[8] x 2 -> 8 threads, 2 slots: i % 4 * 2 + r, i / 4");
  EXPECT_FALSE(fragment_of(Layout::tight({8, 2}, {{{{0, 1}}, 8, 0, 1}}, 1)));  // twice in a thread
}

TEST(Fragment, DereplicateKeepsOneReplica) {
  const Fragment two = replicate(*tensor_core_fragment("mma_c_16x8"), 2);
  for (int64_t r = 0; r < 2; ++r) {
    const Fragment one = dereplicate(two, r);
    EXPECT_EQ(one.replicas(), 1);
    for_each(one.shape(), [&](const Coords& x) {
      ASSERT_EQ(one.thread(x), two.thread(x, r));
      ASSERT_EQ(one.slot(x), two.slot(x, r));
    });
  }
  EXPECT_THROW(dereplicate(two, 2), Error);
  EXPECT_THROW(dereplicate(samples().back()), Error);
}

TEST(Fragment, BindRefusesAScopeThatIsTooSmall) {
  const Fragment f = *tensor_core_fragment("wgmma_c_64x8");
  EXPECT_EQ(bind(f, 128, 256).thread({16, 0}), 128 + 32);
  try {
    bind(f, 128, 192);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "error[E-LAY-11]: fragment: [64, 8] -> 128 threads, 4 slots: i / 16 * 32 + i % 8 "
                 "* 4 + j / 2, "
                 "i / 8 % 2 * 2 + j % 2 needs 128 threads, the scope has 64");
  }
}

TEST(Fragment, ReshapeKeepsBitsInTheirRegisters) {
  const Fragment words = *tensor_core_fragment("mma_c_16x8");
  const Fragment halves = *reshape(words, {16, 16}, 32, 16);
  for_each({16, 16}, [&](const Coords& x) {
    ASSERT_EQ(halves.thread(x), words.thread({x[0], x[1] / 2}));
    ASSERT_EQ(halves.slot(x), words.slot({x[0], x[1] / 2}) * 2 + x[1] % 2);
  });
  EXPECT_EQ(*reshape(halves, {16, 8}, 16, 32), words);
  EXPECT_TRUE(reshape(words, {16, 4}, 16, 32));  // two columns of a thread are neighbors
  EXPECT_FALSE(reshape(words, {16, 2}, 8, 32));  // four are not
  const Fragment flat = *reshape(replicate(words, 2), {128});
  for_each({16, 8}, [&](const Coords& x) {
    ASSERT_EQ(owners(flat, {x[0] * 8 + x[1]}), owners(replicate(words, 2), x));
  });
}

TEST(Fragment, PermuteRenamesDimensions) {
  const Fragment f = *tensor_core_fragment("mma_a_16x32"), t = permute(f, {1, 0});
  for_each(f.shape(), [&](const Coords& x) {
    ASSERT_EQ(t.thread({x[1], x[0]}), f.thread(x));
    ASSERT_EQ(t.slot({x[1], x[0]}), f.slot(x));
  });
}

}  // namespace
}  // namespace tw::layout
