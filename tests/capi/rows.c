// Kernels that gather, fold, scan, select and move rows.
#include <math.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { N = 6, H = 21, V = 4 };

static void gather(const float* x) {
  int32_t index[N] = {3, 0, 0, 9, -1, 2};
  float table[V * H], y[N * H], wanted[N * H];
  fill(table, V * H, 20);
  for (int i = 0; i < N * H; ++i) {
    const int row = index[i / H];
    wanted[i] = row < 0 || row >= V ? 0 : table[row * H + i % H];
  }
  OK(tw_gather_rows(&F32(table, V, H), &I32(index, N), &F32(y, N, H), NULL));
  CLOSE(y, wanted, N * H, 0);

  float sums[V * H];
  memcpy(sums, table, sizeof sums);
  for (int i = 0; i < N; ++i) {
    if (index[i] < 0 || index[i] >= V) continue;
    for (int j = 0; j < H; ++j) sums[index[i] * H + j] += x[i * H + j];
  }
  OK(tw_scatter_add_rows(&F32((void*)x, N, H), &I32(index, N), &F32(table, V, H), NULL));
  CLOSE(table, sums, V * H, 1e-6);
}

static void pool(const float* x) {
  int64_t cu_seqlens[] = {0, 4, 4, N};
  float y[3 * H], wanted[3 * H];
  for (int normalize = 0; normalize < 2; ++normalize) {
    for (int s = 0; s < 3; ++s) {
      double square = 0;
      for (int j = 0; j < H; ++j) {
        double sum = 0;
        for (int64_t t = cu_seqlens[s]; t < cu_seqlens[s + 1]; ++t) sum += x[t * H + j];
        const double count = (double)(cu_seqlens[s + 1] - cu_seqlens[s]);
        wanted[s * H + j] = (float)(count == 0 ? 0 : sum / count);
        square += (double)wanted[s * H + j] * wanted[s * H + j];
      }
      for (int j = 0; j < H && normalize; ++j)
        wanted[s * H + j] /= (float)fmax(sqrt(square), 1e-12);
    }
    OK(tw_masked_mean_pool(&F32((void*)x, N, H), &I64(cu_seqlens, 4), &F32(y, 3, H), normalize,
                           NULL));
    CLOSE(y, wanted, 3 * H, 1e-5);
  }
}

static void folds(float* x) {
  float y[N], most[N], sums[N], scan[N * H], scanned[N * H], values[N * 3];
  int64_t first[N], where[N], indices[N * 3];
  x[2 * H + 5] = NAN;
  for (int i = 0; i < N; ++i) {
    double sum = 0;
    most[i] = -INFINITY;
    for (int j = 0; j < H; ++j) {
      sum += x[i * H + j];
      scanned[i * H + j] = (float)sum;
      if (x[i * H + j] > most[i]) {
        most[i] = x[i * H + j];
        first[i] = j;
      }
    }
    sums[i] = (float)sum;
  }
  const tw_tensor tx = F32(x, N, H);
  OK(tw_sum(&tx, &F32(y, N), NULL));
  CLOSE(y, sums, N, 1e-5);
  OK(tw_max(&tx, &F32(y, N), false, NULL));
  CLOSE(y, most, N, 0);
  OK(tw_argmax(&tx, &I64(where, N), NULL));
  SAME(where, first, N);
  OK(tw_cumsum(&tx, &F32(scan, N, H), NULL));
  CLOSE(scan, scanned, N * H, 1e-5);
  OK(tw_max(&tx, &F32(y, N), true, NULL));
  most[2] = NAN;
  CLOSE(y, most, N, 0);

  x[2 * H + 5] = 0;
  OK(tw_top_k(&tx, &F32(values, N, 3), &I64(indices, N, 3), NULL));
  for (int i = 0; i < N; ++i) {
    for (int r = 0; r < 3; ++r) {
      const float value = values[i * 3 + r];
      int larger = 0;
      for (int j = 0; j < H; ++j) larger += x[i * H + j] > value;
      CHECK(x[i * H + indices[i * 3 + r]] == value && larger == r);
    }
  }
}

static void moves(const float* x) {
  float y[N * H], wanted[N * H];
  for (int i = 0; i < N * H; ++i) wanted[i] = x[i % N * H + i / N];
  OK(tw_transpose(&F32((void*)x, N, H), &F32(y, H, N), NULL));
  CLOSE(y, wanted, N * H, 0);
  // The same as a copy from transposed strides.
  const tw_tensor columns = {.data = (void*)x,
                             .dtype = TW_F32,
                             .rank = 2,
                             .shape = {H, N},
                             .strides = {1, H},
                             .strided = true};
  memset(y, 0, sizeof y);
  OK(tw_copy(&columns, &F32(y, H, N), NULL));
  CLOSE(y, wanted, N * H, 0);
}

void test_rows(void) {
  float x[N * H];
  fill(x, N * H, 21);
  gather(x);
  pool(x);
  moves(x);
  folds(x);
}
