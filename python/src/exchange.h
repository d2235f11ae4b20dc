// Arrays of frameworks on their own terms: tensors read, made and ordered on streams through
// DLPack's exchange table where the type of an array offers it (torch 2.10 and later), which costs
// a tenth of a call of __dlpack__; older torch on a GPU through its attributes.
#pragma once

#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "tilewright/runtime/dlpack.h"
#include "tilewright/runtime/tensor.h"

namespace tw::python {

namespace nb = nanobind;

/// The exchange table of an array's type; null where it offers none, or none of our version.
const dlpack::DLPackExchangeAPI* exchange_of(nb::handle array);

/// A tensor of torch that takes part in automatic differentiation: results of ours would not.
bool requires_grad(nb::handle array);

/// The memory of an array, which keeps it; nothing when the framework refuses. Nothing waits for
/// streams.
std::optional<Tensor> exchange_view(const dlpack::DLPackExchangeAPI& api, nb::handle array);

/// An array on a device, from the framework's allocator; with `columns`, the transposed one, cut to
/// that many columns.
nb::object exchange_empty(const dlpack::DLPackExchangeAPI& api, DType dtype, const Shape& shape,
                          Device device, std::optional<int64_t> columns = {});

/// The framework's current stream on a device.
Stream exchange_stream(const dlpack::DLPackExchangeAPI& api, Device device);

/// torch's names of our dtypes.
inline constexpr std::pair<Scalar, const char*> kTorchNames[] = {
    {Scalar::boolean, "bool"},
    {Scalar::i8, "int8"},
    {Scalar::i16, "int16"},
    {Scalar::i32, "int32"},
    {Scalar::i64, "int64"},
    {Scalar::u8, "uint8"},
    {Scalar::u16, "uint16"},
    {Scalar::u32, "uint32"},
    {Scalar::u64, "uint64"},
    {Scalar::f16, "float16"},
    {Scalar::bf16, "bfloat16"},
    {Scalar::f32, "float32"},
    {Scalar::f64, "float64"},
    {Scalar::e4m3, "float8_e4m3fn"},
    {Scalar::e5m2, "float8_e5m2"},
    {Scalar::e8m0, "float8_e8m0fnu"},
    {Scalar::e2m1, "float4_e2m1fn_x2"},
};

/// Whether it is a tensor of torch.
bool is_torch(nb::handle array);

/// The same three by torch's attributes. `view` gives nothing for an array that isn't a tensor of
/// torch on a GPU.
std::optional<Tensor> torch_view(nb::handle array);
nb::object torch_empty(DType dtype, const Shape& shape, Device device);
Stream torch_stream(Device device);

}  // namespace tw::python
