// Compiled kernels as an executor of random programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/check.h"
#include "tilewright/jit/kernel.h"

namespace tw::fuzz {

/// The kernel, compiled without caches, with options that depend on the program's name.
Kernel compiled_for(const std::string& target, const ir::Program& program, bool keep_texts = false);

/// The arguments of a call whose tensors are in these places (Case::memory) on a device.
class CallArguments {
 public:
  CallArguments(const Case& one, const std::vector<std::byte*>& memory, Device device);
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;
  std::span<const Arg> list() const { return list_; }

 private:
  std::vector<Tensor> tensors_;
  std::vector<Arg> list_;
};

/// Compiles the program for a target of this processor, and calls the kernel.
Executor compiled(std::string target);

}  // namespace tw::fuzz
