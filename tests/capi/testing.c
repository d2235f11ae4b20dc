#include "tests/capi/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int checks_made = 0, checks_failed = 0;

static void failed(const char* what, const char* file, int line) {
  ++checks_failed;
  printf("%s:%d: %s\n", file, line, what);
}

void check(int holds, const char* what, const char* file, int line) {
  ++checks_made;
  if (!holds) failed(what, file, line);
}

void check_status(tw_status got, tw_status wanted, const char* text, const char* what,
                  const char* file, int line) {
  ++checks_made;
  if (got == wanted && (text == NULL || strcmp(tw_last_error(), text) == 0)) return;
  failed(what, file, line);
  printf("  is: %s: %s\n  wanted: %s: %s\n", tw_status_text(got),
         got == TW_OK ? "" : tw_last_error(), tw_status_text(wanted), text == NULL ? "" : text);
}

void check_close(const float* got, const float* wanted, int count, double bound, const char* what,
                 const char* file, int line) {
  ++checks_made;
  for (int i = 0; i < count; ++i) {
    const double g = got[i], w = wanted[i];
    if (g == w || (isnan(g) && isnan(w))) continue;
    if (fabs(g - w) <= bound * fmax(1, fabs(w))) continue;
    failed(what, file, line);
    printf("  [%d] is %.9g, wanted: %.9g\n", i, g, w);
    return;
  }
}

void check_same(const void* got, const void* wanted, size_t size, int count, const char* what,
                const char* file, int line) {
  ++checks_made;
  if (size != 0 && memcmp(got, wanted, size * (size_t)count) == 0) return;
  failed(what, file, line);
  for (int i = 0; i < count && size != 0; ++i) {
    int64_t g = 0, w = 0;
    memcpy(&g, (const char*)got + size * (size_t)i, size);
    memcpy(&w, (const char*)wanted + size * (size_t)i, size);
    if (g != w) printf("  [%d] is %lld, wanted: %lld\n", i, (long long)g, (long long)w);
  }
}

void fill(float* x, int count, uint32_t seed) {
  uint32_t state = seed * 2654435761U + 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    x[i] = (float)(state >> 8) / (float)(1 << 22) - 2;
  }
}

float e4m3_value(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const float magnitude =
      exponent == 0 ? ldexpf((float)mantissa, -9) : ldexpf((float)(8 + mantissa), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

uint8_t e4m3_of(float value) {
  const uint8_t sign = signbit(value) ? 0x80 : 0;
  uint8_t best = 0;
  float least = INFINITY;
  for (int code = 0; code < 0x7f; ++code) {  // ascending: of two as near the even one
    const float distance = fabsf(fabsf(value) - e4m3_value((uint8_t)code));
    if (distance < least || (distance == least && code % 2 == 0)) {
      least = distance;
      best = (uint8_t)code;
    }
  }
  return (uint8_t)(sign | best);
}

float e2m1_value(uint8_t code) {
  static const float kValues[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  return code & 8 ? -kValues[code & 7] : kValues[code & 7];
}

uint8_t e2m1_at(const uint8_t* packed, int i) { return packed[i / 2] >> (i % 2 * 4) & 15; }
