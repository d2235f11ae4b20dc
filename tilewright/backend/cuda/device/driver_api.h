// The part of CUDA's driver API that tilewright calls, declared by us, so that a build needs no
// toolkit. Names, numbers and layouts are those of the documented API (CUDA Driver API 13.0); the
// functions are found in libcuda when the first is needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::cuda {

// Handles. A stream that is null is the legacy default stream.
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};
static_assert(sizeof(CUlaunchAttribute) == 72);

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};
static_assert(sizeof(CUlaunchConfig) == 56);

/// How bulk copies see a tensor; made by tensor_map_encode.
struct alignas(64) CUtensorMap {
  uint64_t words[16];
};
enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
};
enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 };
enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

// TW_FUNCTION(name, symbol in libcuda, parameters); each returns a CUresult.
#define TW_DRIVER_FUNCTIONS(TW_FUNCTION)                                                           \
  TW_FUNCTION(init, cuInit, (unsigned flags))                                                      \
  TW_FUNCTION(driver_version, cuDriverGetVersion, (int* version))                                  \
  TW_FUNCTION(error_name, cuGetErrorName, (CUresult error, const char** text))                     \
  TW_FUNCTION(error_string, cuGetErrorString, (CUresult error, const char** text))                 \
  TW_FUNCTION(device_count, cuDeviceGetCount, (int* count))                                        \
  TW_FUNCTION(device_get, cuDeviceGet, (CUdevice * device, int ordinal))                           \
  TW_FUNCTION(device_name, cuDeviceGetName, (char* name, int size, CUdevice device))               \
  TW_FUNCTION(device_attribute, cuDeviceGetAttribute,                                              \
              (int* value, CUdevice_attribute attribute, CUdevice device))                         \
  TW_FUNCTION(device_memory, cuDeviceTotalMem_v2, (size_t* bytes, CUdevice device))                \
  TW_FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))    \
  TW_FUNCTION(context_current, cuCtxGetCurrent, (CUcontext * context))                             \
  TW_FUNCTION(context_set, cuCtxSetCurrent, (CUcontext context))                                   \
  TW_FUNCTION(context_synchronize, cuCtxSynchronize, ())                                           \
  TW_FUNCTION(module_load, cuModuleLoadData, (CUmodule * module, const void* image))               \
  TW_FUNCTION(module_unload, cuModuleUnload, (CUmodule module))                                    \
  TW_FUNCTION(module_function, cuModuleGetFunction,                                                \
              (CUfunction * function, CUmodule module, const char* name))                          \
  TW_FUNCTION(function_attribute, cuFuncGetAttribute,                                              \
              (int* value, CUfunction_attribute attribute, CUfunction function))                   \
  TW_FUNCTION(function_set, cuFuncSetAttribute,                                                    \
              (CUfunction function, CUfunction_attribute attribute, int value))                    \
  TW_FUNCTION(launch, cuLaunchKernelEx,                                                            \
              (const CUlaunchConfig* config, CUfunction function, void** params, void** extra))    \
  TW_FUNCTION(blocks_per_sm, cuOccupancyMaxActiveBlocksPerMultiprocessor,                          \
              (int* blocks, CUfunction function, int threads, size_t shared_bytes))                \
  TW_FUNCTION(active_clusters, cuOccupancyMaxActiveClusters,                                       \
              (int* clusters, CUfunction function, const CUlaunchConfig* config))                  \
  TW_FUNCTION(                                                                                     \
      tensor_map_encode, cuTensorMapEncodeTiled,                                                   \
      (CUtensorMap * map, CUtensorMapDataType type, uint32_t rank, void* address,                  \
       const uint64_t* extents, const uint64_t* strides, const uint32_t* box,                      \
       const uint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,        \
       CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))                            \
  TW_FUNCTION(memset_async, cuMemsetD8Async,                                                       \
              (CUdeviceptr memory, unsigned char value, size_t bytes, CUstream stream))            \
  TW_FUNCTION(memory_allocate, cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                \
  TW_FUNCTION(memory_free, cuMemFree_v2, (CUdeviceptr memory))                                     \
  TW_FUNCTION(copy_to_device, cuMemcpyHtoD_v2, (CUdeviceptr dst, const void* src, size_t bytes))   \
  TW_FUNCTION(copy_to_host, cuMemcpyDtoH_v2, (void* dst, CUdeviceptr src, size_t bytes))           \
  TW_FUNCTION(copy_on_device, cuMemcpyDtoDAsync_v2,                                                \
              (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream))                   \
  TW_FUNCTION(stream_create, cuStreamCreate, (CUstream * stream, unsigned flags))                  \
  TW_FUNCTION(stream_destroy, cuStreamDestroy_v2, (CUstream stream))                               \
  TW_FUNCTION(stream_synchronize, cuStreamSynchronize, (CUstream stream))                          \
  TW_FUNCTION(stream_is_capturing, cuStreamIsCapturing,                                            \
              (CUstream stream, CUstreamCaptureStatus * status))                                   \
  TW_FUNCTION(exchange_capture_mode, cuThreadExchangeStreamCaptureMode,                            \
              (CUstreamCaptureMode * mode))                                                        \
  TW_FUNCTION(capture_begin, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode)) \
  TW_FUNCTION(capture_end, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                 \
  TW_FUNCTION(graph_instantiate, cuGraphInstantiateWithFlags,                                      \
              (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                 \
  TW_FUNCTION(graph_launch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))              \
  TW_FUNCTION(graph_destroy, cuGraphDestroy, (CUgraph graph))                                      \
  TW_FUNCTION(graph_exec_destroy, cuGraphExecDestroy, (CUgraphExec executable))                    \
  TW_FUNCTION(event_create, cuEventCreate, (CUevent * event, unsigned flags))                      \
  TW_FUNCTION(event_record, cuEventRecord, (CUevent event, CUstream stream))                       \
  TW_FUNCTION(event_query, cuEventQuery, (CUevent event))                                          \
  TW_FUNCTION(event_synchronize, cuEventSynchronize, (CUevent event))                              \
  TW_FUNCTION(event_elapsed, cuEventElapsedTime, (float* ms, CUevent start, CUevent end))          \
  TW_FUNCTION(event_destroy, cuEventDestroy_v2, (CUevent event))

/// The functions, as pointers.
struct DriverApi {
#define TW_MEMBER(name, symbol, params) CUresult(*name) params = nullptr;
  TW_DRIVER_FUNCTIONS(TW_MEMBER)
#undef TW_MEMBER
};

}  // namespace tw::cuda
