// What all functions of the C API have in common: status codes, tensors, streams, the version.
//
// Every function of the library gives a status; TW_OK is 0. Otherwise nothing was written, unless
// the kernel itself failed (TW_DEVICE_FAULT), and tw_last_error() tells what was given, what is
// needed and what to do. No exception leaves a function, whatever it is given, but addresses in
// tensors are taken on trust.
//
// Functions are thread-safe. On a CPU they return when the result is there; elsewhere they enqueue
// a kernel and return. The first call of a kernel with other dtypes or options compiles it, or
// finds it in the disk cache; later ones allocate nothing that the same call from C++ doesn't.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0

/// Version of the library that is loaded, "0.1.0". The macros are that of this header; before 1.0
/// a program needs the same major and minor version.
const char* tw_version(void);

/// What became of a call. Numbers are stable.
typedef int32_t tw_status;
enum {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1,  // a size, stride, value or address doesn't fit
  TW_INVALID_DTYPE = 2,     // a tensor has another dtype than it must
  TW_UNSUPPORTED = 3,       // the device's backend lacks what the function needs
  TW_OUT_OF_MEMORY = 4,
  TW_DEVICE_FAULT = 5,  // a kernel failed while it ran: an assertion, or a fault of the device
  TW_NO_DEVICE = 6,     // no such device here, or no compiler for it
  TW_INTERNAL = 7,      // a bug of tilewright
};

/// "ok", "invalid argument", ...; "unknown status" for other numbers. A constant.
const char* tw_status_text(tw_status status);

/// The whole text of the last error on this thread, in UTF-8; "" before the first. It is valid
/// until the thread's next error: calls that succeed leave it alone.
const char* tw_last_error(void);

/// Element types. Numbers are stable, and 0 is none, so that a forgotten dtype is an error.
typedef int32_t tw_dtype;
enum {
  TW_BOOL = 1,  // a byte
  TW_I8,
  TW_I16,
  TW_I32,
  TW_I64,
  TW_U8,
  TW_U16,
  TW_U32,
  TW_U64,
  TW_F16,
  TW_BF16,
  TW_F32,
  TW_F64,
  TW_TF32,  // stored as f32
  TW_E4M3,  // 8 bits: no infinity, NaN is 0x7f and 0xff
  TW_E5M2,  // 8 bits, as IEEE has them
  TW_E8M0,  // 8 bits: 2^(byte - 127), NaN is 0xff
  TW_E2M1,  // 4 bits, two in a byte, the first in the low half
};

/// Where memory is. Numbers are stable.
typedef int32_t tw_device_kind;
enum {
  TW_CPU = 0,
  TW_CUDA = 1,
  TW_ASCEND = 2,  // has no backend yet: TW_NO_DEVICE
};

/// `index` is 0 for a CPU.
typedef struct tw_device {
  tw_device_kind kind;
  int32_t index;
} tw_device;

/// The stream to work on, as the device's driver names it (CUstream, cudaStream_t); NULL is its
/// default stream. A CPU has none.
typedef void* tw_stream;

#define TW_MAX_RANK 8

/// An array somewhere in memory; a view, which owns nothing. Row-major without gaps, on the CPU:
///
///   tw_tensor x = {.data = x_data, .dtype = TW_F32, .rank = 2, .shape = {n, h}};
///
/// Strides count elements and only matter where `strided` is true, else they must be 0. They may be
/// 0 or negative where a function says nothing else.
typedef struct tw_tensor {
  void* data;  // of the first element; NULL if there are none
  tw_dtype dtype;
  int32_t rank;  // 0 to TW_MAX_RANK
  int64_t shape[TW_MAX_RANK], strides[TW_MAX_RANK];
  bool strided;
  tw_device device;
} tw_tensor;

// Functions of the library have the names and the order of arguments that the C++ functions of the
// same header below tilewright/kernels/ have, which tells further details. Outputs are tensors of
// the caller, too. Options are a struct, `args`: NULL and zeros mean what is usual, so that
// `{.causal = true}` sets one. Tensors in options are left out where they are NULL.

#ifdef __cplusplus
}
#endif
