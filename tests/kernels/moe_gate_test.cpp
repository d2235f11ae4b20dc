#include "tests/reference/moe_gate.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/kernels/devices.h"
#include "tests/kernels/moe_gate_testing.h"
#include "tests/kernels/tensors.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using test::Choice;
using test::error_of;
using test::floats;
using test::indices;
using test::kChoices;
using test::on;
using test::random_tensor;
using test::row;
using test::Where;

constexpr float kInf = std::numeric_limits<float>::infinity();

OwnedTensor matrix(int64_t rows, const std::vector<double>& numbers) {
  OwnedTensor t(f32, {rows, static_cast<int64_t>(numbers.size()) / rows});
  test::assign(t, numbers);
  return t;
}

// ---- topk_gate ----

OwnedTensor topk_gate(const Tensor& scores, int64_t k, Where where = Where::cpu) {
  OwnedTensor idx = test::filled_tensor(i64, {scores.dim(0), k}, 77);
  kernels::topk_gate(on(where, scores), on(where, idx));
  return idx;
}

void expect_topk(const Tensor& scores, int64_t k, Where where = Where::cpu) {
  const std::vector<float> all = floats(scores);
  const std::vector<int64_t> found = indices(topk_gate(scores, k, where));
  const int64_t experts = scores.dim(1);
  for (int64_t t = 0; t < scores.dim(0); ++t) {
    ASSERT_EQ(row(found, t, k), reference::best_of(row(all, t, experts), static_cast<size_t>(k)))
        << format("{}: token {}, {} of {}", name_of(where), t, k, scores);
  }
}

TEST(TopkGate, HasTheValuesOfTheSpecification) {
  using Row = std::vector<int64_t>;
  EXPECT_EQ(indices(topk_gate(matrix(1, {1, 3, 3, 2}), 3)), (Row{1, 2, 3}));
  EXPECT_EQ(indices(topk_gate(matrix(1, {0.0, -0.0, 0.0, -1.0}), 3)), (Row{0, 1, 2}));
  EXPECT_EQ(indices(topk_gate(matrix(1, {5, 5, 5, 5}), 4)), (Row{0, 1, 2, 3}));
}

TEST(TopkGate, AgreesWithTheReference) {
  for (const auto& [experts, k] : kChoices) {
    for (const int64_t tokens : {0, 1, 67, 512}) {
      expect_topk(random_tensor(f32, {tokens, experts}, 3), k);
    }
  }
  expect_topk(random_tensor(f32, {4001, 256}, 3), 8);
}

TEST(TopkGate, OddSizes) {
  for (const int64_t experts : {1, 5, 31, 33, 257, 1000, 4096}) {
    const OwnedTensor scores = random_tensor(f32, {5, experts}, 1);
    for (const int64_t k : {int64_t{1}, std::min<int64_t>(experts, 32)}) expect_topk(scores, k);
  }
}

/// Rows in which keys are equal, or at the ends of what f32 has.
OwnedTensor special_rows(int64_t experts) {
  OwnedTensor scores(f32, {10, experts});
  std::mt19937 random(7);
  const float largest = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> choices = {{1, 2, -3},
                                                   {4},
                                                   {0.0F, -0.0F},
                                                   {0.0F, -0.0F, 1e-45F, -1e-45F},
                                                   {largest, -largest, 0},
                                                   {1e-40F, 2e-40F, -1e-40F, 1e-38F},
                                                   {-largest},
                                                   {largest, std::nextafter(largest, 0.0F)}};
  for (int64_t t = 0; t < 10; ++t) {
    for (int64_t e = 0; e < experts; ++e) {
      float& at = scores->data_as<float>()[t * experts + e];
      if (t < 8) {
        const auto& from = choices[static_cast<size_t>(t)];
        at = from[random() % from.size()];
      } else {
        at = static_cast<float>(t == 8 ? e : -e);
      }
    }
  }
  return scores;
}

TEST(TopkGate, OfEqualAndExtremeScores) {
  for (const Where where : {Where::cpu, Where::twin}) {
    expect_topk(special_rows(40), 20, where);
    expect_topk(special_rows(256), 8, where);
  }
}

