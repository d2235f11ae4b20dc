// What the driver says of code that it has loaded: registers, memory, blocks at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/backend/cuda/target.h"

namespace tw::cuda {

/// A cubin on a device, to be asked and not to be run.
class LoadedCode {
 public:
  /// On the first device of the target; null where there is none, or none that takes it.
  static std::unique_ptr<LoadedCode> find(const std::string& cubin, const Target& target);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  struct Entry {
    int registers = 0, local_bytes = 0;  // of a thread
    int shared_bytes = 0;                // of a block, without what the launch adds
    int blocks = 0;                      // that a multiprocessor takes at once
  };
  /// For blocks of so many threads, with the shared memory that the launch adds. False: the driver
  /// doesn't say.
  bool ask(const std::string& name, int64_t threads, int64_t shared_bytes, Entry& entry) const;

  /// "cuda:0, NVIDIA H200".
  std::string device() const;

 private:
  LoadedCode(const Gpu& gpu, CUmodule module) : gpu_(gpu), module_(module) {}

  const Gpu& gpu_;
  CUmodule module_;
};

}  // namespace tw::cuda
