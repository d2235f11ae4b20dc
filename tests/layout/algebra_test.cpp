#include "tilewright/layout/algebra.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/query.h"

namespace tw::layout {
namespace {

using test::for_each;
using test::Sample;

bool injective_by_trying(const Layout& layout) {
  std::set<Coords> seen;
  for_each(layout.shape(), [&](const Coords& x) { seen.insert(layout.apply(x)); });
  return static_cast<int64_t>(seen.size()) == layout.size();
}

TEST(Inverse, GivesBackTheElement) {
  int found = 0;
  for (const Sample& sample : test::all_samples()) {
    const auto back = inverse(sample.layout);
    if (!back) continue;
    ++found;
    for_each(sample.shape, [&](const Coords& x) {
      ASSERT_EQ(back->layout.apply(sample.layout.apply(x)), x) << to_text(sample.layout);
    });
    ASSERT_EQ(back->total, sample.layout.size() == sample.layout.physical_size());
    if (!back->total) continue;
    for_each(sample.layout.extents(), [&](const Coords& p) {
      ASSERT_EQ(sample.layout.apply(back->layout.apply(p)), p) << to_text(sample.layout);
    });
  }
  EXPECT_GT(found, 600);
}

TEST(Inverse, ExistsForEveryInjectiveMapOfBitsAndOfCompactDigits) {
  for (const auto* samples : {&test::compact_samples(), &test::xor_samples()}) {
    for (const Sample& sample : *samples) {
      ASSERT_EQ(inverse(sample.layout).has_value(), injective_by_trying(sample.layout))
          << to_text(sample.layout);
    }
  }
}

TEST(Inverse, IsEmptyWhereDigitsLeaveSomeValuesOut) {
  // 0 and 3 have the same digits i % 3 and i / 4.
  EXPECT_FALSE(inverse(Layout({5}, {{{{0, 1}}, 3, 0, 1}, {{{0, 4}}, 2, 0, 3}}, {6})));
  // The place of i ^ j modulo 5 can't be read as a digit of 4 values.
  EXPECT_FALSE(inverse(Layout({4, 4}, {{{{0, 1}, {1, 1}}, 4, 0, 1}, {{{0, 1}}, 4, 0, 5}}, {20})));
}

TEST(Query, InjectiveAndBijectiveAreExact) {
  int injective = 0;
  for (const Sample& sample : test::all_samples()) {
    const bool expected = injective_by_trying(sample.layout);
    ASSERT_EQ(is_injective(sample.layout), expected) << to_text(sample.layout);
    ASSERT_EQ(is_bijective(sample.layout),
              expected && sample.layout.size() == sample.layout.physical_size());
    injective += expected;
  }
  EXPECT_GT(injective, 600);
}

TEST(Compose, AppliesOneAfterTheOther) {
  int found = 0;
  const std::vector<Sample> samples = test::all_samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t j = i % 7; j < samples.size(); j += 61) {
      const Layout &first = samples[i].layout, &second = samples[j].layout;
      if (second.rank() != 2 || first.extents()[0] > second.shape()[0] ||
          first.extents()[1] > second.shape()[1]) {
        continue;
      }
      const auto both = compose(first, second);
      if (!both) continue;
      ++found;
      for_each(first.shape(), [&](const Coords& x) {
        ASSERT_EQ(both->apply(x), second.apply(first.apply(x)))
            << to_text(first) << " then " << to_text(second) << " at " << to_text(x);
      });
    }
  }
  EXPECT_GT(found, 20000);
}

