// Tests of kernels run on the CPU and, for some cases, in the twin of GPU code (twin_backend.h).
#pragma once

#include "tests/kernels/twin_backend.h"

namespace tw::test {

/// Where a kernel runs; `on` places a tensor in host memory there.
enum class Where : uint8_t { cpu, twin };
inline Tensor on(Where where, const Tensor& t) { return where == Where::cpu ? t : on_threads(t); }
inline const char* name_of(Where where) { return where == Where::cpu ? "cpu" : "twin"; }

}  // namespace tw::test
