// Kernels for GPUs without a GPU: a backend for cuda that lowers a kernel as the real one does and
// executes its threads in the twin, on host memory. The library's own functions run in it, with
// all their checks, when their tensors say that they are on a GPU.
#pragma once

#include <string>

#include "tilewright/runtime/tensor.h"

namespace tw::test {

/// Puts the twin in the place of the backend for cuda, once for the process. Whatever the twin
/// finds (races, reads outside, uninitialized memory) fails the test that runs.
void use_twin();

/// The same memory as a tensor that is said to be on cuda:0.
Tensor on_threads(const Tensor& tensor);

/// Compiles with the real backend to cubins, for sm_90a, what is run in the twin while it lives.
/// `skip_reason` says why that can't be done.
class AlsoToCubin {
 public:
  AlsoToCubin();
  AlsoToCubin(const AlsoToCubin&) = delete;
  AlsoToCubin& operator=(const AlsoToCubin&) = delete;
  ~AlsoToCubin();
  const std::string& skip_reason() const { return skip_reason_; }

 private:
  std::string skip_reason_;
};

}  // namespace tw::test
