// Gates: which experts a token goes to, and with what weights.
#include <math.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { T = 6, E = 16, K = 3, G = 4 };

// The k largest of n keys, in order; of equal ones the first.
static void best(const float* keys, int n, int k, int64_t* where) {
  bool taken[E] = {false};
  for (int r = 0; r < k; ++r) {
    int found = -1;
    for (int i = 0; i < n; ++i) {
      if (!taken[i] && (found < 0 || keys[i] > keys[found])) found = i;
    }
    taken[found] = true;
    where[r] = found;
  }
}

static float sqrtsoftplus(float x) { return (float)sqrt(x > 20 ? x : log1p(exp(x))); }
static float sigmoid(float x) { return (float)(1 / (1 + exp(-x))); }

static void choices(float* scores) {
  int64_t idx[T * K], wanted[T * K], groups[T * 2], wanted_groups[T * 2];
  for (int t = 0; t < T; ++t) best(scores + t * E, E, K, wanted + t * K);
  OK(tw_topk_gate(&F32(scores, T, E), &I64(idx, T, K), NULL));
  SAME(idx, wanted, T * K);
  for (int sums = 1; sums <= 2; ++sums) {
    for (int t = 0; t < T; ++t) {
      float keys[G];
      for (int g = 0; g < G; ++g) {
        const float* group = scores + t * E + g * (E / G);
        int64_t two[2];
        best(group, E / G, 2, two);
        keys[g] = group[two[0]] + (sums == 2 ? group[two[1]] : 0);
      }
      best(keys, G, 2, wanted_groups + t * 2);
    }
    OK(tw_topk_sum_and_topk_group_idx(&F32(scores, T, G, E / G), sums, &I64(groups, T, 2), NULL));
    SAME(groups, wanted_groups, T * 2);
  }
}

// The choice by score(logit) + bias among groups that are kept, and the shares of the chosen.
static void gate(const float* logits, const float* bias, float (*score)(float), int keep_groups,
                 float factor, int64_t* idx, float* weights) {
  float u[E], keys[E], sums[G];
  for (int e = 0; e < E; ++e) {
    u[e] = score(logits[e]);
    keys[e] = u[e] + bias[e];
  }
  for (int g = 0; g < G; ++g) {
    int64_t two[2];
    best(keys + g * (E / G), E / G, 2, two);
    sums[g] = keys[g * (E / G) + two[0]] + keys[g * (E / G) + two[1]];
  }
  int64_t kept[G];
  best(sums, G, keep_groups, kept);
  for (int e = 0; e < E; ++e) {
    bool is_kept = false;
    for (int g = 0; g < keep_groups; ++g) is_kept = is_kept || kept[g] == e / (E / G);
    if (!is_kept) keys[e] = -INFINITY;
  }
  best(keys, E, K, idx);
  double total = 1e-20;
  for (int r = 0; r < K; ++r) total += u[idx[r]];
  for (int r = 0; r < K; ++r) weights[r] = (float)(u[idx[r]] / total * factor);
}

