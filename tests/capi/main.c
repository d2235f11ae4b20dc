// The C API from C: results beside plain loops, and errors. Prints what fails and where.
#include <stdio.h>

#include "tests/capi/testing.h"

int main(void) {
  test_base();
  test_errors();
  test_null();
  test_activation();
  test_attention();
  test_elementwise();
  test_gemm();
  test_moe_gate();
  test_moe_layout();
  test_norm();
  test_quant();
  test_rand();
  test_rows();
  test_transform();
  test_wrong();
  printf("%d of %d checks failed\n", checks_failed, checks_made);
  return checks_failed == 0 ? 0 : 1;
}
