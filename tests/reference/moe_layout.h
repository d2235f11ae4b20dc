// The fused layout of a mixture of experts in plain loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace tw::reference {

using Ints = std::vector<int64_t>;

/// Experts of one rank of tensor parallelism, of which `of_rank` are on a rank.
inline Ints mask_indices_by_tp(Ints indices, int64_t of_rank, int64_t tp_rank, int64_t tp_ranks) {
  for (int64_t& p : indices) {
    const int64_t rank = p / of_rank;
    p = p >= 0 && rank % tp_ranks == tp_rank ? rank / tp_ranks * of_rank + p % of_rank : -1;
  }
  return indices;
}

inline Ints unique_in_rows(Ints list, int64_t topk) {
  for (size_t row = 0; row < list.size(); row += static_cast<size_t>(topk)) {
    std::set<int64_t> seen;
    for (size_t i = row; i < row + static_cast<size_t>(topk); ++i) {
      if (list[i] >= 0 && !seen.insert(list[i]).second) list[i] = -1;
    }
  }
  return list;
}

inline Ints group_count(const Ints& list, int64_t groups) {
  Ints count(static_cast<size_t>(groups));
  for (const int64_t g : list) {
    if (g >= 0) ++count[static_cast<size_t>(g)];
  }
  return count;
}

/// The maps of the fused layout; -1 is none.
struct FusedMapping {
  Ints pos_to_expert, pos_to_token, pos_to_token_topk, token_topk_to_pos;
  Ints start, end, count;  // of each expert, with its padding
};

/// Expert by expert: its pairs in the order of tokens, and none up to a multiple of the alignment.
inline FusedMapping fused_mapping(const Ints& topk_idx, int64_t topk, int64_t experts,
                                  int64_t alignment) {
  FusedMapping m;
  m.token_topk_to_pos.assign(topk_idx.size(), -1);
  for (int64_t e = 0; e < experts; ++e) {
    m.start.push_back(static_cast<int64_t>(m.pos_to_token.size()));
    const auto add = [&](int64_t expert, int64_t pair) {
      m.pos_to_expert.push_back(expert);
      m.pos_to_token.push_back(pair < 0 ? -1 : pair / topk);
      m.pos_to_token_topk.push_back(pair);
    };
    for (size_t i = 0; i < topk_idx.size(); ++i) {
      if (topk_idx[i] != e) continue;
      m.token_topk_to_pos[i] = static_cast<int64_t>(m.pos_to_token.size());
      add(e, static_cast<int64_t>(i));
    }
    while ((static_cast<int64_t>(m.pos_to_token.size()) - m.start.back()) % alignment != 0) {
      add(-1, -1);
    }
    m.end.push_back(static_cast<int64_t>(m.pos_to_token.size()));
    m.count.push_back(m.end.back() - m.start.back());
  }
  return m;
}

/// Rows of h values at the positions of their tokens, 0 at the others.
template <class T>
std::vector<T> expand_to_fused(const std::vector<T>& x, int64_t h, const Ints& pos_to_token) {
  std::vector<T> out;
  for (const int64_t token : pos_to_token) {
    for (int64_t j = 0; j < h; ++j) {
      out.push_back(token < 0 ? T() : x[static_cast<size_t>(token * h + j)]);
    }
  }
  return out;
}

struct Reduction {
  std::vector<float> weights, x_sf;  // empty: all 1
  float sf = 1;
};

/// Sums of rows of h values by their positions, one fused multiply-add after the other.
inline std::vector<float> reduce_fused(const std::vector<double>& x, int64_t h,
                                       const Ints& token_topk_to_pos, int64_t topk,
                                       const Reduction& r) {
  std::vector<float> out;
  for (size_t token = 0; token < token_topk_to_pos.size(); token += static_cast<size_t>(topk)) {
    for (int64_t j = 0; j < h; ++j) {
      float sum = 0;
      for (size_t i = token; i < token + static_cast<size_t>(topk); ++i) {
        if (token_topk_to_pos[i] < 0) continue;
        const auto pos = static_cast<size_t>(token_topk_to_pos[i]);
        float by = r.weights.empty() ? 1.0F : r.weights[i];
        if (!r.x_sf.empty()) by *= r.x_sf[pos];
        sum = std::fma(static_cast<float>(x[pos * static_cast<size_t>(h) + static_cast<size_t>(j)]),
                       by, sum);
      }
      out.push_back(sum * r.sf);
    }
  }
  return out;
}

}  // namespace tw::reference
