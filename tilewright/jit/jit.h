// Kernels of a definition, compiled when they are first called for.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string_view>

#include "tilewright/jit/kernel.h"
#include "tilewright/lang/kernel_def.h"

namespace tw {

/// A size that a kernel specialises on, by the name that the dataflow gave it.
struct Constant {
  const char* name;
  int64_t value;
};

/// The compiled kernels of one definition, by device, dtypes and constants. Lives as
/// long as the process:
///
///   static const Jit kernel(define_kernel("rms_norm", dataflow).schedule(...));
///   kernel({x.dtype()}, {{"h", x.dim(1)}}).launch(stream, {x, w, y, eps});
///
/// Finding a kernel that was used before takes no lock and allocates nothing.
class Jit {
 public:
  explicit Jit(lang::KernelDef definition);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// The kernel for these dtypes and constants, in the order in which the call site
  /// always gives them.
  const Kernel& operator()(std::initializer_list<DType> dtypes,
                           std::initializer_list<Constant> constants = {},
                           DeviceKind device = DeviceKind::cpu) const;

  const lang::KernelDef& definition() const { return definition_; }

 private:
  struct Entry;

  const Entry* find(std::initializer_list<DType> dtypes, std::initializer_list<Constant> constants,
                    DeviceKind device) const;

  lang::KernelDef definition_;
  mutable std::atomic<const Entry*> entries_{nullptr};  // a list that only grows at its head
  mutable std::mutex mutex_;                            // of those who add
};

}  // namespace tw
