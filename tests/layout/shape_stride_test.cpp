#include "tilewright/layout/shape_stride.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/parse.h"

namespace tw::layout {
namespace {

ShapeStride parse(std::string_view text) { return parse_shape_stride(text); }
std::string text(const std::optional<ShapeStride>& a) { return a ? to_text(*a) : "none"; }

/// Random nested layouts: small factors, strides from a list.
std::vector<ShapeStride> samples(int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<int64_t> from) { return from[random() % from.size()]; };
  const auto leaf = [&] {
    return ShapeStride::leaf(pick({1, 2, 2, 3, 4, 6}), pick({0, 1, 1, 2, 3, 4, 6, 8, 12, 24}));
  };
  std::vector<ShapeStride> all;
  for (int i = 0; i < count; ++i) {
    std::vector<ShapeStride> modes;
    for (size_t m = 1 + random() % 3; m > 0; --m) {
      modes.push_back(random() % 3 == 0 ? ShapeStride::tuple({leaf(), leaf()}) : leaf());
    }
    all.push_back(modes.size() == 1 ? modes[0] : ShapeStride::tuple(modes));
  }
  return all;
}

TEST(ShapeStride, TextIsReadBack) {
  for (const ShapeStride& a : samples(300, 1)) EXPECT_EQ(parse(to_text(a)), a) << to_text(a);
  EXPECT_EQ(to_text(parse("( 8, (4,2) ) : (4, (1,32))")), "(8,(4,2)):(4,(1,32))");
  EXPECT_EQ(to_text(parse("(8,(4,2))")), "(8,(4,2)):(1,(8,32))");
  EXPECT_EQ(to_text(parse("12:3")), "12:3");
}

TEST(ShapeStride, BadTextSaysWhere) {
  const auto message = [](const char* text) {
    try {
      parse(text);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("(8,4"), "layout '(8,4': expected ',' or ')' at ''");
  EXPECT_EQ(message("(8,x):1"), "layout '(8,x):1': expected a number at 'x):1'");
  EXPECT_EQ(message("(8,4):1"), "layout '(8,4):1': shape and strides are nested differently");
  EXPECT_EQ(message("(8,0)"), "layout '(8,0)': extent 0");
  EXPECT_EQ(message("8:1 x"), "layout '8:1 x': expected the end at 'x'");
}

TEST(ShapeStride, ConvertsToALayoutAndBack) {
  for (const ShapeStride& a : samples(300, 2)) {
    const Layout layout = to_layout(a);
    int64_t index = 0;
    std::vector<int64_t> reversed(layout.shape().rbegin(), layout.shape().rend());
    test::for_each(reversed, [&](const Coords& x) {  // colexicographic
      ASSERT_EQ(layout.offset(Coords(x.rbegin(), x.rend())), offset(a, index++)) << to_text(a);
    });
    const auto back = to_shape_stride(layout);
    if (!back) continue;  // digits that overlap
    for (int64_t i = 0; i < size(a); ++i) ASSERT_EQ(offset(*back, i), offset(a, i)) << to_text(a);
  }
}

TEST(ShapeStride, CoalesceKeepsTheFunction) {
  for (const ShapeStride& a : samples(300, 3)) {
    const ShapeStride merged = coalesce(a);
    ASSERT_EQ(size(merged), size(a));
    for (int64_t i = 0; i < size(a); ++i) ASSERT_EQ(offset(merged, i), offset(a, i)) << to_text(a);
  }
  EXPECT_EQ(to_text(coalesce(parse("(2,(1,6)):(1,(6,2))"))), "12:1");
}

TEST(ShapeStride, CompositionAppliesOneAfterTheOther) {
  int found = 0;
  const std::vector<ShapeStride> all = samples(120, 4);
  for (const ShapeStride& a : all) {
    for (const ShapeStride& b : all) {
      const auto both = composition(a, b);
      if (!both) continue;
      ++found;
      ASSERT_EQ(size(*both), size(b)) << to_text(a) << " after " << to_text(b);
      for (int64_t i = 0; i < size(b); ++i) {
        ASSERT_EQ(offset(*both, i), offset(coalesce(a), offset(b, i)))
            << to_text(a) << " after " << to_text(b);
      }
    }
  }
  EXPECT_GT(found, 3500);
}

// The worked examples of CuTe's documentation of its layout algebra.
TEST(ShapeStride, KnownResults) {
  EXPECT_EQ(text(composition(parse("(6,2):(8,2)"), parse("(4,3):(3,1)"))), "((2,2),3):((24,2),8)");
  EXPECT_EQ(text(composition(parse("20:2"), parse("(5,4):(4,1)"))), "(5,4):(8,2)");
  EXPECT_EQ(text(composition(parse("(10,2):(16,4)"), parse("(5,4):(1,5)"))),
            "(5,(2,2)):(16,(80,4))");
  EXPECT_EQ(text(complement(parse("4:1"), 24)), "6:4");
  EXPECT_EQ(text(complement(parse("6:4"), 24)), "4:1");
  EXPECT_EQ(text(complement(parse("(4,6):(1,4)"), 24)), "1:0");
  EXPECT_EQ(text(complement(parse("4:2"), 24)), "(2,3):(1,8)");
  EXPECT_EQ(text(complement(parse("(2,4):(1,6)"), 24)), "3:2");
  EXPECT_EQ(text(complement(parse("(2,2):(1,6)"), 24)), "(3,2):(2,12)");
  EXPECT_EQ(text(logical_divide(parse("(4,2,3):(2,1,8)"), parse("4:2"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(text(logical_product(parse("(2,2):(4,1)"), parse("6:1"))),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(text(complement(parse("(2,2):(1,1)"), 24)), "none");
}

TEST(ShapeStride, ComplementFillsWhatIsLeftOut) {
  int found = 0;
  for (const ShapeStride& a : samples(500, 5)) {
    const auto rest = complement(a, 48);
    if (!rest) continue;
    ++found;
    // Offsets of (a, rest) differ from each other, but where a has stride 0, and cover [0, 48).
    std::set<int64_t> of_a, all;
    for (int64_t i = 0; i < size(a); ++i) of_a.insert(offset(a, i));
    for (const int64_t first : of_a) {
      for (int64_t j = 0; j < size(*rest); ++j) {
        ASSERT_TRUE(all.insert(first + offset(*rest, j)).second) << to_text(a);
      }
    }
    for (int64_t i = 0; i < 48; ++i) ASSERT_EQ(all.count(i), 1u) << to_text(a) << " misses " << i;
    for (int64_t j = 1; j < size(*rest); ++j) {
      ASSERT_LT(offset(*rest, j - 1), offset(*rest, j)) << to_text(a);
    }
  }
  EXPECT_GT(found, 50);
}

TEST(ShapeStride, DivideKeepsElementsAndSplitsThem) {
  int found = 0;
  for (const ShapeStride& a : samples(60, 6)) {
    for (const ShapeStride& tile : samples(60, 7)) {
      if (size(a) % size(tile) != 0) continue;
      const auto divided = logical_divide(a, tile);
      if (!divided || size(*divided) != size(a)) continue;
      ++found;
      ASSERT_EQ(divided->modes.size(), 2u);
      for (int64_t i = 0; i < size(tile); ++i) {  // the first tile is what `tile` picks of a
        ASSERT_EQ(offset(divided->modes[0], i), offset(a, offset(tile, i)));
      }
      std::multiset<int64_t> whole, parts;
      for (int64_t i = 0; i < size(a); ++i) whole.insert(offset(a, i));
      for (int64_t i = 0; i < size(a); ++i) parts.insert(offset(*divided, i));
      if (cosize(tile) <= size(a)) {
        ASSERT_EQ(whole, parts) << to_text(a) << " by " << to_text(tile);
      }
    }
  }
  EXPECT_GT(found, 100);
}

TEST(ShapeStride, ProductPutsCopiesBesideEachOther) {
  int found = 0;
  for (const ShapeStride& a : samples(60, 8)) {
    for (const ShapeStride& b : samples(60, 9)) {
      const auto product = logical_product(a, b);
      if (!product) continue;
      ++found;
      ASSERT_EQ(product->modes[0], a);
      ASSERT_EQ(size(product->modes[1]), size(b));
      // Copies are equal exactly where b gives the same, and don't overlap elsewhere.
      std::set<int64_t> of_a, of_b, all;
      for (int64_t i = 0; i < size(a); ++i) of_a.insert(offset(a, i));
      for (int64_t j = 0; j < size(b); ++j) of_b.insert(offset(b, j));
      for (const int64_t first : of_a) {
        for (int64_t j = 0; j < size(b); ++j) all.insert(first + offset(product->modes[1], j));
      }
      ASSERT_EQ(all.size(), of_a.size() * of_b.size()) << to_text(a) << " by " << to_text(b);
    }
  }
  EXPECT_GT(found, 300);
}

TEST(ShapeStride, RightInverseIsUndone) {
  for (const ShapeStride& a : samples(500, 10)) {
    const ShapeStride back = right_inverse(a);
    for (int64_t i = 0; i < size(back); ++i) ASSERT_EQ(offset(a, offset(back, i)), i) << to_text(a);
  }
  EXPECT_EQ(to_text(right_inverse(parse("(8,4):(4,1)"))), "(4,8):(8,1)");
  EXPECT_EQ(size(right_inverse(parse("(8,4):(1,16)"))), 8);
}

}  // namespace
}  // namespace tw::layout
