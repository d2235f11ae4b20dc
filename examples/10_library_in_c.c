// Lesson 10: the library from C. One layer of a language model's router: a norm, a product with the
// experts' weights, and the choice of two experts for each token.
//
// Prints the experts of each token with their weights, and the error of a call that can't be.
#include <math.h>
#include <stdio.h>

#include "tilewright/capi/tilewright.h"

enum { kTokens = 4, kHidden = 64, kExperts = 8, kChosen = 2 };

// A function of the library gives a status; what went wrong is a text.
static int failed(tw_status status) {
  if (status == TW_OK) return 0;
  fprintf(stderr, "%s: %s\n", tw_status_text(status), tw_last_error());
  return 1;
}

int main(void) {
  static float x[kTokens * kHidden], w[kHidden], experts[kExperts * kHidden];
  static float hidden[kTokens * kHidden], logits[kTokens * kExperts], weights[kTokens * kChosen];
  static int64_t idx[kTokens * kChosen];
  for (int i = 0; i < kTokens * kHidden; ++i) x[i] = sinf((float)(i * i));
  for (int i = 0; i < kHidden; ++i) w[i] = 1;
  for (int i = 0; i < kExperts * kHidden; ++i) experts[i] = cosf((float)(3 * i * i));

  // A tensor is a view of memory of yours: row-major without gaps, where nothing else is said.
  const tw_tensor tx = {.data = x, .dtype = TW_F32, .rank = 2, .shape = {kTokens, kHidden}};
  const tw_tensor tw = {.data = w, .dtype = TW_F32, .rank = 1, .shape = {kHidden}};
  const tw_tensor te = {.data = experts, .dtype = TW_F32, .rank = 2, .shape = {kExperts, kHidden}};
  // Outputs are yours, too, and say by their shapes how much is wanted: two experts a token.
  const tw_tensor th = {.data = hidden, .dtype = TW_F32, .rank = 2, .shape = {kTokens, kHidden}};
  const tw_tensor tl = {.data = logits, .dtype = TW_F32, .rank = 2, .shape = {kTokens, kExperts}};
  const tw_tensor ti = {.data = idx, .dtype = TW_I64, .rank = 2, .shape = {kTokens, kChosen}};
  const tw_tensor ts = {.data = weights, .dtype = TW_F32, .rank = 2, .shape = {kTokens, kChosen}};

  // Options are structs in which 0 is what is usual. The last argument is a stream: a CPU has none.
  const tw_gemm_args gemm = {.trans_b = true};
  const tw_moe_topk_gate_args gate = {.routed_scaling_factor = 2.5F};
  if (failed(tw_rms_norm(&tx, &tw, 1e-6F, &th, NULL)) ||
      failed(tw_gemm(&th, &te, &tl, &gemm, NULL)) ||
      failed(tw_moe_topk_gate_forward(&tl, &ti, &ts, &gate, NULL))) {
    return 1;
  }
  int wrong = 0;
  for (int t = 0; t < kTokens; ++t) {
    const int64_t* best = idx + t * kChosen;
    const float* share = weights + t * kChosen;
    printf("token %d: expert %d with %.3f, expert %d with %.3f\n", t, (int)best[0], share[0],
           (int)best[1], share[1]);
    wrong += fabsf(share[0] + share[1] - 2.5F) > 1e-5F;
    for (int e = 0; e < kExperts; ++e) {
      wrong += e != best[0] && logits[t * kExperts + e] > logits[t * kExperts + best[0]];
    }
  }

  // A wrong call writes nothing, and says what is wrong and what is needed.
  const tw_status status = tw_rms_norm(&tx, &te, 1e-6F, &th, NULL);
  printf("%s: %s\n", tw_status_text(status), tw_last_error());
  return wrong == 0 && status == TW_INVALID_ARGUMENT ? 0 : 1;
}
