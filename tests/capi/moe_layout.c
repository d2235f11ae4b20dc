// Numbers of experts, and the fused layout: maps, rows that go there, sums that come back.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { T = 5, TopK = 2, Experts = 4, Alignment = 4 };

static const int64_t kChosen[T * TopK] = {0, 2, 2, -1, 1, 0, 2, 0, -1, -1};

static void numbers(void) {
  // 8 experts on 4 ranks; of tensor parallelism, 1 of 2, which has the ranks 1 and 3.
  int64_t indices[8] = {0, 1, 2, 3, 4, 6, 7, -1}, out[8];
  const int64_t wanted[8] = {-1, -1, 0, 1, -1, 2, 3, -1};
  const tw_tp_ranks ranks = {.n = 8, .num_ep_ranks = 4, .tp_rank = 1, .num_tp_ranks = 2};
  OK(tw_mask_indices_by_tp(&I64(indices, 2, 4), &ranks, &I64(out, 2, 4), NULL));
  SAME(out, wanted, 8);

  int64_t groups[8] = {3, 1, 3, 1, 2, -1, 2, 0};
  const int64_t unique[8] = {3, 1, -1, -1, 2, -1, -1, 0};
  OK(tw_inplace_unique_group_indices(&I64(groups, 2, 4), 4, NULL));
  SAME(groups, unique, 8);

  int32_t counts[Experts], counted[Experts] = {0};
  float fractions[Experts], wanted_fractions[Experts];
  for (int i = 0; i < T * TopK; ++i) {
    if (kChosen[i] >= 0) ++counted[kChosen[i]];
  }
  for (int e = 0; e < Experts; ++e) wanted_fractions[e] = (float)(counted[e] * Experts) / (T * 3);
  const tw_tensor chosen = I64((void*)kChosen, T, TopK);
  OK(tw_group_count(&chosen, &I32(counts, Experts), NULL));
  SAME(counts, counted, Experts);
  OK(tw_aux_fi(&chosen, 3, &F32(fractions, Experts), NULL));
  CLOSE(fractions, wanted_fractions, Experts, 0);
}

// The maps of kChosen, by the definition: experts one after the other, in each the pairs in order.
enum { Most = (T * TopK + (Alignment - 1) * Experts) / Alignment * Alignment };
typedef struct maps {
  int32_t expert[Most], token[Most], pair[Most], position[T * TopK];
  int32_t start[Experts], end[Experts], rows[Experts];
} maps;

static void make_maps(maps* m) {
  memset(m, -1, sizeof *m);
  int next = 0;
  for (int e = 0; e < Experts; ++e) {
    m->start[e] = next;
    for (int i = 0; i < T * TopK; ++i) {
      if (kChosen[i] != e) continue;
      m->expert[next] = e;
      m->token[next] = i / TopK;
      m->pair[next] = i;
      m->position[i] = next++;
    }
    m->rows[e] = next - m->start[e];
    while (next % Alignment != 0) ++next;
    m->end[e] = next;
    m->rows[e] = m->end[e] - m->start[e];
  }
}

static void layout(maps* got) {
  int64_t most = 0;
  OK(tw_most_fused_rows(T * TopK, Experts, Alignment, &most));
  CHECK(most == Most);
  tw_tensor scratch = {0};
  OK(tw_fused_mapping_scratch(T * TopK, Experts, &scratch));
  CHECK(scratch.rank == 2);
  scratch.data = malloc((size_t)(scratch.shape[0] * scratch.shape[1]) * sizeof(int32_t));
  const tw_tensor expert = I32(got->expert, Most), token = I32(got->token, Most),
                  pair = I32(got->pair, Most), position = I32(got->position, T, TopK),
                  start = I32(got->start, Experts), end = I32(got->end, Experts),
                  rows = I32(got->rows, Experts);
  const tw_fused_mapping m = {&expert, &token, &pair, &position, &start, &end, &rows};
  OK(tw_get_fused_mapping(&I64((void*)kChosen, T, TopK), Alignment, &m, &scratch, NULL));
  free(scratch.data);
  maps wanted;
  make_maps(&wanted);
  SAME(got->expert, wanted.expert, Most);
  SAME(got->token, wanted.token, Most);
  SAME(got->pair, wanted.pair, Most);
  SAME(got->position, wanted.position, T * TopK);
  SAME(got->start, wanted.start, Experts);
  SAME(got->end, wanted.end, Experts);
  SAME(got->rows, wanted.rows, Experts);
}

static void there_and_back(maps* m) {
  enum { H = 256, Factors = H / 128 };
  static float x[T * H], sf[T * Factors], out[Most * H], out_sf[Most * Factors], back[T * H],
      wanted[Most * H], wanted_sf[Most * Factors];
  float weights[T * TopK], x_sf[Most];
  fill(x, T * H, 24);
  fill(sf, T * Factors, 25);
  fill(weights, T * TopK, 26);
  fill(x_sf, Most, 27);
  const tw_tensor position = I32(m->position, T, TopK), expert = I32(m->expert, Most),
                  tx = F32(x, T, H), tout = F32(out, Most, H);
  for (int p = 0; p < Most; ++p) {
    for (int j = 0; j < H; ++j) wanted[p * H + j] = m->token[p] < 0 ? 0 : x[m->token[p] * H + j];
    for (int j = 0; j < Factors; ++j) {
      wanted_sf[p * Factors + j] = m->token[p] < 0 ? 0 : sf[m->token[p] * Factors + j];
    }
  }
  OK(tw_expand_to_fused(&tx, &position, &expert, &tout, NULL));
  CLOSE(out, wanted, Most * H, 0);
  fill(out, Most * H, 28);
  OK(tw_expand_to_fused_with_sf(&tx, &F32(sf, T, Factors), 128, &position, &expert, &tout,
                                &F32(out_sf, Most, Factors), NULL));
  CLOSE(out, wanted, Most * H, 0);
  CLOSE(out_sf, wanted_sf, Most * Factors, 0);

  const tw_tensor tweights = F32(weights, T, TopK), tx_sf = F32(x_sf, Most);
  for (int options = 0; options < 2; ++options) {
    for (int i = 0; i < T * H; ++i) {
      double sum = 0;
      for (int k = 0; k < TopK; ++k) {
        const int pair = i / H * TopK + k, p = m->position[pair];
        if (p >= 0) sum += (options ? weights[pair] * x_sf[p] : 1) * out[p * H + i % H];
      }
      wanted[i] = (float)sum;
    }
    const tw_reduce_fused_args args = {.topk_weights = &tweights, .x_sf = &tx_sf};
    OK(tw_reduce_fused(&tout, &position, &F32(back, T, H), options ? &args : NULL, NULL));
    CLOSE(back, wanted, T * H, 1e-6);
  }
  // One factor for all of the result, in e4m3.
  float factor[1] = {8};
  uint8_t codes[T * H], wanted_codes[T * H];
  const tw_tensor tfactor = F32(factor, 1);
  for (int i = 0; i < T * H; ++i) {
    float sum = 0;
    for (int k = 0; k < TopK; ++k) {
      const int p = m->position[i / H * TopK + k];
      if (p >= 0) sum += out[p * H + i % H];
    }
    wanted_codes[i] = e4m3_of(sum * 8);
  }
  OK(tw_reduce_fused(&tout, &position, &TENSOR(TW_E4M3, codes, T, H),
                     &(tw_reduce_fused_args){.sf = &tfactor}, NULL));
  SAME(codes, wanted_codes, T * H);
}

void test_moe_layout(void) {
  numbers();
  maps m;
  layout(&m);
  there_and_back(&m);
}
