// Where a call gets memory from: outputs that the caller left out, and workspaces. Without an
// allocator of the caller, outputs are tensors that own their memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/runtime/device.h"
#include "tilewright/runtime/tensor.h"

namespace tw {

/// The caller's allocator, so that a framework's caching allocator is used. It says that there is
/// no memory by null, std::bad_alloc or E-HOST-12, and the call reports E-HOST-12 with the kernel's
/// name; other exceptions pass through. Used by one call at a time, unless it says else.
class Allocator {
 public:
  virtual ~Allocator() = default;

  /// A compact tensor for the output parameter with index `param`; the caller owns it.
  virtual Tensor output(int param, DType dtype, const Shape& shape, Device device) = 0;
  /// Memory for the duration of one call, aligned to 256 bytes; `bytes` may be 0.
  virtual void* workspace(int64_t bytes, Device device, Stream stream) = 0;
  /// Ends the use of a workspace, in the order of the stream.
  virtual void release(void* workspace, Device device, Stream stream) = 0;
};

/// Workspaces in host memory, for calls that name no allocator: keeps those of earlier calls for
/// later ones.
class HostWorkspaces {
 public:
  HostWorkspaces() = default;
  HostWorkspaces(const HostWorkspaces&) = delete;
  HostWorkspaces& operator=(const HostWorkspaces&) = delete;
  ~HostWorkspaces();

  /// Aligned to 256 bytes; null when there is no memory.
  void* take(int64_t bytes);
  void release(void* workspace);

 private:
  struct Block {
    void* memory;
    int64_t bytes;
    bool used;
  };
  std::vector<Block> blocks_;
};

/// Those of this thread.
HostWorkspaces& host_workspaces();

}  // namespace tw
