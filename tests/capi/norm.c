#include <math.h>

#include "tests/capi/testing.h"

enum { N = 4, H = 33, ROW = 40 };  // rows of 33 elements begin at every 40th
static const float kEps = 1e-5F;

static void norm(const float* x, const float* w, const float* b, float* y) {
  double mean = 0, square = 0;
  if (b != NULL) {
    for (int i = 0; i < H; ++i) mean += x[i] / (double)H;
  }
  for (int i = 0; i < H; ++i) square += (x[i] - mean) * (x[i] - mean) / H;
  for (int i = 0; i < H; ++i) {
    y[i] = (float)((x[i] - mean) / sqrt(square + kEps) * w[i] + (b == NULL ? 0 : b[i]));
  }
}

void test_norm(void) {
  float x[N * ROW], residual[N * H], w[H], b[H], y[N * H], sum[N * H];
  float wanted[N * H], wanted_sum[N * H];
  fill(x, N * ROW, 6);
  fill(residual, N * H, 7);
  fill(w, H, 8);
  fill(b, H, 9);
  const tw_tensor tx = ROWS(TW_F32, x, N, H, ROW), ty = F32(y, N, H), tw = F32(w, H),
                  tb = F32(b, H), tr = F32(residual, N, H), ts = F32(sum, N, H);

  for (int i = 0; i < N; ++i) norm(x + i * ROW, w, NULL, wanted + i * H);
  OK(tw_rms_norm(&tx, &tw, kEps, &ty, NULL));
  CLOSE(y, wanted, N * H, 1e-5);
  for (int i = 0; i < N; ++i) norm(x + i * ROW, w, b, wanted + i * H);
  OK(tw_layer_norm(&tx, &tw, &tb, kEps, &ty, NULL));
  CLOSE(y, wanted, N * H, 1e-5);

  for (int i = 0; i < N * H; ++i) wanted_sum[i] = x[i / H * ROW + i % H] + residual[i];
  for (int i = 0; i < N; ++i) norm(wanted_sum + i * H, w, NULL, wanted + i * H);
  OK(tw_residual_rms_norm(&tx, &tr, &tw, kEps, &ty, &ts, NULL));
  CLOSE(y, wanted, N * H, 1e-5);
  CLOSE(sum, wanted_sum, N * H, 0);
  for (int i = 0; i < N; ++i) norm(wanted_sum + i * H, w, b, wanted + i * H);
  fill(sum, N * H, 10);
  OK(tw_residual_layer_norm(&tx, &tr, &tw, &tb, kEps, &ty, &ts, NULL));
  CLOSE(y, wanted, N * H, 1e-5);
  CLOSE(sum, wanted_sum, N * H, 0);

  for (int i = 0; i < N; ++i) {
    double total = 0;
    for (int j = 0; j < H; ++j) total += exp(0.5 * x[i * ROW + j]);
    for (int j = 0; j < H; ++j) wanted[i * H + j] = (float)(exp(0.5 * x[i * ROW + j]) / total);
  }
  OK(tw_softmax(&tx, 0.5F, &ty, NULL));
  CLOSE(y, wanted, N * H, 1e-6);
}
