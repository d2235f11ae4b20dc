#include <math.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { M = 40, K = 160 };  // two groups of 128 in a row and two of 32 in a column, the last shorter

// Codes and factors of x in blocks of rows x columns: sf = a / 448, code = x * (448 / a).
static void cast_blocks(const float* x, int rows, int columns, uint8_t* q, float* sf) {
  const int across = (K + columns - 1) / columns, down = (M + rows - 1) / rows;
  for (int b = 0; b < down * across; ++b) {
    const int top = b / across * rows, left = b % across * columns;
    float amax = 1e-4F;
    for (int i = top; i < M && i < top + rows; ++i) {
      for (int j = left; j < K && j < left + columns; ++j) amax = fmaxf(amax, fabsf(x[i * K + j]));
    }
    sf[b] = amax / 448;
    const float inverse = 448 / amax;
    for (int i = top; i < M && i < top + rows; ++i) {
      for (int j = left; j < K && j < left + columns; ++j) {
        q[i * K + j] = e4m3_of(x[i * K + j] * inverse);
      }
    }
  }
}

static uint8_t q[M * K], wanted_q[M * K];
static float x[M * K], y[M * K], wanted[M * K], sf[M * K], wanted_sf[M * K];

static void by_tokens(void) {
  const tw_tensor tx = F32(x, M, K), tq = TENSOR(TW_E4M3, q, M, K), tsf = F32(sf, M, 2);
  cast_blocks(x, 1, 128, wanted_q, wanted_sf);
  OK(tw_per_token_cast(&tx, &tq, &tsf, NULL, NULL));
  SAME(q, wanted_q, M * K);
  CLOSE(sf, wanted_sf, M * 2, 0);
  for (int i = 0; i < M * K; ++i) wanted[i] = e4m3_value(q[i]) * sf[i / K * 2 + i % K / 128];
  OK(tw_cast_back(&tq, &tsf, &F32(y, M, K), NULL, NULL));
  CLOSE(y, wanted, M * K, 0);

  cast_blocks(x, 1, 32, wanted_q, wanted_sf);
  const tw_token_cast_args narrow = {.group = 32};
  memset(sf, 0, sizeof sf);
  OK(tw_per_token_cast_with_sf_only(&tx, TW_E4M3, &F32(sf, M, 5), &narrow, NULL));
  CLOSE(sf, wanted_sf, M * 5, 0);
  for (int i = 0; i < M * K; ++i) {
    wanted_q[i] = e4m3_of(x[i] * (1 / sf[i / K * 5 + i % K / 32]));
  }
  OK(tw_per_token_cast_with_precomputed_sf(&tx, &F32(sf, M, 5), &tq, &narrow, NULL));
  SAME(q, wanted_q, M * K);

  // There and back in place.
  memcpy(y, x, sizeof x);
  OK(tw_per_token_cast(&tx, &tq, &F32(sf, M, 5), &narrow, NULL));
  for (int i = 0; i < M * K; ++i) wanted[i] = e4m3_value(q[i]) * sf[i / K * 5 + i % K / 32];
  OK(tw_per_token_cast_and_cast_back(&F32(y, M, K), TW_E4M3, &(tw_fake_cast_args){.group = 32},
                                     NULL));
  CLOSE(y, wanted, M * K, 0);
}

// A row of eight, of which docs of the format have the bytes; and what its codes stand for.
static void twelve_bits(void) {
  float row[8] = {1, -2, 0.5f, 3, -0.25f, 65024, 0, -0.0f}, factor[1], back[8];
  const uint8_t wanted_bytes[12] = {0x38, 0, 0x0C, 0x3C, 7, 0xB4, 0x20, 4, 0, 8, 0, 0xBF};
  uint8_t bytes[12];
  const tw_tensor tq = TENSOR(TW_U8, bytes, 1, 12), tsf = F32(factor, 1, 1);
  OK(tw_per_token_cast_to_e5m6(&F32(row, 1, 8), &tq, &tsf, false, NULL));
  SAME(bytes, wanted_bytes, 12);
  CLOSE(factor, (&(float){1}), 1, 0);
  OK(tw_cast_back_e5m6(&tq, &tsf, &F32(back, 1, 8), &(tw_cast_back_args){.columns = 8}, NULL));
  CLOSE(back, row, 8, 0);
  row[5] = 65025;
  OK(tw_per_token_cast_to_e5m6(&F32(row, 1, 8), &tq, &tsf, true, NULL));
  CLOSE(factor, (&(float){2}), 1, 0);
}

