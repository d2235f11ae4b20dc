// Kernels for tests of the run time: metadata and code written by hand, as a
// compiler would write them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/support/error_of.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/call.h"
#include "tilewright/runtime/cpu_abi.h"

namespace tw::runtime::test {

/// Entries that are functions of the test.
class FunctionModule : public CpuModule {
 public:
  explicit FunctionModule(std::map<std::string, TwCpuEntry*> entries)
      : entries_(std::move(entries)) {}
  const void* entry(const std::string& name) override;

 private:
  std::map<std::string, TwCpuEntry*> entries_;
};

/// `gemm(A [m, k], B [n, k], C [m, n] output)` in f32, blocks of one row: C = A * B^T.
KernelMetadata gemm_metadata();
int32_t gemm_entry(const void* args, const int64_t* grid, int64_t first, int64_t last,
                   void* scratch, TwCpuCallbacks* callbacks);

/// A kernel named f with these symbols and parameters and one launch of one block of code
/// that does nothing.
KernelMetadata idle_metadata(std::vector<Symbol> symbols, std::vector<Param> params);
LoadedKernel idle_kernel(std::vector<Symbol> symbols, std::vector<Param> params);

/// An input of dtype f32.
Param tensor(std::string name, std::vector<HostExpr> shape);

using tw::test::error_of;

/// Calls a kernel, for arguments in braces.
inline std::vector<OwnedTensor> call(const LoadedKernel& kernel, std::initializer_list<Arg> args,
                                     const CallContext& context = {}) {
  return kernel(std::span(args.begin(), args.size()), context);
}

/// The Error of such a call.
inline std::string call_error(const LoadedKernel& kernel, std::initializer_list<Arg> args) {
  return error_of([&] { call(kernel, args); });
}

}  // namespace tw::runtime::test
