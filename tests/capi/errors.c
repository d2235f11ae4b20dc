// What a wrong call gives: its status, and the whole text of the last error. Those that no call
// from outside can cause are in border_test.cpp.
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "tests/capi/testing.h"

enum { N = 4, H = 8 };

static float x[N * H], y[N * H], w[H];

static void of_tensors(void) {
  const tw_tensor tx = F32(x, N, H), ty = F32(y, N, H);
  tw_tensor bad = tx;
  bad.rank = 9;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT, "relu: x has rank 9, it must be 0 to 8");
  bad.rank = -1;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT, "relu: x has rank -1, it must be 0 to 8");
  bad = tx;
  bad.dtype = 0;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_DTYPE,
        "relu: x has dtype 0, it must be one of tw_dtype, 1 to 18");
  bad.dtype = 12345;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_DTYPE,
        "relu: x has dtype 12345, it must be one of tw_dtype, 1 to 18");
  bad = tx;
  bad.shape[1] = -8;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x is [4, -8], extents must not be negative");
  bad = tx;
  bad.strides[0] = H;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x has strides [8, 0], which need .strided = true");
  bad = tx;
  bad.device.kind = 7;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x is on a device of kind 7, it must be 0 to 2");
  bad = tx;
  bad.device.index = 1;
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x is on a device with index 1, it must be 0, the CPU");
  bad.device = (tw_device){TW_CUDA, -1};
  FAILS(tw_relu(&bad, &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x is on a device with index -1, it must be at least 0");
  FAILS(tw_relu(&ROWS(TW_F32, x, N, H, INT64_MIN), &ty, NULL), TW_INVALID_ARGUMENT,
        "relu: x is f32 [4, 8] strides [-9223372036854775808, 1], its elements must lie within "
        "2^56 bytes");
  FAILS(tw_relu(&tx, &F32(y, INT64_MAX, H), NULL), TW_INVALID_ARGUMENT,
        "relu: y is f32 [9223372036854775807, 8], its elements must lie within 2^56 bytes");
  bad = tx;
  bad.data = NULL;
  CHECK(tw_relu(&bad, &ty, NULL) == TW_INVALID_ARGUMENT);
  CHECK(strstr(tw_last_error(), "error[E-HOST-09]: relu: ") != NULL);
  bad = ty;
  bad.data = NULL;
  CHECK(tw_relu(&tx, &bad, NULL) == TW_INVALID_ARGUMENT);
  CHECK(strstr(tw_last_error(), "error[E-HOST-09]: relu: ") != NULL);
}

static void of_functions(void) {
  const tw_tensor tx = F32(x, N, H), ty = F32(y, N, H), tw = F32(w, H), integers = I32(x, N, H);
  FAILS(tw_rms_norm(&tx, &F32(w, H - 1), 0, &ty, NULL), TW_INVALID_ARGUMENT,
        "rms_norm: w is f32 [7], it must be [8] [h]");
  FAILS(tw_rms_norm(&integers, &tw, 0, &ty, NULL), TW_INVALID_DTYPE,
        "rms_norm: x is i32 [4, 8], it must be f32, bf16 or f16");
  FAILS(tw_gemm(&tx, &tx, &ty, &(tw_gemm_args){.activation = 5}, NULL), TW_INVALID_ARGUMENT,
        "gemm: activation is 5, it must be 0 to 4");
  FAILS(tw_top2_sum_gate(&tx, &tw, &I64(y, 2, 2), &F32(y, 2, 2),
                         &(tw_top2_sum_gate_args){.scoring = -1}, NULL),
        TW_INVALID_ARGUMENT, "top2_sum_gate: scoring is -1, it must be 0 to 2");
  FAILS(tw_per_token_cast_with_sf_only(&tx, 99, &F32(y, N, 1), NULL, NULL), TW_INVALID_DTYPE,
        "per_token_cast_with_sf_only: format has dtype 99, it must be one of tw_dtype, 1 to 18");
  int64_t rows = 0;
  FAILS(tw_most_fused_rows(4, 2, 0, &rows), TW_INVALID_ARGUMENT,
        "most_fused_rows: alignment is 0, it must be from 1 to 2147483647");
  FAILS(tw_most_fused_rows(4, 2, INT64_MAX, &rows), TW_INVALID_ARGUMENT,
        "most_fused_rows: alignment is 9223372036854775807, it must be from 1 to 2147483647");
  FAILS(tw_most_fused_rows(-4, 2, 1, &rows), TW_INVALID_ARGUMENT,
        "most_fused_rows: there are -4 pairs and 2 experts, each must be from 0 to 2147483647");
  tw_tensor scratch;
  FAILS(
      tw_fused_mapping_scratch(4, INT64_MAX, &scratch), TW_INVALID_ARGUMENT,
      "fused_mapping_scratch: there are 4 pairs and 9223372036854775807 experts, each must be from "
      "0 to 2147483647");
  uint64_t words = 0;
  OK(tw_randn_words(INT64_MAX, 1, &words));
  CHECK(words == (uint64_t)INT64_MAX / 256 + 1);
  int32_t maps[N * H];
  const tw_tensor pos = I32(maps, 2), idx = I64(y, 2, 1);
  FAILS(tw_get_fused_mapping(
            &idx, 1,
            &(tw_fused_mapping){&pos, &pos, &pos, &ROWS(TW_I32, maps, 2, 1, 3), &pos, &pos, &pos},
            &I32(maps, 2, 2), NULL),
        TW_INVALID_ARGUMENT,
        "get_fused_mapping: token_topk_to_pos is i32 [2, 1] strides [3, 1], it must be compact");
  // Of a kernel that functions share.
  FAILS(
      tw_residual_rms_norm(&tx, &tx, &tw, 0, &ty, &ROWS(TW_F32, maps, N, H, -H), NULL),
      TW_INVALID_ARGUMENT,
      "residual_rms_norm: error[E-HOST-05]: residual_norm: sum_row = -8 (from sum.stride[0]) must "
      "be at least 0");
  // A tensor that is left out isn't read, one that is given is.
  tw_tensor no_dtype = tw;
  no_dtype.dtype = 0;
  FAILS(tw_gemm(&tx, &tx, &ty, &(tw_gemm_args){.bias = &no_dtype}, NULL), TW_INVALID_DTYPE,
        "gemm: bias has dtype 0, it must be one of tw_dtype, 1 to 18");
}

static void of_devices(void) {
  tw_tensor tx = F32(x, N, H), ty = F32(y, N, H);
  tx.device.kind = ty.device.kind = TW_ASCEND;
  CHECK(tw_relu(&tx, &ty, NULL) == TW_NO_DEVICE);
  CHECK(strstr(tw_last_error(),
               "error[E-TGT-04]: relu: tensors are on ascend, which has no backend yet") != NULL);
  x[3] = NAN;
  int64_t idx[N];
  CHECK(tw_topk_gate(&F32(x, N, H), &I64(idx, N, 1), NULL) == TW_DEVICE_FAULT);
  CHECK(strstr(tw_last_error(), "topk_gate: device assert failed: ") == tw_last_error());
  x[3] = 0;
  OK(tw_topk_gate(&F32(x, N, H), &I64(idx, N, 1), NULL));
}

static void* other_thread(void* text) {
  CHECK(strcmp(tw_last_error(), "") == 0);
  FAILS(tw_relu(NULL, &F32(y, N, H), NULL), TW_INVALID_ARGUMENT, text);
  return NULL;
}

// Each thread has its own error, and a call that succeeds leaves it alone.
static void of_threads(void) {
  FAILS(tw_silu(NULL, &F32(y, N, H), NULL), TW_INVALID_ARGUMENT,
        "silu: x is NULL, it must be given");
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other_thread, "relu: x is NULL, it must be given") == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  OK(tw_relu(&F32(x, N, H), &F32(y, N, H), NULL));
  CHECK(strcmp(tw_last_error(), "silu: x is NULL, it must be given") == 0);
}

void test_errors(void) {
  of_tensors();
  of_functions();
  of_devices();
  of_threads();
}
