#include "tilewright/layout/bits.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/layout/samples.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

using test::Sample;

/// A sample with its physical box made of powers of two.
Layout with_whole_bits(const Layout& layout) {
  Coords extents = layout.extents();
  for (int64_t& e : extents) {
    while ((e & (e - 1)) != 0) ++e;
  }
  return Layout(layout.shape(), layout.terms(), extents);
}

TEST(Bits, MatrixGivesTheOffset) {
  for (const Sample& sample : test::xor_samples()) {
    const Layout layout = with_whole_bits(sample.layout);
    const auto matrix = bits_of(layout);
    ASSERT_TRUE(matrix) << to_text(layout);
    for (int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ(static_cast<int64_t>((*matrix)(i)), layout.offset(unflatten(i, layout.shape())))
          << to_text(layout);
    }
    ASSERT_EQ(layout_of(*matrix, layout.shape(), layout.extents()), layout);
  }
  EXPECT_FALSE(bits_of(strided({4, 3}, {4, 1})));
  EXPECT_FALSE(bits_of(Layout({4}, {{{{0, 1}}, 4, 0, 3}}, {16})));
  EXPECT_FALSE(bits_of(Layout({4, 4}, {{{{0, 1}}, 4, 0, 1}, {{{1, 1}}, 4, 0, 2}}, {16})));
}

TEST(Bits, RankCountsTheImage) {
  for (const Sample& sample : test::xor_samples()) {
    const Layout layout = with_whole_bits(sample.layout);
    std::set<int64_t> image;
    test::for_each(layout.shape(), [&](const Coords& x) { image.insert(layout.offset(x)); });
    ASSERT_EQ(int64_t{1} << rank(*bits_of(layout)), static_cast<int64_t>(image.size()))
        << to_text(layout);
  }
}

TEST(Bits, InverseAgreesWithThatOfDigits) {
  for (const Sample& sample : test::xor_samples()) {
    const Layout layout = with_whole_bits(sample.layout);
    const auto back = inverse(*bits_of(layout), 12);
    ASSERT_EQ(back.has_value(), inverse(layout).has_value()) << to_text(layout);
    if (!back) continue;
    for (int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ(static_cast<int64_t>((*back)((*bits_of(layout))(i))), i) << to_text(layout);
    }
  }
}

TEST(Bits, ComposeAppliesOneAfterTheOther) {
  const BitMatrix gray = {{1, 3, 6, 12}}, shift = {{2, 4, 8, 0}};
  for (uint64_t x = 0; x < 16; ++x) EXPECT_EQ(compose(gray, shift)(x), shift(gray(x)));
}

}  // namespace
}  // namespace tw::layout
