#include "tilewright/layout/layout.h"

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/bounds.h"
#include "tilewright/layout/normal.h"
#include "tilewright/layout/query.h"

namespace tw::layout {
namespace {

using test::for_each;
using test::Sample;

TEST(Layout, NormalFormKeepsTheMap) {
  for (const Sample& sample : test::all_samples()) {
    for_each(sample.shape, [&](const Coords& x) {
      ASSERT_EQ(sample.layout.apply(x), test::apply_terms(sample, x))
          << to_text(sample.layout) << " at " << to_text(x);
    });
  }
}

TEST(Layout, RefinedTermsKeepTheMapAndDoNotOverlap) {
  int refined = 0;
  for (const Sample& sample : test::all_samples()) {
    const auto terms = refine(sample.layout.terms(), sample.shape);
    if (!terms) continue;
    ++refined;
    for_each(sample.shape, [&](const Coords& x) {
      ASSERT_EQ(test::apply_terms({sample.shape, *terms, 2, {}}, x), sample.layout.apply(x))
          << to_text(sample.layout) << " at " << to_text(x);
    });
    for (const Term& a : *terms) {
      for (const Term& b : *terms) {
        for (const Source& s : a.sources) {
          for (const Source& t : b.sources) {
            const bool apart = s.dim != t.dim || s.div == t.div || s.div * a.extent <= t.div ||
                               t.div * b.extent <= s.div;
            ASSERT_TRUE(apart) << to_text(sample.layout);
          }
        }
      }
    }
  }
  EXPECT_GT(refined, 3000);
}

TEST(Layout, EqualMapsOfBitsAndOfCompactDigitsAreEqualValues) {
  int pairs = 0, equals = 0;
  for (const auto* samples : {&test::compact_samples(), &test::xor_samples()}) {
    for (size_t i = 0; i < samples->size(); ++i) {
      for (size_t j = i + 1; j < samples->size(); ++j) {
        const Layout &a = (*samples)[i].layout, &b = (*samples)[j].layout;
        if (a.shape() != b.shape() || a.extents() != b.extents()) continue;
        ASSERT_EQ(a == b, equal(a, b)) << to_text(a) << " and " << to_text(b);
        ++pairs;
        equals += a == b;
      }
    }
  }
  EXPECT_GT(pairs, 10000);
  EXPECT_GT(equals, 1000);
}

TEST(Layout, TightExtentsAreTheLeastUpperBounds) {
  for (const Sample& sample : test::all_samples()) {
    Coords greatest(2);
    for_each(sample.shape, [&](const Coords& x) {
      const Coords p = sample.layout.apply(x);
      for (int out = 0; out < 2; ++out) greatest[out] = std::max(greatest[out], p[out]);
    });
    bool has_xor = false;
    for (const Term& term : sample.layout.terms()) has_xor |= term.sources.size() > 1;
    for (int out = 0; out < 2; ++out) {
      ASSERT_LT(greatest[out], sample.layout.extents()[out]) << to_text(sample.layout);
    }
    if (!has_xor && refine(sample.layout.terms(), sample.shape)) {
      ASSERT_EQ(sample.layout.extents(), (Coords{greatest[0] + 1, greatest[1] + 1}))
          << to_text(sample.layout);
    }
  }
}

TEST(Layout, RegionBoundsAreTheBoundingBox) {
  for (const Sample& sample : test::all_samples()) {
    bool exact = refine(sample.layout.terms(), sample.shape).has_value();
    for (const Term& term : sample.layout.terms()) exact = exact && term.sources.size() == 1;
    std::mt19937 random(5);
    for (int i = 0; i < 3; ++i) {
      Coords base, size;
      for (const int64_t extent : sample.shape) {
        base.push_back(static_cast<int64_t>(random() % extent));
        size.push_back(1 + static_cast<int64_t>(random() % (extent - base.back())));
      }
      Bounds seen = {Coords(2, INT64_MAX), Coords(2, 0)};
      for_each(size, [&](Coords x) {
        for (size_t d = 0; d < x.size(); ++d) x[d] += base[d];
        const Coords p = sample.layout.apply(x);
        for (int out = 0; out < 2; ++out) {
          seen.least[out] = std::min(seen.least[out], p[out]);
          seen.greatest[out] = std::max(seen.greatest[out], p[out]);
        }
      });
      const Bounds bounds = region_bounds(sample.layout, base, size);
      for (int out = 0; out < 2; ++out) {
        ASSERT_LE(bounds.least[out], seen.least[out]) << to_text(sample.layout);
        ASSERT_GE(bounds.greatest[out], seen.greatest[out]) << to_text(sample.layout);
        if (!exact) continue;
        ASSERT_EQ(bounds.least[out], seen.least[out])
            << to_text(sample.layout) << to_text(base) << to_text(size);
        ASSERT_EQ(bounds.greatest[out], seen.greatest[out])
            << to_text(sample.layout) << to_text(base) << to_text(size);
      }
    }
  }
}

TEST(Layout, OffsetIsRowMajorOverPhysicalCoordinates) {
  const Layout layout = row_major({3, 4, 5});
  EXPECT_EQ(layout.offset({2, 1, 3}), 2 * 20 + 1 * 5 + 3);
  EXPECT_EQ(strided({3, 4}, {1, 10}).offset({2, 3}), 32);
  EXPECT_EQ(strided({3, 4}, {1, 10}).extents(), Coords{33});
}

TEST(Layout, PrintsExpressions) {
  EXPECT_EQ(to_text(row_major({4, 8})), "[4, 8] -> [4, 8]: i, j");
  const Layout swizzled(
      {8, 64}, {{{{0, 1}}, 8, 0, 64}, {{{1, 8}, {0, 1}}, 8, 0, 8}, {{{1, 1}}, 8, 0, 1}}, {512});
  EXPECT_EQ(to_text(swizzled), "[8, 64] -> [512]: i * 64 + (i ^ j / 8) * 8 + j % 8");
}

TEST(Layout, RefusesBadTerms) {
  const auto message = [](const Coords& shape, const std::vector<Term>& terms,
                          const Coords& extents) {
    try {
      Layout(shape, terms, extents);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message({4}, {{{{0, 1}}, 4, 0, 2}}, {6}),
            "layout: [4] -> [6]: i * 2 reaches [6], outside its physical box");
  EXPECT_EQ(message({4}, {{{{1, 1}}, 4, 0, 2}}, {8}),
            "layout: a digit reads dimension 1 of 1 divided by 1");
  EXPECT_EQ(message({6, 6}, {{{{0, 1}, {1, 1}}, 6, 0, 1}}, {8}),
            "layout: an exclusive or of digits of extent 6, which is no power of two");
  EXPECT_EQ(message({0}, {}, {1}), "layout: shape [0] has an extent below 1");
  EXPECT_EQ(message({4}, {{{{0, 1}}, 4, 1, 2}}, {8}), "layout: a term goes to coordinate 1 of 1");
}

}  // namespace
}  // namespace tw::layout