TEST(TopkGate, AgreesWithTheReferenceOnThreads) {
  for (const auto& [experts, k] : {Choice{1, 1}, {5, 5}, {36, 6}, {72, 32}, {257, 3}, {256, 8}}) {
    expect_topk(random_tensor(f32, {5, experts}, 2), k, Where::twin);
  }
  expect_topk(random_tensor(f32, {2, 1100}, 2), 32, Where::twin);
  expect_topk(random_tensor(f32, {0, 72}, 2), 6, Where::twin);
}

TEST(TopkGate, StopsAtScoresThatAreNotFinite) {
  for (const float wrong : {NAN, kInf, -kInf}) {
    for (const int64_t at : {0, 41, 71}) {
      const OwnedTensor scores = random_tensor(f32, {3, 72}, 5);
      scores->data_as<float>()[72 + at] = wrong;
      EXPECT_NE(error_of([&] {
                  topk_gate(scores, 6);
                }).find("topk_gate: a score of this token isn't finite"),
                std::string::npos)
          << wrong << " at " << at;
    }
  }
}

TEST(TopkGate, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor scores(f32, {4, 64}), idx(i64, {4, 6}), wide(f32, {4, 70});
  const auto error = [](const Tensor& s, const Tensor& i) {
    return error_of([&] { kernels::topk_gate(s, i); });
  };
  EXPECT_EQ(error(OwnedTensor(f32, {4}), idx),
            "topk_gate: scores is f32 [4], it must have 2 dimensions");
  EXPECT_EQ(error(OwnedTensor(bf16, {4, 64}), idx),
            "topk_gate: scores is bf16 [4, 64], it must be f32");
  EXPECT_EQ(error(scores, OwnedTensor(i32, {4, 6})),
            "topk_gate: idx is i32 [4, 6], it must be i64");
  EXPECT_EQ(error(scores, OwnedTensor(i64, {4, 40})),
            "topk_gate: num_topk is 40, it must be from 1 to 32 for 64 experts");
  EXPECT_EQ(error(scores, OwnedTensor(i64, {4, 0})),
            "topk_gate: num_topk is 0, it must be from 1 to 32 for 64 experts");
  EXPECT_EQ(error(OwnedTensor(f32, {4, 5}), idx),
            "topk_gate: num_topk is 6, it must be from 1 to 5 for 5 experts");
  EXPECT_EQ(error(scores, OwnedTensor(i64, {3, 6})),
            "topk_gate: idx is i64 [3, 6], it must be [4, 6] [tokens, num_topk]");
  EXPECT_EQ(error(test::with_row_gap(wide, 64), idx),
            "error[E-HOST-06]: topk_gate: scores.stride[0] expected 64 (compact), got 70");
}

// ---- topk_sum_and_topk_group_idx ----

OwnedTensor best_groups(const Tensor& scores, int64_t summands, int64_t k,
                        Where where = Where::cpu) {
  OwnedTensor idx = test::filled_tensor(i64, {scores.dim(0), k}, 77);
  kernels::topk_sum_and_topk_group_idx(on(where, scores), summands, on(where, idx));
  return idx;
}

void expect_groups(const Tensor& scores, int64_t summands, int64_t k, Where where = Where::cpu) {
  const std::vector<float> all = floats(scores);
  const std::vector<int64_t> found = indices(best_groups(scores, summands, k, where));
  const int64_t e = scores.dim(1) * scores.dim(2);
  for (int64_t t = 0; t < scores.dim(0); ++t) {
    const auto sums = reference::group_scores(row(all, t, e), static_cast<size_t>(scores.dim(2)),
                                              static_cast<int>(summands));
    ASSERT_EQ(row(found, t, k), reference::best_of(sums, static_cast<size_t>(k)))
        << format("{}: token {}, {} groups of {} by {}", name_of(where), t, k, scores, summands);
  }
}

TEST(TopkSumAndTopkGroupIdx, HasTheValuesOfTheSpecification) {
  OwnedTensor scores(f32, {1, 4, 4});
  test::assign(scores, {1, 2, 0, 0, 3, 0, 0, 0, 2, 2, 1, 2, 0, 1, -1, 0});
  using Row = std::vector<int64_t>;
  for (const Where where : {Where::cpu, Where::twin}) {
    EXPECT_EQ(indices(best_groups(scores, 2, 2, where)), (Row{2, 0}));
    EXPECT_EQ(indices(best_groups(scores, 2, 3, where)), (Row{2, 0, 1}));
    EXPECT_EQ(indices(best_groups(scores, 1, 3, where)), (Row{1, 0, 2}));
  }
}

