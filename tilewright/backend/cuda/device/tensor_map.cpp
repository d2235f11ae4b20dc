#include "tilewright/backend/cuda/device/tensor_map.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

using runtime::LaunchRequest;
using runtime::PackedField;

constexpr size_t kMaxRank = 5;
constexpr int64_t kUnit = 16;  // bytes to which addresses and strides are aligned

CUtensorMapDataType type_of(DType dtype) {
  if (dtype == f16) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if (dtype == bf16) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  if (dtype == f64) return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  if (dtype == i32) return CU_TENSOR_MAP_DATA_TYPE_INT32;
  if (dtype == i64) return CU_TENSOR_MAP_DATA_TYPE_INT64;
  switch (dtype.bits()) {
    case 8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case 16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case 32:
      return dtype.is_float() ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
}

CUtensorMapSwizzle swizzle_of(int64_t bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

template <class... Args>
[[noreturn, gnu::cold]] void violated(const LaunchRequest& r, const runtime::Param& param,
                                      fmt::format_string<Args...> rule, Args&&... args) {
  throw Error(codes::host_07, {}, "{}: bulk copies of {}: {}", r.metadata->name, param.name,
              tw::format(rule, std::forward<Args>(args)...))
      .help("pass a copy that is contiguous and aligned");
}

/// What the packed block has of the call.
struct Packed {
  std::array<int64_t, runtime::kMaxParams> symbols{};
  void* address = nullptr;
};

Packed unpack(const LaunchRequest& r, int param) {
  Packed packed;
  const auto* args = static_cast<const char*>(r.args);
  for (const PackedField& field : r.metadata->packed) {
    if (field.kind == PackedField::Kind::symbol) {
      std::memcpy(&packed.symbols[static_cast<size_t>(field.index)], args + field.offset, 8);
    } else if (field.kind == PackedField::Kind::address && field.index == param) {
      std::memcpy(&packed.address, args + field.offset, 8);
    }
  }
  return packed;
}

}  // namespace

CUtensorMap encode_tensor_map(const DriverApi& api, const runtime::TensorMap& map,
                              const LaunchRequest& r) {
  const runtime::Param& param = r.metadata->params[static_cast<size_t>(map.param)];
  const Packed packed = unpack(r, map.param);
  const runtime::HostValues values{.symbols = packed.symbols.data()};
  const size_t rank = map.box.size();
  const int64_t size = param.dtype.bits() / 8;
  if (reinterpret_cast<uintptr_t>(packed.address) % kUnit != 0) {
    violated(r, param, "its address {} is no multiple of {}", packed.address, kUnit);
  }
  // The hardware wants the innermost dimension first, and no stride for that.
  std::array<uint64_t, kMaxRank> extents{}, strides{};
  std::array<uint32_t, kMaxRank> box{}, steps{};
  int64_t compact = size;
  for (size_t i = 0; i < rank; ++i) {
    const size_t dim = rank - 1 - i;
    const int64_t extent = param.shape[dim].evaluate(values);
    int64_t stride = param.strides.empty() ? compact : param.strides[dim].evaluate(values) * size;
    // A stride over nothing may be any.
    if (extent <= 1) stride = i == 0 ? size : (compact + kUnit - 1) / kUnit * kUnit;
    if (i == 0 && stride != size) {
      violated(r, param, "the stride of its last dimension is {}, must be 1", stride / size);
    }
    if (i > 0 && (stride % kUnit != 0 || stride < 0 || stride >= int64_t{1} << 40)) {
      violated(r, param,
               "the stride of its dimension {} is {} bytes, must be a multiple of {} "
               "below 2^40",
               dim, stride, kUnit);
    }
    if (extent < 1 || extent > int64_t{1} << 32) {
      violated(r, param, "its dimension {} has {} elements, must be 1 to 2^32", dim, extent);
    }
    extents[i] = static_cast<uint64_t>(extent);
    if (i > 0) strides[i - 1] = static_cast<uint64_t>(stride);
    box[i] = static_cast<uint32_t>(map.box[dim]);
    steps[i] = 1;
    compact = std::max(compact, stride) * extent;
  }
  CUtensorMap encoded;
  const CUresult result =
      api.tensor_map_encode(&encoded, type_of(param.dtype), static_cast<uint32_t>(rank),
                            packed.address, extents.data(), strides.data(), box.data(),
                            steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map.swizzle),
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    violated(r, param, "the driver refuses a box {} of a tensor {} of {} (error {})", map.box,
             std::vector<int64_t>(extents.begin(), extents.begin() + static_cast<int64_t>(rank)),
             param.dtype, static_cast<int>(result));
  }
  return encoded;
}

}  // namespace tw::cuda
