// A GPU that kernels run on: its context, the kernels launched last, and the fault that ended its
// use. A fault of a kernel is sticky: CUDA lets no process use a device on which a kernel faulted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/backend/cuda/device/driver.h"

namespace tw::cuda {

inline constexpr int kMaxGpus = 32;

/// Lives as long as the process. All functions can be called from several threads.
class Gpu {
 public:
  /// The GPU of a number, whose primary context (that of CUDA's runtime, so also of frameworks) is
  /// retained at first use. No such device is an Error (E-TGT-04).
  static Gpu& numbered(int id);

  const DriverApi& api() const { return state_.api; }
  const DeviceFacts& facts() const { return state_.devices[static_cast<size_t>(id_)]; }
  CUcontext context() const { return context_; }
  int id() const { return id_; }
  /// Whether calls wait for their kernels (TW_SYNC_LAUNCH).
  bool waits() const { return waits_; }

  /// Raises the fault of an earlier kernel, on behalf of `kernel`.
  void require_healthy(const std::string& kernel) const {
    if (fault_.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
      throw_fault(kernel);
    }
  }
  /// Remembers that `kernel` was launched. The string lives as long as the process.
  void note_launch(const std::string* kernel) {
    const uint32_t n = launches_.load(std::memory_order_relaxed);  // a lost update does no harm
    launches_.store(n + 1, std::memory_order_relaxed);
    recent_[n % recent_.size()].store(kernel, std::memory_order_relaxed);
  }

  /// Raises what a call of the driver for `kernel` reported. A fault is kept for later calls; it is
  /// of `kernel` itself when the call waited for it, else of one that was launched before.
  [[noreturn, gnu::cold]] void fail(CUresult result, const std::string& kernel,
                                    const std::string& doing, bool waited);

 private:
  struct Fault {
    std::string culprit;  // "gemm", or "one of gemm, softmax"
    std::string what;     // "an illegal memory access was encountered (700)"
    bool helps_check_bounds;
  };

  Gpu(const DriverState& state, int id);
  [[noreturn, gnu::cold]] void throw_fault(const std::string& kernel) const;
  std::string suspects() const;

  const DriverState& state_;
  int id_;
  CUcontext context_ = nullptr;
  bool waits_;
  std::atomic<const Fault*> fault_{nullptr};
  std::atomic<uint32_t> launches_{0};
  std::array<std::atomic<const std::string*>, 8> recent_{};
};

/// Makes the context of a GPU current in this thread for a scope. A thread without context keeps
/// it, as with CUDA's runtime.
class ContextScope {
 public:
  explicit ContextScope(const Gpu& gpu) : api_(gpu.api()) {
    CUcontext current = nullptr;
    api_.context_current(&current);
    if (current == gpu.context()) [[likely]] {
      return;
    }
    before_ = current;
    require_success(api_, api_.context_set(gpu.context()), "cuda: making a context current");
  }
  ~ContextScope() {
    if (before_ != nullptr) api_.context_set(before_);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const DriverApi& api_;
  CUcontext before_ = nullptr;
};

}  // namespace tw::cuda
