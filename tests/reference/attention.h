// Attention in plain loops, in double.
#pragma once

#include <cmath>
#include <vector>

namespace tw::reference {

struct AttentionCase {
  size_t b, sq, sk, hq, hkv, d;
  double scale;
  bool causal;
  std::vector<size_t> key_lengths;  // of each entry; empty: sk
};

struct AttentionResult {
  std::vector<double> o, lse;  // [b, sq, hq, d], [b, hq, sq]
};

/// q: [b, sq, hq, d], k, v: [b, sk, hkv, d].
inline AttentionResult attention(const AttentionCase& c, const std::vector<double>& q,
                                 const std::vector<double>& k, const std::vector<double>& v) {
  AttentionResult r{std::vector<double>(q.size()), std::vector<double>(c.b * c.hq * c.sq)};
  for (size_t b = 0; b < c.b; ++b) {
    const size_t keys = c.key_lengths.empty() ? c.sk : c.key_lengths[b];
    for (size_t head = 0; head < c.hq; ++head) {
      const size_t key_head = head / (c.hq / c.hkv);
      for (size_t i = 0; i < c.sq; ++i) {
        const size_t at = ((b * c.sq + i) * c.hq + head) * c.d;
        std::vector<double> scores;
        double highest = -INFINITY, sum = 0;
        for (size_t j = 0; j < keys; ++j) {
          if (c.causal && j + c.sq > keys + i) break;
          double score = 0;
          for (size_t x = 0; x < c.d; ++x)
            score += q[at + x] * k[((b * c.sk + j) * c.hkv + key_head) * c.d + x];
          scores.push_back(score * c.scale);
          highest = std::max(highest, scores.back());
        }
        for (double& score : scores) sum += score = std::exp(score - highest);
        for (size_t j = 0; j < scores.size(); ++j) {
          for (size_t x = 0; x < c.d; ++x)
            r.o[at + x] += scores[j] / sum * v[((b * c.sk + j) * c.hkv + key_head) * c.d + x];
        }
        r.lse[(b * c.hq + head) * c.sq + i] = highest + std::log(sum);
      }
    }
  }
  return r;
}

}  // namespace tw::reference
