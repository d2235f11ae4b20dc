#include <math.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { B = 2, SQ = 5, SK = 7, HQ = 4, HKV = 2, D = 8 };

// One head of one sequence; rows of q, k, v and o begin every `heads` * D elements.
static void head(const float* q, const float* k, const float* v, float* o, float* lse, int sq,
                 int sk, double scale, bool causal) {
  for (int i = 0; i < sq; ++i) {
    double terms[SK], total = 0, sums[D] = {0};
    for (int j = 0; j < sk; ++j) {
      double score = 0;
      for (int d = 0; d < D; ++d) score += (double)q[i * HQ * D + d] * k[j * HKV * D + d];
      terms[j] = causal && j > i + sk - sq ? 0 : exp(scale * score);
      total += terms[j];
      for (int d = 0; d < D; ++d) sums[d] += terms[j] * v[j * HKV * D + d];
    }
    for (int d = 0; d < D; ++d) o[i * HQ * D + d] = (float)(total == 0 ? 0 : sums[d] / total);
    lse[i] = (float)log(total);  // of 0: -inf
  }
}

void test_attention(void) {
  float q[B * SQ * HQ * D], k[B * SK * HKV * D], v[B * SK * HKV * D], o[B * SQ * HQ * D];
  float lse[B * HQ * SQ], wanted[B * SQ * HQ * D], wanted_lse[B * HQ * SQ];
  int32_t lengths[B] = {4, 7};
  fill(q, COUNT(q), 17);
  fill(k, COUNT(k), 18);
  fill(v, COUNT(v), 19);
  const tw_tensor tq = F32(q, B, SQ, HQ, D), tk = F32(k, B, SK, HKV, D), tv = F32(v, B, SK, HKV, D),
                  to = F32(o, B, SQ, HQ, D), tlse = F32(lse, B, HQ, SQ), tl = I32(lengths, B);
  for (int options = 0; options < 2; ++options) {
    for (int b = 0; b < B; ++b) {
      for (int h = 0; h < HQ; ++h) {
        const int kv = b * SK * HKV * D + h / (HQ / HKV) * D, at = b * SQ * HQ * D + h * D;
        head(q + at, k + kv, v + kv, wanted + at, wanted_lse + (b * HQ + h) * SQ, SQ,
             options ? lengths[b] : SK, options ? 0.25 : 1 / sqrt(D), options);
      }
    }
    const tw_attention_args args = {
        .scale = 0.25F, .causal = true, .key_lengths = &tl, .lse = &tlse};
    OK(tw_attention(&tq, &tk, &tv, &to, options ? &args : NULL, NULL));
    CLOSE(o, wanted, COUNT(o), 1e-5);
    if (options) CLOSE(lse, wanted_lse, COUNT(lse), 1e-5);
  }

  enum { Tokens = 6 };  // of sequences with 2 and 4 tokens; lse: [hq, tokens]
  int64_t cu_seqlens[] = {0, 2, Tokens};
  for (int s = 0; s < 2; ++s) {
    const int first = (int)cu_seqlens[s], count = (int)cu_seqlens[s + 1] - first;
    for (int h = 0; h < HQ; ++h) {
      const int kv = first * HKV * D + h / (HQ / HKV) * D, at = first * HQ * D + h * D;
      head(q + at, k + kv, v + kv, wanted + at, wanted_lse + h * Tokens + first, count, count,
           1 / sqrt(D), true);
    }
  }
  const tw_tensor packed_lse = F32(lse, HQ, Tokens);
  const tw_attention_args args = {.causal = true, .lse = &packed_lse};
  OK(tw_attention_packed(&F32(q, Tokens, HQ, D), &F32(k, Tokens, HKV, D), &F32(v, Tokens, HKV, D),
                         &I64(cu_seqlens, 3), 4, &F32(o, Tokens, HQ, D), &args, NULL));
  CLOSE(o, wanted, Tokens * HQ * D, 1e-5);
  CLOSE(lse, wanted_lse, HQ * Tokens, 1e-5);
}
