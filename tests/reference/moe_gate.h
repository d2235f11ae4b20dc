// The gates of a mixture of experts in plain loops, each operation rounded to f32 as the
// specification in tilewright/kernels/moe.h says.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace tw::reference {

/// Indices of the k highest keys in order, of equal ones the lower first.
inline std::vector<int64_t> best_of(const std::vector<float>& keys, size_t k) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return keys[static_cast<size_t>(a)] > keys[static_cast<size_t>(b)];
  });
  order.resize(k);
  return order;
}

/// The sum of the one or two highest of each group of `size`.
inline std::vector<float> group_scores(const std::vector<float>& keys, size_t size, int summands) {
  std::vector<float> sums;
  for (size_t first = 0; first < keys.size(); first += size) {
    std::vector<float> group(keys.begin() + static_cast<std::ptrdiff_t>(first),
                             keys.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::sort(group.begin(), group.end(), std::greater<>());
    sums.push_back(summands == 1 ? group[0] : group[0] + group[1]);
  }
  return sums;
}

/// D of up to 32 weights.
inline float denominator(const std::vector<float>& weights) {
  std::array<float, 32> y{};
  std::copy(weights.begin(), weights.end(), y.begin());
  for (size_t s = 16; s >= 1; s /= 2) {
    for (size_t j = 0; j < s; ++j) y[j] = y[j] + y[j + s];
  }
  return y[0] + 1e-20F;
}

/// Weights of experts with these scores.
inline std::vector<float> routed_weights(const std::vector<float>& scores, float scale) {
  const float sum = denominator(scores);
  std::vector<float> weights;
  for (const float u : scores) weights.push_back((u / sum) * scale);
  return weights;
}

/// Philox 4x32 with 10 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return c;
}

/// Any `slots` of n experts for a token, and any weights.
struct Forced {
  std::vector<int64_t> ids;
  std::vector<float> weights;
};
inline Forced forced(int64_t token, int64_t slots, int64_t n, int64_t rank) {
  Forced result;
  std::vector<int64_t> left(static_cast<size_t>(n));
  std::iota(left.begin(), left.end(), int64_t{0});
  for (int64_t slot = 0; slot < slots; ++slot) {
    const auto q = static_cast<uint64_t>(32 * token + slot), r = static_cast<uint64_t>(rank);
    const auto words = philox({0, 0, static_cast<uint32_t>(q), static_cast<uint32_t>(q >> 32)},
                              {static_cast<uint32_t>(r), static_cast<uint32_t>(r >> 32)});
    const auto at = left.begin() + words[1] % static_cast<uint32_t>(n - slot);
    result.ids.push_back(*at);
    left.erase(at);
    result.weights.push_back(static_cast<float>(words[0]) * 0x1p-32F + 0x1p-33F);
  }
  return result;
}

/// Where an expert's duplicates are, `most` entries each.
struct Duplicates {
  int64_t most = 0;
  std::vector<int32_t> places, counts;

  int64_t physical(int64_t expert, int64_t token, int64_t rank) const {
    if (counts.empty()) return expert;
    return places[static_cast<size_t>(expert * most + (rank + token * 23333) %
                                                          counts[static_cast<size_t>(expert)])];
  }
  int64_t total() const { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }
};

/// The number of a physical expert on a rank of tensor parallelism, -1 on others.
inline int64_t local_expert(int64_t p, int64_t of_rank, int64_t tp_rank, int64_t num_tp_ranks) {
  const int64_t rank = p / of_rank;
  if (p < 0 || rank % num_tp_ranks != tp_rank) return -1;
  return rank / num_tp_ranks * of_rank + p % of_rank;
}

/// The k best experts of the best `kept` of so many groups; of all, where none is kept.
inline std::vector<int64_t> best_of_groups(std::vector<float> keys, size_t k, size_t groups,
                                           size_t kept) {
  if (kept == 0 || kept == groups) return best_of(keys, k);
  const size_t size = keys.size() / groups;
  std::vector<bool> stays(groups);
  for (const int64_t g : best_of(group_scores(keys, size, 2), kept)) {
    stays[static_cast<size_t>(g)] = true;
  }
  for (size_t e = 0; e < keys.size(); ++e) {
    if (!stays[e / size]) keys[e] = -std::numeric_limits<float>::infinity();
  }
  return best_of(keys, k);
}

/// The gradient of one token's logits, in f64: of the chosen experts' weights, and of h, that with
/// respect to u / sum(u), unless it is empty.
struct GateGradient {
  std::vector<float> u, weights, grad_weights, h;
  std::vector<int64_t> idx;
  double scale;
  bool counts;  // for h

  std::vector<double> logits() const {
    const auto score = [&](int64_t e) { return static_cast<double>(u[static_cast<size_t>(e)]); };
    double sum = 1e-20, dot = 0, all = 0, mean = 0;
    for (size_t j = 0; j < idx.size(); ++j) {
      if (idx[j] < 0) continue;
      sum += score(idx[j]);
      dot += static_cast<double>(grad_weights[j]) * weights[j];
    }
    std::vector<double> a(u.size());
    for (size_t j = 0; j < idx.size(); ++j) {
      if (idx[j] >= 0) a[static_cast<size_t>(idx[j])] += (scale * grad_weights[j] - dot) / sum;
    }
    for (size_t e = 0; e < h.size(); ++e) {
      all += u[e];
      mean += static_cast<double>(h[e]) * u[e];
    }
    for (size_t e = 0; e < u.size(); ++e) {
      const double y = u[e];
      if (!h.empty() && counts) a[e] += (h[e] - mean / all) / all;
      a[e] = y == 0 ? 0 : a[e] * -std::expm1(-y * y) / (2 * y);
    }
    return a;
  }
};

}  // namespace tw::reference
