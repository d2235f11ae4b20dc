#include "tilewright/backend/cpu/toolchain.h"

#include <chrono>
#include <memory>
#include <mutex>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

// The emitter writes vectors, rotated loops and hoisted addresses itself. What is left to LLVM:
// registers for small buffers (sroa), common subexpressions (early-cse, gvn), algebra
// (instcombine), invariant code (licm) and dead stores. No inliner, unroller or vectorizer.
// Blocks are merged before instcombine: it sinks a value to the block that uses it, and so
// would take the steps of a multiply's loop apart, row by row, which spills (102 against 72
// GFLOP/s on a Zen 4 core).
constexpr const char* kPasses =
    "function(sroa,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,dse,simplifycfg)";

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

/// LLVM reports what it can't go on from by calling this, and ends the process if it returns.
/// Throwing passes LLVM's frames; what they own is lost.
void on_fatal_error(const char* reason) { throw InternalError(format("LLVM: {}", reason)); }

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInstallFatalErrorHandler(on_fatal_error);
  });
}

struct Dispose {
  void operator()(LLVMTargetMachineRef m) const { LLVMDisposeTargetMachine(m); }
  void operator()(LLVMMemoryBufferRef m) const { LLVMDisposeMemoryBuffer(m); }
  void operator()(LLVMPassBuilderOptionsRef o) const { LLVMDisposePassBuilderOptions(o); }
};
template <class Ref>
using Owned = std::unique_ptr<std::remove_pointer_t<Ref>, Dispose>;

Owned<LLVMTargetMachineRef> machine_for(const Target& target) {
  initialize();
  LLVMTargetRef llvm_target = nullptr;
  char* message = nullptr;
  TW_CHECK(LLVMGetTargetFromTriple(kTriple, &llvm_target, &message) == 0, "LLVM: {}", message);
  return Owned<LLVMTargetMachineRef>(LLVMCreateTargetMachine(
      llvm_target, kTriple, target.llvm_cpu().c_str(), target.llvm_features().c_str(),
      LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault));
}

/// Keeps the worst thing that LLVM had to say about a module.
void on_diagnostic(LLVMDiagnosticInfoRef info, void* message) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char* text = LLVMGetDiagInfoDescription(info);
  *static_cast<std::string*>(message) += text;
  LLVMDisposeMessage(text);
}

double since(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  return passed.count();
}

std::string emit(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType type) {
  LLVMMemoryBufferRef buffer = nullptr;
  char* message = nullptr;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message, &buffer) != 0) {
    const std::string text = message;
    LLVMDisposeMessage(message);
    throw InternalError(format("LLVM: {}", text));
  }
  const Owned<LLVMMemoryBufferRef> owned(buffer);
  return std::string(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
}

}  // namespace

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return format("{}.{}.{}", major, minor, patch);
}

void prepare_module(Builder& builder, const Target& target) {
  const auto machine = machine_for(target);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine.get());
  LLVMSetModuleDataLayout(builder.module(), layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(builder.module(), kTriple);
  builder.set_mask_bits(target.avx512 ? 0 : target.vector_bits);
  const std::string bits = std::to_string(target.vector_bits);
  // With "dynamic", LLVM 19 takes a comparison with 0 for nothing more than it is. Otherwise its
  // fcmpToClassTest loses an fabs: isnan(|x|) || |x| > 0 becomes isnan(x) || x > 0.
  builder.set_target_attributes({{"denormal-fp-math", "ieee,dynamic"},
                                 {"target-cpu", target.llvm_cpu()},
                                 {"target-features", target.llvm_features()},
                                 {"prefer-vector-width", bits},
                                 {"min-legal-vector-width", bits}});
}

std::string compile_object(Builder& builder, const Target& target, ToolchainReport& report) {
  LLVMModuleRef module = builder.module();
  std::string complaint;
  LLVMContextSetDiagnosticHandler(builder.context(), on_diagnostic, &complaint);
  char* message = nullptr;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message) != 0) {
    const std::string text = message;
    LLVMDisposeMessage(message);
    throw InternalError(format("LLVM refuses the generated code: {}", text));
  }
  LLVMDisposeMessage(message);

  const auto machine = machine_for(target);
  auto start = std::chrono::steady_clock::now();
  const Owned<LLVMPassBuilderOptionsRef> options(LLVMCreatePassBuilderOptions());
  if (LLVMErrorRef error = LLVMRunPasses(module, kPasses, machine.get(), options.get())) {
    char* text = LLVMGetErrorMessage(error);
    const std::string copy = text;
    LLVMDisposeErrorMessage(text);
    throw InternalError(format("LLVM's passes: {}", copy));
  }
  report.optimize_ms += since(start);
  if (report.keep_texts) {
    report.optimized_ir += builder.module_text();
    LLVMModuleRef copy = LLVMCloneModule(module);  // code generation changes the module
    report.assembly += emit(machine.get(), copy, LLVMAssemblyFile);
    LLVMDisposeModule(copy);
  }

  start = std::chrono::steady_clock::now();
  std::string object = emit(machine.get(), module, LLVMObjectFile);
  report.codegen_ms += since(start);
  if (!complaint.empty()) throw InternalError(format("LLVM: {}", complaint));
  return object;
}

}  // namespace tw::cpu
