#include <math.h>

#include "tests/capi/testing.h"

enum { N = 5, H = 19 };

void test_elementwise(void) {
  float a[N * H], b[H], x[2 * H], y[N * H], wanted[N * H];
  fill(a, N * H, 3);
  fill(b, H, 4);
  fill(x, 2 * H, 5);
  // b broadcasts to each row, or its first element to all by strides of 0.
  const tw_tensor rows = F32(b, H),
                  same = {.data = b, .dtype = TW_F32, .rank = 1, .shape = {H}, .strided = true};
  for (int i = 0; i < N * H; ++i) wanted[i] = a[i] + b[i % H];
  OK(tw_add(&F32(a, N, H), &rows, &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 0);
  for (int i = 0; i < N * H; ++i) wanted[i] = a[i] + b[0];
  OK(tw_add(&F32(a, N, H), &same, &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 0);
  for (int i = 0; i < N * H; ++i) wanted[i] = a[i] * b[i % H];
  OK(tw_mul(&F32(a, N, H), &rows, &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 0);
  for (int i = 0; i < N * H; ++i) wanted[i] = fmaxf(a[i] + b[i % H], 0);
  OK(tw_add_relu(&F32(a, N, H), &rows, &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 0);
  for (int i = 0; i < H; ++i) wanted[i] = x[i] / (1 + expf(-x[i])) * x[H + i];
  OK(tw_silu_and_mul(&F32(x, 1, 2 * H), &F32(y, 1, H), NULL));
  CLOSE(y, wanted, H, 1e-6);
}
