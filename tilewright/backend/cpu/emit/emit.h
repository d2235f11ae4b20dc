// From loop IR to LLVM IR: one function for each launch, with the signature of runtime/cpu_abi.h.
#pragma once

#include <string>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/backend/cpu/target.h"
#include "tilewright/ir/nodes.h"
#include "tilewright/runtime/metadata.h"

namespace tw::cpu {

struct EmitOptions {
  bool contract = true;    // a * b + c may become one fma
  bool fast_math = false;  // every operation that isn't ieee is as the fast one
};

/// Adds to the module a function `entry` that runs blocks of the launch. `program` is loop IR, and
/// `metadata` describes it: its packed block is read, messages of prints and asserts are added to
/// it. Returns how much scratch memory a worker needs, in bytes.
int64_t emit_launch(Builder& builder, const Target& target, const EmitOptions& options,
                    const ir::Program& program, const ir::Launch& launch, const std::string& entry,
                    runtime::KernelMetadata& metadata);

}  // namespace tw::cpu
