#include <math.h>

#include "tests/capi/testing.h"

enum { N = 3, H = 37 };

static float relu(float x) { return x > 0 ? x : 0; }
static float gelu(float x) { return x * (1 + erff(x * 0.70710678F)) / 2; }
static float gelu_tanh(float x) {
  return x * (1 + tanhf(0.79788456F * (x + 0.044715F * x * x * x))) / 2;
}
static float silu(float x) { return x / (1 + expf(-x)); }
static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

void test_activation(void) {
  static const struct {
    tw_status (*of_tensors)(const tw_tensor*, const tw_tensor*, tw_stream);
    float (*of_number)(float);
  } kFunctions[] = {
      {tw_relu, relu}, {tw_gelu, gelu},       {tw_gelu_tanh, gelu_tanh},
      {tw_silu, silu}, {tw_sigmoid, sigmoid},
  };
  float x[N * H], y[N * H], gate[N * H], wanted[N * H];
  fill(x, N * H, 1);
  fill(gate, N * H, 2);
  for (int f = 0; f < COUNT(kFunctions); ++f) {
    for (int i = 0; i < N * H; ++i) wanted[i] = kFunctions[f].of_number(x[i]);
    OK(kFunctions[f].of_tensors(&F32(x, N, H), &F32(y, N, H), NULL));
    CLOSE(y, wanted, N * H, 1e-6);
  }
  for (int i = 0; i < N * H; ++i) wanted[i] = silu(gate[i]) * x[i];
  OK(tw_silu_mul(&F32(gate, N, H), &F32(x, N, H), &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 1e-6);
}
