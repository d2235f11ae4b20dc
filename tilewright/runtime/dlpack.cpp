#include "tilewright/runtime/dlpack.h"

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::dlpack {
namespace {

Device device_of(DLDevice device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return {};
    case kDLCUDA:
    case kDLCUDAManaged:
      return {DeviceKind::cuda, device.device_id};
    case kDLExtDev:
      return {DeviceKind::ascend, device.device_id};
    default:
      throw Error(codes::host_04, {},
                  "dlpack: device type {} isn't supported; move the tensor to the CPU or to CUDA",
                  device.device_type);
  }
}

DType dtype_of(DLDataType type) {
  const auto scalar = from_dlpack({type.code, type.bits});
  const bool lanes_fit =
      type.lanes >= 1 && type.lanes <= 64 && (type.lanes & (type.lanes - 1)) == 0;
  if (!scalar || !lanes_fit) {
    throw Error(codes::type_01, {}, "dlpack: no dtype for code {}, {} bits, {} lanes", type.code,
                type.bits, type.lanes);
  }
  return {scalar->scalar, type.lanes};
}

}  // namespace

Tensor to_tensor(const DLTensor& tensor, uint64_t flags) {
  TW_REQUIRE(tensor.ndim >= 0 && tensor.ndim <= kMaxRank,
             "dlpack: {} dimensions, the largest rank is {}", tensor.ndim, kMaxRank);
  DType dtype = dtype_of(tensor.dtype);
  const Device device = device_of(tensor.device);
  const auto rank = static_cast<size_t>(tensor.ndim);
  Shape shape(std::span<const int64_t>(tensor.shape, rank));
  Shape strides = tensor.strides == nullptr ? shape.compact_strides()
                                            : Shape(std::span<const int64_t>(tensor.strides, rank));
  if (dtype.is_sub_byte()) {
    TW_REQUIRE((flags & kSubByteTypePadded) == 0,
               "dlpack: a tensor of {} with a byte for each element isn't supported; pack it",
               dtype);
    const int last = tensor.ndim - 1;
    if (dtype.lanes > 1) {  // each dimension counts groups of elements
      TW_REQUIRE(last >= 0 && (shape[last] <= 1 || strides[last] == 1),
                 "dlpack: a tensor of {} must have its innermost dimension without gaps", dtype);
      for (int i = 0; i < last; ++i) strides[i] *= dtype.lanes;
      shape[last] *= dtype.lanes;
      strides[last] = 1;
      dtype.lanes = 1;
    }
  }
  const auto* base = static_cast<const std::byte*>(tensor.data);
  return {base == nullptr ? nullptr : base + tensor.byte_offset, dtype, shape, strides, device};
}

DLTensor from_tensor(const Tensor& tensor) {
  const DLPackType type = to_dlpack(tensor.dtype());
  int32_t device = kDLCPU;
  if (tensor.device().kind == DeviceKind::cuda) device = kDLCUDA;
  if (tensor.device().kind == DeviceKind::ascend) device = kDLExtDev;
  return {tensor.data(),
          {device, tensor.device().id},
          tensor.rank(),
          {type.code, type.bits, tensor.dtype().lanes},
          const_cast<int64_t*>(tensor.shape().begin()),
          const_cast<int64_t*>(tensor.strides().begin()),
          0};
}

}  // namespace tw::dlpack