static void gates(float* logits, float* bias) {
  enum { Wide = K + 1 };  // with a shared expert
  int64_t idx[T * Wide], wanted[T * Wide];
  float weights[T * Wide], wanted_weights[T * Wide], scores[T * E], wanted_scores[T * E];
  bool mask[T] = {true, true, false, true, true, true};
  const tw_tensor tlogits = F32(logits, T, E), tbias = F32(bias, E),
                  tmask = TENSOR(TW_BOOL, mask, T), tscores = F32(scores, T, E);
  for (int t = 0; t < T; ++t) {
    gate(logits + t * E, bias, sqrtsoftplus, G, 2.5F, wanted + t * Wide, wanted_weights + t * Wide);
    wanted[t * Wide + K] = E;
    wanted_weights[t * Wide + K] = 1;
    for (int r = 0; r < Wide && !mask[t]; ++r) {
      wanted[t * Wide + r] = -1;
      wanted_weights[t * Wide + r] = 0;
    }
    for (int e = 0; e < E; ++e) {
      wanted_scores[t * E + e] = mask[t] ? sqrtsoftplus(logits[t * E + e]) : 0;
    }
  }
  const tw_moe_topk_gate_args args = {.num_shared_experts = 1,
                                      .routed_scaling_factor = 2.5F,
                                      .mask = &tmask,
                                      .bias = &tbias,
                                      .scores = &tscores};
  OK(tw_moe_topk_gate_forward(&tlogits, &I64(idx, T, Wide), &F32(weights, T, Wide), &args, NULL));
  SAME(idx, wanted, T * Wide);
  CLOSE(weights, wanted_weights, T * Wide, 1e-5);
  CLOSE(scores, wanted_scores, T * E, 1e-5);

  const tw_top2_sum_gate_args groups = {.num_groups = G, .num_topk_groups = 2};
  for (int t = 0; t < T; ++t) {
    gate(logits + t * E, bias, sigmoid, 2, 1, wanted + t * K, wanted_weights + t * K);
  }
  OK(tw_top2_sum_gate(&tlogits, &tbias, &I64(idx, T, K), &F32(weights, T, K), &groups, NULL));
  SAME(idx, wanted, T * K);
  CLOSE(weights, wanted_weights, T * K, 1e-5);
}

static void backward(float* logits) {
  int64_t idx[T * K];
  float u[T * E], weights[T * K], grad_weights[T * K], grad[T * E], wanted[T * E];
  float zeros[E] = {0};
  fill(grad_weights, T * K, 31);
  for (int t = 0; t < T; ++t) {
    gate(logits + t * E, zeros, sqrtsoftplus, G, 2, idx + t * K, weights + t * K);
    double total = 1e-20, dot = 0, a[E] = {0};
    for (int e = 0; e < E; ++e) u[t * E + e] = sqrtsoftplus(logits[t * E + e]);
    for (int r = 0; r < K; ++r) {
      total += u[t * E + idx[t * K + r]];
      dot += (double)grad_weights[t * K + r] * weights[t * K + r];
    }
    for (int r = 0; r < K; ++r) a[idx[t * K + r]] = (2 * grad_weights[t * K + r] - dot) / total;
    for (int e = 0; e < E; ++e) {
      const double s = u[t * E + e];
      wanted[t * E + e] = (float)(a[e] * (1 - exp(-s * s)) / (2 * s));
    }
  }
  OK(tw_moe_topk_gate_backward(
      &F32(u, T, E), &I64(idx, T, K), &F32(weights, T, K), &F32(grad_weights, T, K),
      &F32(grad, T, E), &(tw_moe_topk_gate_backward_args){.routed_scaling_factor = 2}, NULL));
  CLOSE(grad, wanted, T * E, 1e-5);
}

static void shares(void) {
  enum { Wide = 40 };
  float weights[T * Wide], sums[T], normalized[T * Wide], wanted_sums[T], wanted[T * Wide];
  fill(weights, T * Wide, 32);
  for (int i = 0; i < T * Wide; ++i) weights[i] += 2;
  for (int t = 0; t < T; ++t) {
    double sum = 1e-20;
    for (int i = 0; i < Wide; ++i) sum += weights[t * Wide + i];
    wanted_sums[t] = (float)sum;
    for (int i = 0; i < Wide; ++i) wanted[t * Wide + i] = (float)(weights[t * Wide + i] / sum);
  }
  OK(tw_normalize_weight(&F32(weights, T, Wide), &F32(sums, T), &F32(normalized, T, Wide),
                         &(tw_normalize_weight_args){.wide_rows = true}, NULL));
  CLOSE(sums, wanted_sums, T, 1e-5);
  CLOSE(normalized, wanted, T * Wide, 1e-5);
}

void test_moe_gate(void) {
  float logits[T * E], bias[E];
  fill(logits, T * E, 29);
  fill(bias, E, 30);
  choices(logits);
  gates(logits, bias);
  backward(logits);
  shares();
}