TEST(TopkSumAndTopkGroupIdx, AgreesWithTheReference) {
  for (const int64_t experts : {72, 256}) {
    for (const int64_t groups : {1, 4, 8, 12, 16, 32}) {
      if (experts % groups != 0) continue;
      for (const int64_t summands : {1, 2}) {
        for (const int64_t k : {int64_t{1}, std::min<int64_t>(4, groups), groups}) {
          for (const int64_t tokens : {0, 1, 67}) {
            expect_groups(random_tensor(f32, {tokens, groups, experts / groups}, 3), summands, k);
          }
        }
      }
    }
  }
  expect_groups(random_tensor(f32, {9, 7, 1}, 3), 1, 7);
  expect_groups(random_tensor(f32, {9, 5, 3}, 3), 2, 2);
}

TEST(TopkSumAndTopkGroupIdx, OfEqualAndInfiniteScores) {
  OwnedTensor scores(f32, {40, 6, 5});
  std::mt19937 random(3);
  for (int64_t i = 0; i < scores->numel(); ++i) {
    const std::vector<float> few = {-kInf, 1, 2, 0.0F, -0.0F};
    scores->data_as<float>()[i] = i < 30 ? -kInf : few[random() % (i < 300 ? 1 : 5)];
    if (i % 7 == 0 && i >= 30) scores->data_as<float>()[i] = 1;
  }
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t summands : {1, 2}) expect_groups(scores, summands, 6, where);
  }
}

TEST(TopkSumAndTopkGroupIdx, AgreesWithTheReferenceOnThreads) {
  for (const Shape& shape : {Shape{5, 8, 9}, {5, 8, 32}, {3, 32, 32}, {9, 12, 6}, {0, 4, 18}}) {
    for (const int64_t summands : {1, 2}) {
      expect_groups(random_tensor(f32, shape, 3), summands, 4, Where::twin);
    }
  }
}

TEST(TopkSumAndTopkGroupIdx, RejectsArgumentsThatDoNotFit) {
  const auto error = [](const Shape& scores, int64_t summands, const Shape& idx) {
    return error_of([&] {
      kernels::topk_sum_and_topk_group_idx(OwnedTensor(f32, scores), summands,
                                           OwnedTensor(i64, idx));
    });
  };
  EXPECT_EQ(error({4, 8}, 1, {4, 2}),
            "topk_sum_and_topk_group_idx: scores is f32 [4, 8], it must have 3 dimensions");
  EXPECT_EQ(error({4, 33, 2}, 1, {4, 2}),
            "topk_sum_and_topk_group_idx: scores is f32 [4, 33, 2], there must be 1 to 32 groups");
  EXPECT_EQ(error({4, 8, 2}, 3, {4, 2}),
            "topk_sum_and_topk_group_idx: num_topk_sum is 3, it must be 1 or 2");
  EXPECT_EQ(error({4, 8, 1}, 2, {4, 2}),
            "topk_sum_and_topk_group_idx: num_topk_sum is 2, but groups of scores f32 [4, 8, 1] "
            "have 1 experts");
  EXPECT_EQ(error({4, 8, 2}, 2, {4, 9}),
            "topk_sum_and_topk_group_idx: num_topk_groups is 9, it must be from 1 to 8");
  EXPECT_EQ(error({4, 8, 2}, 2, {3, 2}),
            "topk_sum_and_topk_group_idx: idx is i64 [3, 2], it must be [4, 2] [tokens, "
            "num_topk_groups]");
}

// ---- normalize_weight ----

struct Normalized {
  std::vector<float> denominator, weights;
};

Normalized normalize(const Tensor& weights, Where where = Where::cpu, bool wide_rows = false) {
  const OwnedTensor d = test::filled_tensor(f32, {weights.dim(0)}, 7),
                    n = test::filled_tensor(f32, weights.shape(), 7);
  kernels::normalize_weight(on(where, weights), on(where, d), on(where, n),
                            {.wide_rows = wide_rows});
  return {floats(d), floats(n)};
}

/// Bit for bit, but for the payload of NaN.
void expect_same(float got, float wanted, const std::string& what) {
  if (std::isnan(wanted)) {
    ASSERT_TRUE(std::isnan(got)) << what << ": " << got;
  } else {
    ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(wanted))
        << what << ": " << got << ", wanted " << wanted;
  }
}

