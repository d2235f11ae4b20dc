// Calls a kernel of the library through the C API, with what is installed.
#include <stdio.h>

#include "tilewright/capi/tilewright.h"

int main(void) {
  float x[2 * 50], y[2 * 50];
  for (int i = 0; i < 100; ++i) x[i] = 1.5F;
  const tw_tensor tx = {.data = x, .dtype = TW_F32, .rank = 2, .shape = {2, 50}};
  const tw_tensor ty = {.data = y, .dtype = TW_F32, .rank = 2, .shape = {2, 50}};
  if (tw_softmax(&tx, 1, &ty, NULL) != TW_OK) {
    fprintf(stderr, "%s\n", tw_last_error());
    return 1;
  }
  return y[77] > 0.0199F && y[77] < 0.0201F ? 0 : 2;
}
