// Tensors of torch's own: what torch.empty_strided makes, through torch's functions in C++, in half
// of the time that DLPack's exchange table takes. And it is memory that torch knows: of the table's
// tensors `record_stream` has no effect.
#pragma once

#include <optional>

#include <nanobind/nanobind.h>

#include "tilewright/runtime/tensor.h"

namespace tw::python {

namespace nb = nanobind;

struct TorchMemory {
  nb::object object;  // a torch.Tensor
  void* data;
};

/// A tensor [shape] without gaps on the CPU or an NVIDIA GPU; with `columns`, the transposed one of
/// a matrix, cut to that many columns. Nothing where this torch, if one is loaded, lacks a function
/// or the dtype, or where it fails: then another way says why.
std::optional<TorchMemory> torch_memory(DType dtype, const Shape& shape, Device device,
                                        std::optional<int64_t> columns = {});

}  // namespace tw::python
