#include "tests/capi/testing.h"

enum { T = 3, Heads = 2, D = 64, Rows = 10, Size = T * Heads * D };

void test_transform(void) {
  float x[Size], key[Size], given[Size], cos_sin[Rows * D], wanted[Size];
  int32_t positions[T] = {4, 0, 7};
  fill(given, COUNT(given), 22);
  fill(cos_sin, COUNT(cos_sin), 23);
  const tw_tensor tpositions = I32(positions, T);
  for (int options = 0; options < 2; ++options) {
    for (int t = 0; t < T; ++t) {
      const float* row = cos_sin + (options ? positions[t] + 2 : t) * D;
      for (int pair = 0; pair < Heads * D / 2; ++pair) {
        const int i = pair % (D / 2), base = (t * Heads + pair / (D / 2)) * D;
        const int first = base + (options ? 2 * i : i),
                  second = options ? first + 1 : first + D / 2;
        const float c = row[i], s = options ? -row[D / 2 + i] : row[D / 2 + i];
        wanted[first] = given[first] * c - given[second] * s;
        wanted[second] = given[first] * s + given[second] * c;
      }
    }
    for (int i = 0; i < COUNT(x); ++i) x[i] = key[i] = given[i];
    const tw_tensor tkey = F32(key, T, Heads, D);
    const tw_rotary_args args = {.key = &tkey,
                                 .positions = &tpositions,
                                 .offset = 2,
                                 .interleaved = true,
                                 .conjugate = true};
    OK(tw_apply_rotary(&F32(x, T, Heads, D), &F32(cos_sin, Rows, D), options ? &args : NULL, NULL));
    CLOSE(x, wanted, COUNT(x), 1e-6);
    CLOSE(key, options ? wanted : given, COUNT(key), 1e-6);
  }
}
