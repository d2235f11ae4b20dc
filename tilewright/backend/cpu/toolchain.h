// From a module of LLVM IR to machine code: the passes and the object file.
#pragma once

#include <string>

#include "tilewright/backend/cpu/target.h"

namespace tw::cpu {

class Builder;

/// Of the LLVM that is linked: "19.1.7".
std::string llvm_version();

/// What the tools did, for dumps and explain(); times in milliseconds.
struct ToolchainReport {
  double optimize_ms = 0, codegen_ms = 0;
  std::string optimized_ir, assembly;  // filled when `keep_texts`
  bool keep_texts = false;
};

/// Sets what the emitter must know of the target: layout of data, and attributes of each function.
void prepare_module(Builder& builder, const Target& target);

/// Optimizes the module and compiles it to an ELF object. IR that LLVM's verifier refuses, or
/// that has no instructions on the target, is an InternalError with LLVM's message; it
/// doesn't end the process.
std::string compile_object(Builder& builder, const Target& target, ToolchainReport& report);

}  // namespace tw::cpu
