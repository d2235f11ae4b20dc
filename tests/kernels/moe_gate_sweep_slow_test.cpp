// Random calls of gates, with equal and extreme scores and any options.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/kernels/moe_topk_gate_testing.h"
#include "tests/kernels/sweep.h"
#include "tests/kernels/top2_sum_gate_testing.h"
#include "tests/reference/moe_gate.h"
#include "tilewright/kernels/moe.h"

namespace tw {
namespace {

using namespace test;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

float usual(Choices& c) { return static_cast<float>(c.between(-1000000, 1000000)) * 1e-6F; }
int64_t any_k(Choices& c, int64_t most) {
  return std::min(most,
                  c.one_in(2) ? c.between(1, 32) : c.one_of<int64_t>({1, 2, 6, 8, 9, 31, 32}));
}

TEST(GateSweep, TopkGate) {
  sweep(30, [](Choices& c) {
    const int64_t e = std::max<int64_t>(1, c.near({4, 32, 64, 128, 256}, c.one_in(5) ? 5000 : 600));
    const int64_t k = any_k(c, e), t = c.between(0, e > 1000 ? 3 : 9);
    const OwnedTensor scores(f32, {t, e});
    for (int64_t i = 0; i < t; ++i) {
      const int64_t mode = c.between(0, 4), kinds = c.between(1, 4);
      for (int64_t j = 0; j < e; ++j) {
        float v = usual(c);
        if (mode == 0) v = static_cast<float>(c.between(1, kinds));
        if (mode == 1) v = c.one_of({0.0F, -0.0F, 1e-45F, -1e-45F, 1e-40F});
        if (mode == 2) v = std::bit_cast<float>(static_cast<uint32_t>(c.bits()));
        if (mode == 3) v = -kMost;
        scores->data_as<float>()[i * e + j] = std::isfinite(v) ? v : kMost;
      }
    }
    both([&](Where where) {
      const OwnedTensor idx = filled_tensor(i64, {t, k}, 77);
      kernels::topk_gate(on(where, scores), on(where, idx));
      for (int64_t i = 0; i < t; ++i)
        EXPECT_EQ(row(indices(idx), i, k), reference::best_of(row(floats(scores), i, e), at(k)))
            << format("{}: token {} of {}", name_of(where), i, scores);
    });
  });
}

TEST(GateSweep, TopkSumAndTopkGroupIdx) {
  sweep(30, [](Choices& c) {
    const int64_t g = c.between(1, 32),
                  size = c.one_in(4) ? c.near({32, 128}, 300) + 1 : c.between(1, 40);
    const int64_t sum = size < 2 ? 1 : c.between(1, 2), k = c.between(1, g), t = c.between(0, 9);
    const OwnedTensor scores(f32, {t, g, size});
    for (int64_t i = 0; i < t; ++i) {
      const int64_t mode = c.between(0, 3);
      for (int64_t j = 0; j < g * size; ++j) {
        float v = usual(c);
        if (mode == 0) v = static_cast<float>(c.between(1, 3));
        if (mode == 1) v = c.one_of({0.0F, -0.0F, 1.0F, -kInf});
        if (mode == 2) v = c.one_of({-kMost, kMost, 0.0F});
        scores->data_as<float>()[i * g * size + j] = v;
      }
    }
    both([&](Where where) {
      const OwnedTensor idx = filled_tensor(i64, {t, k}, 77);
      kernels::topk_sum_and_topk_group_idx(on(where, scores), sum, on(where, idx));
      for (int64_t i = 0; i < t; ++i) {
        const auto sums = reference::group_scores(row(floats(scores), i, g * size), at(size),
                                                  static_cast<int>(sum));
        EXPECT_EQ(row(indices(idx), i, k), reference::best_of(sums, at(k)))
            << format("{}: token {} of {} by {}", name_of(where), i, scores, sum);
      }
    });
  });
}

TEST(GateSweep, NormalizeWeight) {
  sweep(30, [](Choices& c) {
    const int64_t k = c.one_in(4) ? c.between(33, 300) : c.between(0, 32),
                  t = c.near({16, 32, 128}, 140);
    const bool in_place = c.one_in(3), wide = k > 32 || c.one_in(2);
    std::vector<float> all;
    std::vector<double> wanted, sums;
    for (int64_t i = 0; i < t; ++i) {
      const int64_t mode = c.between(0, 3);
      for (int64_t j = 0; j < k; ++j) {
        float v = std::abs(usual(c));
        if (mode == 0) v = c.one_of({0.0F, -0.0F, 1e-20F, 1e-40F});
        if (mode == 1) v = std::bit_cast<float>(static_cast<uint32_t>(c.bits()));
        all.push_back(v);
      }
      const std::vector<float> weights = row(all, i, k);
      float sum = 1e-20F;
      for (const float w : weights) sum += w;
      if (k <= 32) sum = reference::denominator(weights);
      sums.push_back(sum);
      for (const float w : weights) wanted.push_back(w / sum);
    }
    both([&](Where where) {
      const OwnedTensor weights(f32, {t, k}), sum = filled_tensor(f32, {t}, 7),
                                              other = filled_tensor(f32, {t, k}, 7);
      std::copy(all.begin(), all.end(), weights->data_as<float>());
      const Tensor normalized = in_place ? weights : other;
      kernels::normalize_weight(on(where, weights), on(where, sum), on(where, normalized),
                                {.wide_rows = wide});
      const std::string what =
          format("{}: {}, in place {}, wide rows {}", name_of(where), weights, in_place, wide);
      expect_same(sum, sums, what);
      expect_same(normalized, wanted, what);
    });
  });
}

TEST(GateSweep, MoeTopkGateForward) {
  sweep(15, [](Choices& c) {
    const int64_t e =
        std::max<int64_t>(4, c.near({4, 32, 64, 128, 256}, c.one_in(5) ? 2500 : 400) / 4 * 4);
    const int64_t k = any_k(c, e), s = std::min<int64_t>(c.between(0, 2), 32 - k);
    const int64_t t = c.between(0, e > 600 ? 3 : 9);
    const With with = some_options(at(c.between(0, 127)));
    const uint64_t seed = c.bits();
    both([&](Where where) {
      Choices d(seed);
      Gate g(t, e, k, s, with, seed);
      g.ep_rank = d.one_of<int64_t>({0, 1, 7, 1000003, (int64_t{1} << 40) + 5});
      for (int64_t i = 0; i < t; ++i) {
        const int64_t mode = d.between(0, 3);
        for (int64_t j = 0; j < e; ++j) {
          float& v = g.logits->data_as<float>()[i * e + j];
          if (mode == 0) v = static_cast<float>(d.between(1, 3));
          if (mode == 1) v = d.one_of({0.0F, -0.0F, 21.0F, 19.99F, -30.0F});
        }
      }
      if (with.bias && d.one_in(2)) {
        for (int64_t j = 0; j < e - k; ++j)
          g.bias->data_as<float>()[j] = d.one_in(2) ? -kInf : 0.0F;
      }
      expect_gate(g, where);
    });
  });
}

TEST(GateSweep, MoeTopkGateBackward) {
  sweep(11, [](Choices& c) {
    const int64_t e = std::max<int64_t>(
        4, c.near({4, 32, 64, 128, 256, 512, 1024}, c.one_in(5) ? 5000 : 600) / 4 * 4);
    const int64_t k = any_k(c, e), sequences = c.one_in(2) ? 0 : c.between(1, 3);
    const int64_t t = c.between(0, e > 600 ? 2 : 5) * std::max<int64_t>(sequences, 1);
    Backward b(t, e, k, sequences);
    const int64_t fewer = std::max(e - c.between(0, 3), k);
    if (fewer != e) b.use_experts(fewer);
    for (int64_t i = 0; i < t * k; ++i) {
      int64_t& x = b.idx->data_as<int64_t>()[i];
      if (x >= fewer || c.one_in(4)) x = c.one_in(3) ? -c.between(1, 6) : c.between(0, b.e - 1);
    }
    // Of one expert the gradient is 0 but for rounding.
    if (k == 1 || c.one_in(2)) b.weights = random_tensor(f32, {t, k}, c.bits());
    if (t > 1) b.exclude(c.between(0, t - 1));
    both([&](Where where) { expect_backward(b, where); });
  });
}

TEST(GateSweep, Top2SumGate) {
  sweep(18, [](Choices& c) {
    // More experts have near ties.
    int64_t groups = 0, kept = 0,
            e = std::max<int64_t>(4, c.near({4, 32, 64, 128, 256}, 400) / 4 * 4);
    if (c.one_in(2)) {
      groups = 4 * c.between(1, 8);
      e = groups * c.between(2, std::min<int64_t>(32, 400 / groups));
      kept = c.between(1, groups);
    }
    const int64_t k = any_k(c, groups > 0 ? kept * (e / groups) : e);
    int64_t s = c.between(0, 2);
    if (s > 0 && (k % s != 0 || e % (k / s) != 0 || k + s > 32)) s = 0;
    const With with{.mask = c.one_in(2),
                    .fix = c.one_in(2),
                    .map = s > 0 || c.one_in(2),
                    .unmapped = c.one_in(2)};
    const int64_t t = c.between(0, 7);
    const auto scoring = c.one_of(
        {kernels::Scoring::sigmoid, kernels::Scoring::sqrtsoftplus, kernels::Scoring::softmax});
    const uint64_t seed = c.bits();
    both([&](Where where) {
      Choices d(seed);
      Top2 g(t, e, k, s, with, scoring, groups, kept, seed);
      g.ep_rank = d.one_of<int64_t>({0, 1, 7, 1000003});
      g.num_ep_ranks = d.between(1, 4);
      g.num_tp_ranks = d.between(1, 4);
      g.tp_rank = d.between(0, g.num_tp_ranks - 1);
      expect_top2(g, where);
    });
  });
}

}  // namespace
}  // namespace tw
