// What tests in C share: checks that count what fails, tensors of arrays, and formats of few bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tilewright/capi/tilewright.h"

/// A tensor of an array: TENSOR(TW_F32, x, n, h).
#define TENSOR(type, array, ...)                                                      \
  ((tw_tensor){.data = (array),                                                       \
               .dtype = (type),                                                       \
               .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
               .shape = {__VA_ARGS__}})
/// An [n, h] view of rows that begin at every `row`th element.
#define ROWS(type, array, n, h, row)  \
  ((tw_tensor){.data = (array),       \
               .dtype = (type),       \
               .rank = 2,             \
               .shape = {(n), (h)},   \
               .strides = {(row), 1}, \
               .strided = true})
#define F32(array, ...) TENSOR(TW_F32, array, __VA_ARGS__)
#define I32(array, ...) TENSOR(TW_I32, array, __VA_ARGS__)
#define I64(array, ...) TENSOR(TW_I64, array, __VA_ARGS__)

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/// The condition holds.
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
/// The call is TW_OK.
#define OK(call) check_status((call), TW_OK, NULL, #call, __FILE__, __LINE__)
/// The call gives the status, and exactly this text is then tw_last_error().
#define FAILS(call, status, text) check_status((call), (status), (text), #call, __FILE__, __LINE__)
/// |got[i] - wanted[i]| <= bound * max(1, |wanted[i]|) for all i; a bound of 0: equal.
#define CLOSE(got, wanted, count, bound) \
  check_close((got), (wanted), (count), (bound), #got, __FILE__, __LINE__)
/// The same integers, or bytes.
#define SAME(got, wanted, count)                                                              \
  check_same((got), (wanted), sizeof((got)[0]) == sizeof((wanted)[0]) ? sizeof((got)[0]) : 0, \
             (count), #got, __FILE__, __LINE__)

void check(int holds, const char* what, const char* file, int line);
void check_status(tw_status got, tw_status wanted, const char* text, const char* what,
                  const char* file, int line);
void check_close(const float* got, const float* wanted, int count, double bound, const char* what,
                 const char* file, int line);
void check_same(const void* got, const void* wanted, size_t size, int count, const char* what,
                const char* file, int line);
/// How many checks were made, and how many failed.
extern int checks_made, checks_failed;

/// Numbers in [-2, 2], the same for the same seed.
void fill(float* x, int count, uint32_t seed);

/// Values of codes, and the code nearest to a value, ties to even, saturating.
float e4m3_value(uint8_t code);
uint8_t e4m3_of(float value);
float e2m1_value(uint8_t code);
/// The element at index `i` of packed codes.
uint8_t e2m1_at(const uint8_t* packed, int i);

// One function a family, in the file that has its name.
void test_activation(void);
void test_attention(void);
void test_base(void);
void test_elementwise(void);
void test_errors(void);
void test_gemm(void);
void test_moe_gate(void);
void test_moe_layout(void);
void test_norm(void);
void test_null(void);
void test_quant(void);
void test_rand(void);
void test_rows(void);
void test_transform(void);
void test_wrong(void);
