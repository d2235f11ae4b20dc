// Checks of top2_sum_gate beside plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/moe_gate_testing.h"
#include "tilewright/base/format.h"

namespace tw::test {

/// A call with the arguments of a Gate, of which no keys are near ties.
struct Top2 : Gate {
  Top2(int64_t t_, int64_t e_, int64_t k_, int64_t s_, With with, kernels::Scoring scoring_,
       int64_t groups_ = 0, int64_t kept_ = 0, uint64_t seed = 1)
      : Gate(t_, e_, k_, s_, {with.mask, true, false, with.fix, with.map, with.unmapped}, seed),
        scoring(scoring_),
        groups(groups_),
        kept(kept_) {
    for (int64_t i = 0; i < t; ++i) {
      while (!is_clear(i))
        assign(logits->slice(0, i, 1), values(random_tensor(f32, {e}, random(), -4, 4)));
    }
  }

  std::vector<double> scores_of(int64_t token) const {
    std::vector<double> u;
    double most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (const float x : floats(logits->select(0, token))) most = std::max<double>(most, x);
    for (const float x_ : floats(logits->select(0, token))) {
      const double x = x_;
      u.push_back(scoring == kernels::Scoring::sigmoid        ? 1 / (1 + std::exp(-x))
                  : scoring == kernels::Scoring::sqrtsoftplus ? std::sqrt(std::log1p(std::exp(x)))
                                                              : std::exp(x - most));
      sum += u.back();
    }
    for (double& y : u) y /= scoring == kernels::Scoring::softmax ? sum : 1;
    return u;
  }
  std::vector<float> keys_of(int64_t token) const {
    const std::vector<double> u = scores_of(token);
    std::vector<float> keys = floats(logits->select(0, token));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (scoring != kernels::Scoring::softmax) keys[i] = static_cast<float>(u[i]);
      keys[i] += bias->data_as<float>()[i];
    }
    return keys;
  }
  /// No two keys, or scores of groups, of a token are nearly equal.
  bool is_clear(int64_t token) const {
    const auto is_spread = [](std::vector<float> keys, float least) {
      std::sort(keys.begin(), keys.end());
      for (size_t i = 1; i < keys.size(); ++i) {
        if (keys[i] - keys[i - 1] <= least) return false;
      }
      return true;
    };
    const std::vector<float> keys = keys_of(token);
    return is_spread(keys, 1e-6F) &&
           (kept == 0 || is_spread(reference::group_scores(keys, at(e / groups), 2), 1e-6F));
  }

  void run(Where where = Where::cpu) const {
    std::vector<Tensor> placed;
    placed.reserve(10);
    const auto optional = [&](const Tensor& tensor) -> const Tensor* {
      if (tensor.rank() == 0) return nullptr;
      return &placed.emplace_back(on(where, tensor));
    };
    kernels::top2_sum_gate(on(where, logits), on(where, bias), on(where, idx), on(where, weights),
                           {.scoring = scoring,
                            .num_groups = groups,
                            .num_topk_groups = kept,
                            .num_shared_experts = s,
                            .routed_scaling_factor = scale,
                            .ep_rank = ep_rank,
                            .num_ep_ranks = num_ep_ranks,
                            .tp_rank = tp_rank,
                            .num_tp_ranks = num_tp_ranks,
                            .mask = optional(mask),
                            .fix_routing_mask = optional(fix),
                            .to_physical_map = optional(map),
                            .logical_count = optional(counts),
                            .unmapped_topk_idx = optional(unmapped)});
  }

  kernels::Scoring scoring;
  int64_t groups, kept;
  int64_t num_ep_ranks = 4, tp_rank = 0, num_tp_ranks = 2;
};

inline void expect_top2(const Top2& g, Where where = Where::cpu) {
  const auto [t, e, k, s] = std::tuple(g.t, g.e, g.k, g.s);
  std::vector<std::vector<int64_t>> given;
  for (int64_t i = 0; i < t && g.unmapped.rank() != 0; ++i) {
    given.push_back(indices(g.unmapped.select(0, i)));
  }
  g.run(where);
  const std::vector<int64_t> all_idx = indices(g.idx);
  const std::vector<float> all_weights = floats(g.weights);
  const int64_t of_rank = (e + std::max<int64_t>(g.duplicates.most, 1) - 1) / g.num_ep_ranks;
  for (int64_t i = 0; i < t; ++i) {
    SCOPED_TRACE(format("{}: token {} of {}, k {}, shared {}, {} of {} groups, scoring {}",
                        name_of(where), i, g.logits, k, s, g.kept, g.groups,
                        static_cast<int>(g.scoring)));
    std::vector<int64_t> idx(at(k + s), -1), chosen(at(k), -1);
    std::vector<double> weights(at(k + s));
    if (is_set(g.mask, i, true)) {
      const std::vector<double> u = g.scores_of(i);
      chosen = is_set(g.fix, i, false)
                   ? given[at(i)]
                   : reference::best_of_groups(g.keys_of(i), at(k), at(g.groups), at(g.kept));
      double sum = 1e-20;
      for (const int64_t expert : chosen) sum += u[at(expert)];
      for (int64_t j = 0; j < k + s; ++j) {
        const int64_t expert = j < k ? chosen[at(j)] : e + j - k;
        idx[at(j)] = reference::local_expert(g.duplicates.physical(expert, i, g.ep_rank), of_rank,
                                             g.tp_rank, g.num_tp_ranks);
        weights[at(j)] = j < k ? u[at(expert)] / sum * static_cast<double>(g.scale) : 1;
      }
    }
    ASSERT_EQ(row(all_idx, i, k + s), idx);
    if (g.unmapped.rank() != 0) {
      ASSERT_EQ(indices(g.unmapped.select(0, i)), chosen);
    }
    for (int64_t j = 0; j < k + s; ++j) {
      const double wanted = weights[at(j)];
      ASSERT_NEAR(all_weights[at(i * (k + s) + j)], wanted, 1e-8 + 1e-5 * wanted) << "slot " << j;
    }
  }
}

}  // namespace tw::test
