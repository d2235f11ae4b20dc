#include <math.h>

#include "tests/capi/testing.h"

enum { B = 2, M = 7, N = 9, K = 11 };

// c = activation(op(a) op(b) + bias) + residual for one entry of a batch.
static void gemm(const float* a, const float* b, const tw_gemm_args* o, const float* bias,
                 const float* residual, float* c) {
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = bias == NULL ? 0 : bias[j];
      for (int l = 0; l < K; ++l) {
        sum +=
            (double)a[o->trans_a ? l * M + i : i * K + l] * b[o->trans_b ? j * K + l : l * N + j];
      }
      if (o->activation == TW_ACTIVATION_RELU) sum = fmax(sum, 0);
      if (o->activation == TW_ACTIVATION_GELU) sum = sum * (1 + erf(sum / sqrt(2))) / 2;
      if (o->activation == TW_ACTIVATION_GELU_TANH) {
        sum = sum * (1 + tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum))) / 2;
      }
      if (o->activation == TW_ACTIVATION_SILU) sum = sum / (1 + exp(-sum));
      c[i * N + j] = (float)(sum + (residual == NULL ? 0 : residual[i * N + j]));
    }
  }
}

static void fp8(void) {
  enum { Depth = 130 };  // two blocks of 128 columns
  uint8_t a[M * Depth], b[N * Depth];
  float scale_a[M * 2], scale_b[2], c[M * N], wanted[M * N];
  for (int i = 0; i < M * Depth; ++i) a[i] = (uint8_t)(i * 7 % 0x60);
  for (int i = 0; i < N * Depth; ++i) b[i] = (uint8_t)(0x80 * (i % 3 == 0) + i * 5 % 0x50);
  fill(scale_a, M * 2, 11);
  fill(scale_b, 2, 12);
  double size = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int l = 0; l < Depth; ++l) {
        sum += (double)(e4m3_value(a[i * Depth + l]) * scale_a[i * 2 + l / 128]) *
               (e4m3_value(b[j * Depth + l]) * scale_b[l / 128]);
      }
      wanted[i * N + j] = (float)sum;
      size = fmax(size, fabs(sum));
    }
  }
  OK(tw_gemm_fp8(&TENSOR(TW_E4M3, a, M, Depth), &F32(scale_a, M, 2), &TENSOR(TW_E4M3, b, N, Depth),
                 &F32(scale_b, 1, 2), &F32(c, M, N), NULL, NULL));
  for (int i = 0; i < M * N; ++i) CHECK(fabs(c[i] - wanted[i]) <= 1e-5 * size);
}

void test_gemm(void) {
  float a[B * M * K], b[B * K * N], c[B * M * N], bias[N], residual[B * M * N], wanted[B * M * N];
  fill(a, COUNT(a), 13);
  fill(b, COUNT(b), 14);
  fill(bias, N, 15);
  fill(residual, COUNT(residual), 16);
  const tw_tensor tbias = F32(bias, N), tresidual = F32(residual, M, N),
                  all_residual = F32(residual, B, M, N);

  gemm(a, b, &(tw_gemm_args){0}, NULL, NULL, wanted);
  OK(tw_gemm(&F32(a, M, K), &F32(b, K, N), &F32(c, M, N), NULL, NULL));
  CLOSE(c, wanted, M * N, 1e-5);
  for (int trans = 0; trans < 4; ++trans) {
    for (tw_activation f = TW_ACTIVATION_NONE; f <= TW_ACTIVATION_SILU; ++f) {
      tw_gemm_args args = {.trans_a = trans / 2,
                           .trans_b = trans % 2,
                           .activation = f,
                           .bias = &tbias,
                           .residual = &tresidual};
      const tw_tensor ta = args.trans_a ? F32(a, K, M) : F32(a, M, K);
      const tw_tensor tb = args.trans_b ? F32(b, N, K) : F32(b, K, N);
      gemm(a, b, &args, bias, residual, wanted);
      OK(tw_gemm(&ta, &tb, &F32(c, M, N), &args, NULL));
      CLOSE(c, wanted, M * N, 1e-5);
    }
  }

  const tw_gemm_args args = {.trans_b = true, .bias = &tbias, .residual = &all_residual};
  for (int i = 0; i < B; ++i) {
    gemm(a + i * M * K, b + i * K * N, &args, bias, residual + i * M * N, wanted + i * M * N);
  }
  OK(tw_batched_gemm(&F32(a, B, M, K), &F32(b, B, N, K), &F32(c, B, M, N), &args, NULL));
  CLOSE(c, wanted, B * M * N, 1e-5);
  fp8();
}
