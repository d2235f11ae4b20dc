// Loaded code: finds entries by name and runs launches. A backend has its own; the one of the CPU
// is here, since calling a function needs no compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tilewright/runtime/device.h"
#include "tilewright/runtime/metadata.h"

namespace tw::runtime {

/// Receives what a kernel prints, a line at a time, without the line's end; from any thread.
using PrintSink = void (*)(void* user, std::string_view line);

/// One launch of a call, ready to run.
struct LaunchRequest {
  const void* entry;  // from Module::entry
  const void* args;   // the packed block; dead after the call
  int64_t args_bytes;
  int64_t grid[3];  // each >= 1; the product fits int64
  const Variant* variant;
  const KernelMetadata* metadata;
  Device device;
  Stream stream;
  PrintSink print = nullptr;  // null: standard output
  void* print_user = nullptr;
};

/// Code of one kernel. All functions can be called from several threads.
class Module {
 public:
  virtual ~Module() = default;
  /// Handle of an entry. Resolved once, when a kernel is loaded; a missing one is an Error.
  virtual const void* entry(const std::string& name) = 0;
  /// Makes entries ready to be launched on a device, at the same time where that takes long. A
  /// launch needs none of it; what goes wrong is the launch's to say.
  virtual void prepare(std::span<const void* const> /*entries*/, Device /*device*/) {}
  /// Starts a launch; on the CPU, runs it. A fault is an Error.
  virtual void launch(const LaunchRequest& request) = 0;
  /// Sets memory to zero, in the order of the stream.
  virtual void fill_zero(void* memory, int64_t bytes, Device device, Stream stream) = 0;
};

/// Code in this process: entries are addresses of TwCpuEntry functions (cpu_abi.h).
class CpuModule : public Module {
 public:
  void launch(const LaunchRequest& request) override;
  void fill_zero(void* memory, int64_t bytes, Device device, Stream stream) override;
};

/// Entries of a shared object, which is opened by its path and closed with the module.
std::unique_ptr<Module> open_shared_object(const std::string& path);

}  // namespace tw::runtime
