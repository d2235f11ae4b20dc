// Checks of moe_topk_gate_forward and moe_topk_gate_backward beside plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/moe_gate_testing.h"
#include "tilewright/base/format.h"

namespace tw::test {

/// sqrt(softplus(x)) of the exact x.
inline double exact_score(float x) {
  return std::sqrt(std::max<double>(x, 0) +
                   std::log1p(std::exp(-std::abs(static_cast<double>(x)))));
}

inline double ulp(double x) {
  const auto f = static_cast<float>(x);
  return std::nextafter(f, std::numeric_limits<float>::infinity()) - static_cast<double>(f);
}

/// Runs it. Choices and weights are bitwise those of the scores, which the call gives.
inline void expect_gate(Gate& g, Where where = Where::cpu) {
  const auto [t, e, k, s] = std::tuple(g.t, g.e, g.k, g.s);
  const auto at = [](const auto& list, int64_t i) { return list[static_cast<size_t>(i)]; };
  std::vector<std::vector<int64_t>> given;
  for (int64_t i = 0; i < t && g.unmapped.rank() != 0; ++i) {
    given.push_back(indices(g.unmapped.select(0, i)));
  }
  g.run(where);
  const std::vector<float> scores = floats(g.scores), all_weights = floats(g.weights);
  const std::vector<int64_t> all_idx = indices(g.idx);
  for (int64_t i = 0; i < t; ++i) {
    SCOPED_TRACE(format("{}: token {} of {}, k {}, shared {}", name_of(where), i, g.logits, k, s));
    std::vector<int64_t> idx, chosen(static_cast<size_t>(k), -1);
    std::vector<float> weights;
    const std::vector<float> u = row(scores, i, e);
    bool has_scores = false;
    if (!is_set(g.mask, i, true)) {
      idx.assign(static_cast<size_t>(k + s), -1);
      weights.assign(static_cast<size_t>(k + s), 0.0F);
    } else if (is_set(g.force, i, false)) {
      const int64_t n = g.duplicates.most > 0 ? g.duplicates.total() : e + s;
      const reference::Forced any = reference::forced(i, k + s, n, g.ep_rank);
      idx = any.ids;
      weights = any.weights;
    } else {
      has_scores = true;
      std::vector<float> keys = u;
      for (int64_t j = 0; j < e; ++j) {
        const Tensor& bias = is_set(g.image, i, false) ? g.image_bias.view() : g.bias.view();
        if (bias.rank() != 0) keys[static_cast<size_t>(j)] = at(u, j) + bias.data_as<float>()[j];
      }
      chosen =
          is_set(g.fix, i, false) ? at(given, i) : reference::best_of(keys, static_cast<size_t>(k));
      std::vector<float> of_chosen;
      for (const int64_t expert : chosen) of_chosen.push_back(at(u, expert));
      weights = reference::routed_weights(of_chosen, g.scale);
      idx = chosen;
      for (int64_t j = 0; j < s; ++j) {
        idx.push_back(e + j);
        weights.push_back(1);
      }
      for (int64_t& id : idx) id = g.duplicates.physical(id, i, g.ep_rank);
    }
    ASSERT_EQ(row(all_idx, i, k + s), idx);
    ASSERT_EQ(row(all_weights, i, k + s), weights);
    if (g.unmapped.rank() != 0) {
      ASSERT_EQ(indices(g.unmapped.select(0, i)), chosen);
    }
    for (int64_t j = 0; j < e; ++j) {
      const double wanted = has_scores ? exact_score(g.logits->data_as<float>()[i * e + j]) : 0;
      ASSERT_NEAR(at(u, j), wanted, 4 * ulp(wanted) * (wanted != 0)) << "expert " << j;
    }
  }
}

/// All options of a call, in turn.
inline With some_options(size_t n) {
  const auto bit = [&](int i) { return (n >> i & 1) != 0; };
  return {.mask = bit(0),
          .bias = bit(1),
          .image = bit(2),
          .fix = bit(3),
          .map = bit(4),
          .unmapped = bit(5),
          .force = bit(6)};
}

/// What a call of the backward gets of a forward, and its results.
struct Backward {
  Backward(int64_t t_, int64_t e_, int64_t k_, int64_t sequences_ = 0, double spread = 4)
      : t(t_), e(e_), k(k_), sequences(sequences_) {
    Gate gate(t, e, k, 0, {.unmapped = true});
    gate.logits = random_tensor(f32, {t, e}, 1, -spread, spread);
    gate.run();
    scores = std::move(gate.scores);
    idx = std::move(gate.idx);
    weights = std::move(gate.weights);
    grad = random_tensor(f32, {t, k}, 5);
    if (sequences == 0) return;
    sums = random_tensor(f32, {sequences, e}, 6);
    mask = OwnedTensor(bool_, {t});
    for (int64_t i = 0; i < t; ++i) mask->data_as<bool>()[i] = true;
  }
  /// As the forward leaves a token that its mask excludes.
  void exclude(int64_t token) {
    assign(scores->slice(0, token, 1), std::vector<double>(static_cast<size_t>(e), 0));
    assign(idx->slice(0, token, 1), std::vector<double>(static_cast<size_t>(k), -1));
    assign(weights->slice(0, token, 1), std::vector<double>(static_cast<size_t>(k), 0));
    if (mask->rank() != 0) mask->data_as<bool>()[token] = false;
  }
  /// Of the first experts alone, of which there may be any number; indices stay.
  void use_experts(int64_t experts) {
    e = experts;
    const std::vector<double> first = values(scores->slice(1, 0, e));
    scores = OwnedTensor(f32, {t, e});
    assign(scores, first);
    if (sequences > 0) sums = random_tensor(f32, {sequences, e}, 6);
  }

  std::vector<float> run(Where where = Where::cpu) const {
    const OwnedTensor out = filled_tensor(f32, {t, e}, 77);
    const bool aux = sums->rank() != 0;
    const Tensor h = aux ? on(where, sums) : Tensor(), m = aux ? on(where, mask) : Tensor();
    kernels::moe_topk_gate_backward(on(where, scores), on(where, idx), on(where, weights),
                                    on(where, grad), on(where, out),
                                    {.routed_scaling_factor = scale,
                                     .grad_scores_sum = aux ? &h : nullptr,
                                     .mask = aux ? &m : nullptr});
    return floats(out);
  }
  std::vector<double> wanted() const {
    std::vector<double> all;
    const auto u = floats(scores), w = floats(weights), g = floats(grad);
    const auto chosen = indices(idx);
    for (int64_t i = 0; i < t; ++i) {
      const reference::GateGradient one{
          row(u, i, e),
          row(w, i, k),
          row(g, i, k),
          sequences == 0 ? std::vector<float>() : row(floats(sums), i / (t / sequences), e),
          row(chosen, i, k),
          scale,
          is_set(mask, i, true)};
      const std::vector<double> token = one.logits();
      all.insert(all.end(), token.begin(), token.end());
    }
    return all;
  }

  int64_t t, e, k, sequences;
  float scale = 1.5F;
  OwnedTensor scores, idx, weights, grad, sums, mask;
};

inline void expect_backward(const Backward& b, Where where = Where::cpu) {
  const std::vector<double> wanted = b.wanted();
  const std::vector<float> found = b.run(where);
  double most = 0;
  for (const double x : wanted) most = std::max(most, std::abs(x));
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], 1e-5 * most + 1e-5 * std::abs(wanted[i])) << format(
        "{}: {} of {}, k {}, {} sequences", name_of(where), i, b.scores, b.k, b.sequences);
  }
}

}  // namespace tw::test