TEST(Compose, ExistsForMapsOfBits) {
  // An injective map of bits has no carries, so every digit of the second has digits in the first.
  int found = 0;
  for (const Sample& first : test::xor_samples()) {
    if (!inverse(first.layout)) continue;
    for (size_t j = 0; j < test::xor_samples().size(); j += 29) {
      const Layout& second = test::xor_samples()[j].layout;
      if (first.layout.extents()[0] > second.shape()[0] ||
          first.layout.extents()[1] > second.shape()[1]) {
        continue;
      }
      ASSERT_TRUE(compose(first.layout, second))
          << to_text(first.layout) << " then " << to_text(second);
      ++found;
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(Compose, NeedsNoModWhereTheWholeCoordinateIsRead) {
  // 100 elements in 4 columns of 32: digits could add up to 127, which no element has.
  const Layout ragged = Layout::tight({100}, {{{{0, 1}}, 32, 0, 4}, {{{0, 32}}, 4, 0, 1}}, 1);
  EXPECT_EQ(ragged.extents(), Coords{127});
  EXPECT_EQ(compose(ragged, row_major({127})), ragged);
}

TEST(Compose, IsEmptyWhereDigitsDoNotDivide) {
  EXPECT_FALSE(compose(strided({4}, {3}), Layout({10}, {{{{0, 2}}, 5, 0, 1}}, {5})));
  // 6 rows of 6 read as rows of 4: 4 doesn't divide 6.
  EXPECT_FALSE(reshape(row_major({6, 6}), {9, 4}));
}

TEST(Algebra, LinearizeKeepsOffsets) {
  for (const Sample& sample : test::all_samples()) {
    const Layout linear = linearize(sample.layout);
    for_each(sample.shape, [&](const Coords& x) {
      ASSERT_EQ(linear.apply(x), Coords{sample.layout.offset(x)}) << to_text(sample.layout);
    });
  }
  EXPECT_EQ(linearize(row_major({2, 3, 4})).terms().size(), 3u);
}

TEST(Algebra, PermuteRenamesDimensions) {
  for (const Sample& sample : test::all_samples()) {
    std::vector<int> order;
    for (int d = sample.layout.rank(); d-- > 0;) order.push_back(d);
    const Layout turned = permute(sample.layout, order);
    const Layout swapped = permute_physical(sample.layout, {1, 0});
    for_each(turned.shape(), [&](const Coords& x) {
      const Coords back(x.rbegin(), x.rend());
      ASSERT_EQ(turned.apply(x), sample.layout.apply(back)) << to_text(sample.layout);
      const Coords p = sample.layout.apply(back);
      ASSERT_EQ(swapped.apply(back), (Coords{p[1], p[0]})) << to_text(sample.layout);
    });
  }
}

TEST(Algebra, RepeatPutsTheNumberOfTheCopyFirst) {
  int found = 0;
  for (const Sample& sample : test::all_samples()) {
    for (int dim = 0; dim < sample.layout.rank(); ++dim) {
      Layout repeated;
      try {
        repeated = repeat(sample.layout, dim, 3);
      } catch (const Error&) {
        continue;
      }
      ++found;
      for_each(repeated.shape(), [&](Coords x) {
        const Coords got = repeated.apply(x);
        const int64_t copy = x[dim] / sample.shape[dim];
        x[dim] %= sample.shape[dim];
        Coords want = sample.layout.apply(x);
        want.insert(want.begin(), copy);
        ASSERT_EQ(got, want) << to_text(sample.layout) << " repeated along " << dim;
      });
    }
  }
  EXPECT_GT(found, 5000);
}

TEST(Algebra, RepeatRefusesADigitThatWouldReachIntoTheNextCopy) {
  const Layout ragged({6}, {{{{0, 1}}, 4, 0, 2}, {{{0, 4}}, 2, 0, 1}}, {8});
  EXPECT_THROW(repeat(ragged, 0, 2), Error);
}

TEST(Algebra, ExpandGivesEachLeadingElementACopy) {
  for (const Sample& sample : test::compact_samples()) {
    const Layout expanded = expand(sample.layout, {2, 3});
    for_each(expanded.shape(), [&](const Coords& x) {
      Coords want = sample.layout.apply(Coords(x.begin() + 2, x.end()));
      want.insert(want.begin(), x.begin(), x.begin() + 2);
      ASSERT_EQ(expanded.apply(x), want) << to_text(sample.layout);
    });
  }
}

TEST(Algebra, PadGrowsAPhysicalCoordinate) {
  const Layout padded = pad(row_major({4, 32}), 1, 8);
  EXPECT_EQ(padded.offset({3, 5}), 3 * 40 + 5);
  EXPECT_EQ(padded.physical_size(), 160);
  EXPECT_TRUE(is_injective(padded));
  EXPECT_FALSE(is_bijective(padded));
  EXPECT_FALSE(inverse(padded)->total);
  EXPECT_EQ(inverse(linearize(padded))->layout.apply({3 * 40 + 5}), (Coords{3, 5}));
}

TEST(Algebra, RestrictKeepsTheMap) {
  for (const Sample& sample : test::all_samples()) {
    Coords half = sample.shape;
    for (int64_t& extent : half) extent = (extent + 1) / 2;
    const Layout part = restrict(sample.layout, half);
    for_each(half, [&](const Coords& x) {
      ASSERT_EQ(part.apply(x), sample.layout.apply(x)) << to_text(sample.layout);
    });
  }
}

TEST(Reshape, RelabelsInRowMajorOrder) {
  int found = 0;
  for (const Sample& sample : test::all_samples()) {
    const int64_t size = sample.layout.size();
    for (const Coords& shape :
         {Coords{size}, {1, size}, {size / 2, 2}, {2, size / 2}, {size / 6, 2, 3}}) {
      if (product(shape) != size) continue;
      const auto result = reshape(sample.layout, shape);
      if (!result) continue;
      ++found;
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(result->apply(unflatten(i, shape)),
                  sample.layout.apply(unflatten(i, sample.shape)))
            << to_text(sample.layout) << " as " << to_text(shape);
      }
    }
  }
  EXPECT_GT(found, 5000);
}

TEST(Reshape, NarrowerElementsFollowOneAnotherInTheirPlace) {
  for (const Sample& sample : test::all_samples()) {
    Coords shape = sample.shape;
    shape.back() *= 4;
    const auto bytes = reshape(sample.layout, shape, 32, 8);
    ASSERT_TRUE(bytes) << to_text(sample.layout);
    for_each(shape, [&](Coords x) {
      const int64_t byte = x.back() % 4, got = bytes->offset(x);
      x.back() /= 4;
      ASSERT_EQ(got, sample.layout.offset(x) * 4 + byte) << to_text(sample.layout);
    });
    // And back again, to the very same layout.
    const auto words = reshape(*bytes, sample.shape, 8, 32);
    ASSERT_TRUE(words) << to_text(sample.layout);
    ASSERT_EQ(*words, sample.layout);
  }
}

TEST(Reshape, WiderElementsExistWhereTheirPartsAreNeighbors) {
  int found = 0;
  for (const Sample& sample : test::all_samples()) {
    if (sample.shape.back() % 2 != 0) continue;
    Coords shape = sample.shape;
    shape.back() /= 2;
    bool neighbors = sample.layout.extents().back() % 2 == 0;
    for_each(shape, [&](Coords x) {
      x.back() *= 2;
      const Coords even = sample.layout.apply(x);
      ++x.back();
      Coords odd = sample.layout.apply(x);
      neighbors = neighbors && even.back() % 2 == 0;
      --odd.back();
      neighbors = neighbors && even == odd;
    });
    const auto wide = reshape(sample.layout, shape, 8, 16);
    if (wide) {
      ASSERT_TRUE(neighbors) << to_text(sample.layout);
      ++found;
      for_each(shape, [&](Coords x) {
        const int64_t got = wide->offset(x);
        x.back() *= 2;
        ASSERT_EQ(got, sample.layout.offset(x) / 2) << to_text(sample.layout);
      });
    } else if (is_injective(sample.layout) && inverse(sample.layout)) {
      ASSERT_FALSE(neighbors) << to_text(sample.layout);
    }
  }
  EXPECT_GT(found, 100);
}

TEST(Reshape, RefusesAnotherSize) {
  EXPECT_THROW(reshape(row_major({4, 4}), {5, 3}), Error);
  EXPECT_FALSE(reshape(row_major({4, 4}), {4, 3}, 12, 16));
}

TEST(Query, ContiguousRunHoldsAndIsTheLongestOfItsKind) {
  for (const Sample& sample : test::all_samples()) {
    for (int dim = 0; dim < sample.layout.rank(); ++dim) {
      const auto run = contiguous_run(sample.layout, dim);
      for_each(sample.shape, [&](Coords x) {
        if (x[dim] % run.length != 0) return;
        const int64_t start = sample.layout.offset(x);
        ASSERT_EQ(start % run.alignment, 0) << to_text(sample.layout) << " along " << dim;
        for (int64_t i = 1; i < run.length && x[dim] + 1 < sample.shape[dim]; ++i) {
          ++x[dim];
          ASSERT_EQ(sample.layout.offset(x), start + i)
              << to_text(sample.layout) << " along " << dim;
        }
      });
    }
  }
  for (const Sample& sample : test::compact_samples()) {
    for (int dim = 0; dim < sample.layout.rank(); ++dim) {
      int64_t longest = 1;  // by trying: of the divisors of the extent
      for (int64_t length = 2; length <= sample.shape[dim]; ++length) {
        if (sample.shape[dim] % length != 0) continue;
        bool runs = true;
        for_each(sample.shape, [&](Coords x) {
          if (x[dim] % length == 0) return;
          const int64_t here = sample.layout.offset(x);
          --x[dim];
          runs = runs && sample.layout.offset(x) + 1 == here;
        });
        if (runs) longest = length;
      }
      ASSERT_EQ(contiguous_run(sample.layout, dim).length, longest)
          << to_text(sample.layout) << " along " << dim;
    }
  }
}

}  // namespace
}  // namespace tw::layout