static void by_blocks(void) {
  const tw_tensor tx = F32(x, M, K), tq = TENSOR(TW_E4M3, q, M, K), tsf = F32(sf, 2, 2);
  const tw_block_cast_args args = {.rows = 32};
  cast_blocks(x, 32, 128, wanted_q, wanted_sf);
  OK(tw_per_block_cast(&tx, &tq, &tsf, &args, NULL));
  SAME(q, wanted_q, M * K);
  CLOSE(sf, wanted_sf, 4, 0);
  memset(sf, 0, sizeof sf);
  OK(tw_per_block_cast_with_sf_only(&tx, TW_E4M3, &tsf, &args, NULL));
  CLOSE(sf, wanted_sf, 4, 0);
  for (int i = 0; i < M * K; ++i) {
    wanted_q[i] = e4m3_of(x[i] * (1 / sf[i / K / 32 * 2 + i % K / 128]));
  }
  OK(tw_per_block_cast_with_precomputed_sf(&tx, &tsf, &tq, &args, NULL));
  SAME(q, wanted_q, M * K);
  OK(tw_cast_back(&tq, &tsf, &F32(y, M, K), &(tw_cast_back_args){.rows = 32}, NULL));
  for (int i = 0; i < M * K; ++i) {
    wanted[i] = e4m3_value(q[i]) * sf[i / K / 32 * 2 + i % K / 128];
  }
  CLOSE(y, wanted, M * K, 0);
}

static void by_channels(void) {
  const tw_tensor tx = F32(x, M, K), tsf = F32(sf, 2, K);
  const tw_channel_cast_args args = {.group = 32};
  cast_blocks(x, 32, 1, wanted_q, wanted_sf);
  OK(tw_per_channel_cast(&tx, &TENSOR(TW_E4M3, q, M, K), &tsf, &args, NULL));
  SAME(q, wanted_q, M * K);
  CLOSE(sf, wanted_sf, 2 * K, 0);
  static uint8_t transposed[K * M];
  for (int i = 0; i < M * K; ++i) transposed[i % K * M + i / K] = wanted_q[i];
  OK(tw_per_channel_cast_and_transpose(&tx, &TENSOR(TW_E4M3, q, K, M), &tsf, &args, NULL));
  SAME(q, transposed, M * K);
  CLOSE(sf, wanted_sf, 2 * K, 0);
}

static void without_loss(void) {
  enum { Rows = 4, Columns = 64 };
  uint8_t codes[Rows * Columns / 2], wide[Rows * Columns];
  float x_sf[Rows * 2], largest[1];
  for (int i = 0; i < COUNT(codes); ++i) codes[i] = (uint8_t)(i * 37);
  for (int i = 0; i < COUNT(x_sf); ++i) x_sf[i] = ldexpf(1, i % 3 - 2);
  OK(tw_per_block_cast_lossless(&TENSOR(TW_E2M1, codes, Rows, Columns), &F32(x_sf, Rows, 2),
                                &TENSOR(TW_E4M3, wide, Rows, Columns), &F32(largest, 1, 1), NULL,
                                NULL));
  for (int i = 0; i < Rows * Columns; ++i) {
    CHECK(e4m3_value(wide[i]) * largest[0] == e2m1_value(e2m1_at(codes, i)) * x_sf[i / 32]);
  }
}

static void weight_factors(void) {
  enum { Down = 3, Across = 5, Block = 32 };
  float factors[Down * Across];
  static uint8_t words[2 * Down * Block * 4], turned[Across * Block * 4],
      wanted_words[sizeof words], wanted_turned[sizeof turned];
  for (int i = 0; i < COUNT(factors); ++i) factors[i] = ldexpf(1, i - 6);
  for (int c = 0; c < 2; ++c) {
    for (int r = 0; r < Down * Block; ++r) {
      for (int t = 0; t < 4; ++t) {
        const int column = 4 * c + t;
        const int exponent = column < Across ? r / Block * Across + column - 6 + 127 : 0;
        wanted_words[(c * Down * Block + r) * 4 + t] = (uint8_t)exponent;
      }
    }
  }
  for (int r = 0; r < Across * Block; ++r) {
    for (int t = 0; t < 4; ++t) {
      wanted_turned[r * 4 + t] = (uint8_t)(t < Down ? t * Across + r / Block - 6 + 127 : 0);
    }
  }
  OK(tw_transpose_weight_sf(&F32(factors, 1, Down, Across), &I32(words, 1, 2, Down * Block),
                            &I32(turned, 1, 1, Across * Block), Block, NULL));
  SAME(words, wanted_words, COUNT(words));
  SAME(turned, wanted_turned, COUNT(turned));
}

static void elements(void) {
  for (int i = 0; i < M * K; ++i) wanted_q[i] = e4m3_of(x[i]);
  OK(tw_cast(&F32(x, M, K), &TENSOR(TW_E4M3, q, M, K), NULL));
  SAME(q, wanted_q, M * K);
  // What e4m3 has, with three bits behind the leading one, stays whatever the bits are.
  static float few[M * K];
  for (int i = 0; i < M * K; ++i) {
    few[i] = (float)(8 + i % 8) * (i % 2 == 0 ? 1 : -1);
    wanted_q[i] = e4m3_of(few[i]);
  }
  OK(tw_stochastic_cast(&F32(few, M, K), &TENSOR(TW_E4M3, q, M, K), NULL));
  SAME(q, wanted_q, M * K);
  float least = 0;
  OK(tw_least_amax(TW_E4M3, TW_F32, &least));
  CHECK(least == 1e-4F);
  OK(tw_least_amax(TW_E2M1, TW_E4M3, &least));
  CHECK(least == 6 * ldexpf(1, -9));
}

void test_quant(void) {
  fill(x, M * K, 33);
  by_tokens();
  twelve_bits();
  by_blocks();
  by_channels();
  without_loss();
  weight_factors();
  elements();
}
