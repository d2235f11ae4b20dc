// DLPack 1.3: the C structures through which array libraries exchange tensors, and their relation
// to Tensor. Declared here because distributions ship old versions. Names and layout are those of
// the standard (https://dmlc.github.io/dlpack/latest/c_api.html); only what it defines stands in
// `extern "C"`.
#pragma once

#include <cstdint>

#include "tilewright/runtime/tensor.h"

namespace tw::dlpack {

extern "C" {

struct DLPackVersion {
  uint32_t major, minor;
};

struct DLDevice {
  int32_t device_type;  // kDLCPU, ...
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;  // as tw::DLPackType
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; before 1.2 null when compact
  uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

/// What a capsule named "dltensor_versioned" holds.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

// The exchange table that a Python type offers as its attribute `__dlpack_c_exchange_api__`, a
// capsule named "dlpack_exchange_api". Functions return 0, or -1 with a Python exception set,
// unless they report through `SetError`.
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                            void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind,
                                                             const char* message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object,
                                                     DLManagedTensorVersioned** out);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor,
                                                   void** out_py_object);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);
typedef int (*DLPackCurrentWorkStream)(int32_t device_type, int32_t device_id, void** out_stream);

struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader* prev_api;  // the table of an older version, or null
};

struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;  // may be null
  DLPackCurrentWorkStream current_work_stream;
};

}  // extern "C"

inline constexpr DLPackVersion kVersion = {1, 3};

inline constexpr int32_t kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13;
inline constexpr int32_t kDLExtDev = 12;  // what torch_npu and others use for devices of their own

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2, kSubByteTypePadded = 4;

/// A view of a DLPack tensor. Pinned and managed memory of CUDA counts as CPU and CUDA memory. A
/// device, dtype or rank that tilewright does not have is an Error. Two e2m1 in one element
/// (torch's float4_e2m1fn_x2) become two elements.
Tensor to_tensor(const DLTensor& tensor, uint64_t flags = 0);

/// Describes a tensor for DLPack. `shape` and `strides` of the result point into `tensor`, which
/// must live as long.
DLTensor from_tensor(const Tensor& tensor);

}  // namespace tw::dlpack
