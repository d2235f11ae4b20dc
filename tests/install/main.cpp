#include <cstdio>

#include "tilewright/base/dtype.h"
#include "tilewright/base/error.h"

int main() {
  try {
    tw::dtype_named("float7");
  } catch (const tw::Error& error) {
    return tw::dtype_named("bfloat16") == tw::bf16 ? 0 : 1;
  }
  return 2;
}
