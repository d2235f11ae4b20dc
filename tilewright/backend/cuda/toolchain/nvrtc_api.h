// The part of NVRTC's API that tilewright calls, declared by us, so that a build needs no toolkit.
// Names, numbers and layouts are those of the documented API (NVRTC 13.0).
#pragma once

#include <cstddef>

namespace tw::cuda {

using nvrtcProgram = struct _nvrtcProgram*;

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
};

// TW_FUNCTION(name, symbol in libnvrtc, parameters); each returns an nvrtcResult.
#define TW_NVRTC_FUNCTIONS(TW_FUNCTION)                                                        \
  TW_FUNCTION(version, nvrtcVersion, (int* major, int* minor))                                 \
  TW_FUNCTION(create, nvrtcCreateProgram,                                                      \
              (nvrtcProgram * program, const char* source, const char* name, int header_count, \
               const char* const* headers, const char* const* include_names))                  \
  TW_FUNCTION(destroy, nvrtcDestroyProgram, (nvrtcProgram * program))                          \
  TW_FUNCTION(compile, nvrtcCompileProgram,                                                    \
              (nvrtcProgram program, int option_count, const char* const* options))            \
  TW_FUNCTION(cubin_size, nvrtcGetCUBINSize, (nvrtcProgram program, size_t* size))             \
  TW_FUNCTION(cubin, nvrtcGetCUBIN, (nvrtcProgram program, char* code))                        \
  TW_FUNCTION(ptx_size, nvrtcGetPTXSize, (nvrtcProgram program, size_t* size))                 \
  TW_FUNCTION(ptx, nvrtcGetPTX, (nvrtcProgram program, char* text))                            \
  TW_FUNCTION(log_size, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* size))          \
  TW_FUNCTION(log, nvrtcGetProgramLog, (nvrtcProgram program, char* text))

/// The functions, as pointers; and that which names a result.
struct NvrtcApi {
#define TW_MEMBER(name, symbol, params) nvrtcResult(*name) params = nullptr;
  TW_NVRTC_FUNCTIONS(TW_MEMBER)
#undef TW_MEMBER
  const char* (*error_string)(nvrtcResult result) = nullptr;  // nvrtcGetErrorString
};

}  // namespace tw::cuda
