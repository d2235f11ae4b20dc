#include "tilewright/capi/border.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "tilewright/base/codes.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/check.h"
#include "tilewright/runtime/fault.h"

namespace tw::capi {
namespace {

constexpr int64_t kAddressSpace = int64_t{1} << 56;  // what x86-64 has at most

// The last error of this thread: a copy, or a constant where a copy has no memory.
struct LastError {
  std::string copy;
  const char* constant = "";
};
thread_local LastError last;

void keep(std::string_view text, std::string_view function) noexcept {
  try {
    last.copy = text;
    const std::string name = format("{}: ", function);
    if (last.copy.find(name) == std::string::npos) last.copy.insert(0, name);
    last.constant = nullptr;
  } catch (...) {
    last.constant = "no memory for the text of an error";
  }
}

// The distance between the first and the last element in bytes, rounded up, as if no dimension had
// less than two; saturates.
int64_t span_of(const Tensor& t) {
  int64_t span = 1;
  for (int i = 0; i < t.rank(); ++i) {
    const int64_t steps = std::max<int64_t>(t.dim(i) - 1, 1);
    const int64_t stride = std::abs(std::max(t.stride(i), -INT64_MAX));
    if (__builtin_add_overflow(span, saturating_product(steps, stride), &span)) return INT64_MAX;
  }
  return storage_bytes(t.dtype(), span);
}

tw_status status_of(const Error& error) {
  const Code code = error.code();
  if (dynamic_cast<const kernels::DtypeError*>(&error) != nullptr || code == codes::host_03 ||
      code == codes::type_01) {
    return TW_INVALID_DTYPE;
  }
  if (dynamic_cast<const runtime::DeviceFault*>(&error) != nullptr) return TW_DEVICE_FAULT;
  if (code == codes::tgt_03) return TW_UNSUPPORTED;
  if (code == codes::host_12) return TW_OUT_OF_MEMORY;
  if (code == codes::tgt_04 || code == codes::tool_01) return TW_NO_DEVICE;
  return TW_INVALID_ARGUMENT;
}

}  // namespace

const char* last_error() noexcept {
  return last.constant != nullptr ? last.constant : last.copy.c_str();
}

tw_status keep_error(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    keep(error.what(), function);
    return status_of(error);
  } catch (const std::bad_alloc&) {
    keep("no memory", function);
    return TW_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    keep(error.what(), function);
    return TW_INTERNAL;
  } catch (...) {
    keep("an exception of an unknown type", function);
    return TW_INTERNAL;
  }
}

DType Reader::dtype(const char* name, tw_dtype dtype) const {
  if (dtype < 1 || dtype > kScalarCount) {
    throw kernels::DtypeError({}, {}, "{}: {} has dtype {}, it must be one of tw_dtype, 1 to {}",
                              function_, name, dtype, kScalarCount);
  }
  return static_cast<Scalar>(dtype - 1);
}

void Reader::check_choice(const char* name, int32_t value, int32_t last) const {
  TW_REQUIRE(value >= 0 && value <= last, "{}: {} is {}, it must be 0 to {}", function_, name,
             value, last);
}

Tensor Reader::operator()(const char* name, const tw_tensor* tensor) const {
  const tw_tensor& t = required(name, tensor);
  TW_REQUIRE(t.rank >= 0 && t.rank <= TW_MAX_RANK, "{}: {} has rank {}, it must be 0 to {}",
             function_, name, t.rank, TW_MAX_RANK);
  const Scalar scalar = dtype(name, t.dtype).scalar;
  TW_REQUIRE(t.device.kind >= TW_CPU && t.device.kind <= TW_ASCEND,
             "{}: {} is on a device of kind {}, it must be 0 to {}", function_, name, t.device.kind,
             static_cast<tw_device_kind>(TW_ASCEND));
  TW_REQUIRE(t.device.kind == TW_CPU ? t.device.index == 0 : t.device.index >= 0,
             "{}: {} is on a device with index {}, it must be {}", function_, name, t.device.index,
             t.device.kind == TW_CPU ? "0, the CPU" : "at least 0");
  const auto rank = static_cast<size_t>(t.rank);
  const Shape shape(std::span(t.shape, rank)), strides(std::span(t.strides, rank));
  TW_REQUIRE(std::none_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }),
             "{}: {} is {}, extents must not be negative", function_, name, shape);
  const Device device{static_cast<DeviceKind>(t.device.kind), t.device.index};
  TW_REQUIRE(t.strided || std::all_of(strides.begin(), strides.end(),
                                      [](int64_t stride) { return stride == 0; }),
             "{}: {} has strides {}, which need .strided = true", function_, name, strides);
  const Tensor result(t.data, scalar, shape, t.strided ? strides : shape.compact_strides(), device);
  TW_REQUIRE(span_of(result) < kAddressSpace,
             "{}: {} is {}, its elements must lie within 2^56 bytes", function_, name, result);
  return result;
}

const Tensor* Reader::optional(const char* name, const tw_tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  TW_CHECK(count_ < kMostOptional, "{} has more tensors in its options", function_);
  return &kept_[count_++].emplace((*this)(name, tensor));
}

}  // namespace tw::capi
