// Kernels for GPUs without a GPU: a backend for cuda that lowers a kernel as the real one does and
// executes its threads in the twin, on host memory. The library's own functions run in it, with
// all their checks, when their tensors say that they are on a GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/ir/nodes.h"
#include "tilewright/runtime/tensor.h"
#include "tilewright/sim/mutate.h"

namespace tw::test {

/// Puts the twin in the place of the backend for cuda, once for the process. Whatever the twin
/// finds (races, reads outside, uninitialized memory) fails the test that runs.
void use_twin();

/// The same memory as a tensor that is said to be on cuda:0.
Tensor on_threads(const Tensor& tensor);

/// While it lives, gets each launch in the place of the twin: the lowered program of this launch
/// alone, what it is run on, and the function that runs it.
class OnLaunch {
 public:
  using Function = std::function<void(const ir::Program& program, const sim::Call& call,
                                      const std::function<void()>& run)>;
  explicit OnLaunch(Function f);
  OnLaunch(const OnLaunch&) = delete;
  OnLaunch& operator=(const OnLaunch&) = delete;
  ~OnLaunch();
};

/// While it lives, assertions of kernels may fail. (What a launch has written until then is left.)
class MayStop {
 public:
  MayStop();
  MayStop(const MayStop&) = delete;
  MayStop& operator=(const MayStop&) = delete;
  ~MayStop();
};

/// Compiles with the real backend to cubins, for sm_90a and sm_100a, what is run in the twin while
/// it lives; with all its launches, also those that the twin isn't asked for. `skip_reason` says
/// why that can't be done.
class AlsoToCubin {
 public:
  AlsoToCubin();
  AlsoToCubin(const AlsoToCubin&) = delete;
  AlsoToCubin& operator=(const AlsoToCubin&) = delete;
  ~AlsoToCubin();
  const std::string& skip_reason() const { return skip_reason_; }
  /// The targets.
  static std::vector<std::string> chips() { return {"cuda:sm_90a", "cuda:sm_100a"}; }

 private:
  std::string skip_reason_;
};

}  // namespace tw::test
