// The call of a compiled kernel: checks the arguments, solves the symbols, packs and launches.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tilewright/runtime/allocator.h"
#include "tilewright/runtime/argument.h"
#include "tilewright/runtime/metadata.h"
#include "tilewright/runtime/module.h"

namespace tw::runtime {

class Binding;

/// What a call needs beside its arguments.
struct CallContext {
  Stream stream;
  Allocator* allocator = nullptr;  // null: the call itself, for the CPU only
  /// An output may be an input itself (address, dtype, shape and strides): the caller knows that
  /// the kernel has read an element for the last time when it writes it. Else E-HOST-15.
  bool in_place = false;
  PrintSink print = nullptr;  // null: standard output
  void* print_user = nullptr;
};

/// A kernel that can be called: its metadata, its code, and tables made once from the metadata so
/// that a call takes no lock and allocates nothing.
class LoadedKernel {
 public:
  /// Verifies the metadata and resolves all entries.
  LoadedKernel(KernelMetadata metadata, std::shared_ptr<Module> module);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  const KernelMetadata& metadata() const { return metadata_; }

  /// Runs all launches. `args` has an entry per parameter that isn't a workspace, in order, null
  /// where an output is left out; or leaves out all outputs. Returns the outputs that were left
  /// out, in order; none where the caller's allocator made them, which has them then. A check that
  /// fails is an Error with a code E-HOST-*. On the CPU it returns when the result is there. Can be
  /// called from several threads.
  std::vector<OwnedTensor> operator()(std::span<const Arg> args,
                                      const CallContext& context = {}) const;

 private:
  struct Tables;

  /// Several launches: their entries are made ready together, once for each device.
  void prepare(const Binding& binding) const;

  KernelMetadata metadata_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<const Tables> tables_;
  mutable std::atomic<uint64_t> prepared_ = 0;  // a bit for each device
};

}  // namespace tw::runtime