void expect_normalized(const Tensor& weights, Where where = Where::cpu) {
  const Normalized found = normalize(weights, where);
  const std::vector<float> all = floats(weights);
  const int64_t k = weights.dim(1);
  for (int64_t t = 0; t < weights.dim(0); ++t) {
    const std::string what = format("{}: token {} of {}", name_of(where), t, weights);
    const std::vector<float> w = row(all, t, k);
    const float d = reference::denominator(w);
    expect_same(found.denominator[static_cast<size_t>(t)], d, what);
    for (int64_t j = 0; j < k; ++j) {
      expect_same(found.weights[static_cast<size_t>(t * k + j)], w[static_cast<size_t>(j)] / d,
                  what);
    }
  }
}

TEST(NormalizeWeight, IsBitwiseTheReference) {
  for (int64_t k = 1; k <= 32; ++k) {
    for (const int64_t tokens : {0, 1, 33, 200}) {
      expect_normalized(random_tensor(f32, {tokens, k}, 3, 0, 1));
    }
  }
  expect_normalized(random_tensor(f32, {4001, 8}, 4, -1, 1));
  for (const int64_t k : {1, 6, 8, 9, 32}) {
    expect_normalized(random_tensor(f32, {70, k}, 3, 0, 1), Where::twin);
  }
  expect_normalized(random_tensor(f32, {0, 8}, 3, 0, 1), Where::twin);
}

TEST(NormalizeWeight, WorksInPlace) {
  for (const Where where : {Where::cpu, Where::twin}) {
    for (const int64_t k : {1, 2, 6, 32, 40}) {
      const OwnedTensor w = random_tensor(f32, {70, k}, 3, 0, 1), d(f32, {70});
      const Normalized wanted = normalize(w, where, true);
      kernels::normalize_weight(on(where, w), on(where, d), on(where, w), {.wide_rows = true});
      EXPECT_EQ(floats(d), wanted.denominator) << name_of(where) << ", " << k;
      EXPECT_EQ(floats(w), wanted.weights) << name_of(where) << ", " << k;
    }
  }
}

TEST(NormalizeWeight, OfSpecialWeights) {
  for (const Where where : {Where::cpu, Where::twin}) {
    expect_normalized(
        matrix(7, {0,     -0.0, 0,  1e-20, 0,         0,    NAN,   1,     2,     INFINITY, 1,
                   1e-30, 1,    -1, 0,     /**/ 3e38, 3e38, -3e38, 1e-45, 2e-45, 0}),
        where);
  }
}

TEST(NormalizeWeight, WideRowsAreSummedUpFromTheLeft) {
  for (const Where where : {Where::cpu, Where::twin}) {
    const OwnedTensor weights = random_tensor(f32, {7, 40}, 3, 0, 1);
    const Normalized found = normalize(weights, where, true);
    for (size_t t = 0; t < 7; ++t) {
      const float* w = weights->data_as<float>() + t * 40;
      float sum = 1e-20F;
      for (size_t j = 0; j < 40; ++j) sum = sum + w[j];
      expect_same(found.denominator[t], sum, "sum");
      for (size_t j = 0; j < 40; ++j)
        expect_same(found.weights[t * 40 + j], w[j] / sum, "quotient");
    }
  }
  EXPECT_EQ(error_of([] { normalize(OwnedTensor(f32, {2, 33})); }),
            "normalize_weight: weights is f32 [2, 33], a token may have at most 32 weights");
}

TEST(NormalizeWeight, RejectsArgumentsThatDoNotFit) {
  const OwnedTensor w(f32, {4, 6}), d(f32, {4}), n(f32, {4, 6});
  const auto error = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    return error_of([&] { kernels::normalize_weight(a, b, c); });
  };
  EXPECT_EQ(error(d, d, n), "normalize_weight: weights is f32 [4], it must have 2 dimensions");
  EXPECT_EQ(error(OwnedTensor(f16, {4, 6}), d, n),
            "normalize_weight: weights is f16 [4, 6], it must be f32");
  EXPECT_EQ(error(w, OwnedTensor(f32, {5}), n),
            "normalize_weight: denominator is f32 [5], it must be [4] [tokens]");
  EXPECT_EQ(error(w, d, OwnedTensor(f32, {4, 5})),
            "normalize_weight: normalized is f32 [4, 5], it must be f32 [4, 6] like weights");
}

}  // namespace
}  // namespace tw
