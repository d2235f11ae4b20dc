// What every file of bindings needs, and what it defines.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "call.h"

namespace tw::python {

using namespace nb::literals;

/// The keyword `dtype` of all functions; see Call.
using Dtype = std::optional<std::string>;

void bind_activation(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_bench(nb::module_& m);
void bind_detached(nb::module_& m);
void bind_elementwise(nb::module_& m);
void bind_gather(nb::module_& m);
void bind_gemm(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_moe_gate(nb::module_& m);
void bind_moe_layout(nb::module_& m);
void bind_move(nb::module_& m);
void bind_norm(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_quant(nb::module_& m);
void bind_rand(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_select(nb::module_& m);
void bind_transform(nb::module_& m);

}  // namespace tw::python
